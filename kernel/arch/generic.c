/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/arch/generic.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/core/btf_members.h"
#include "kernel/core/fields.h"

/* -- per-CPU variables and stacks -------------------------------------------------------------- */

struct hv_err *hv_thread_info_percpu(const struct hv_kernel_core *core, const char *preempt_count,
				     struct hv_percpu_layout *ret)
{
	uint32_t cpu, preempt;
	const struct hv_field fields[] = {
		{"thread_info.cpu", 4, &cpu},
		{preempt_count, 4, &preempt},
	};
	struct hv_err *err =
		hv_fields_find_proved(core, "task_struct", fields, HV_ARRAY_LEN(fields));

	if (err)
		return err;
	*ret = (struct hv_percpu_layout){
		.in_task = true,
		.cpu_number = cpu,
		.preempt_count = preempt,
	};
	return NULL;
}

#define OVERFLOW_BYTES 4096u /* OVERFLOW_STACK_SIZE */

/* irq_stack_ptr points to the start of a stack, not to its end. */
struct hv_err *hv_irq_stacks_read(const struct hv_kernel_core *core, unsigned cpu,
				  uint64_t irq_stack_bytes, struct hv_cpu_stack *ret,
				  size_t *ret_nr)
{
	struct hv_gva pointer, overflow, at;
	size_t nr = 0;
	uint64_t start = 0;
	struct hv_err *err = hv_core_need(core, "irq_stack_ptr", &pointer);

	if (!err)
		err = hv_core_percpu(core, pointer.v, cpu, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &start);
	if (!err && start)
		ret[nr++] = (struct hv_cpu_stack){
			.range = {hv_gva(start), hv_gva(start + irq_stack_bytes)},
			.kind = HV_CPU_STACK_INTERRUPT,
			.name = "irq stack",
		};
	if (!err && hv_core_symbol(core, "overflow_stack", &overflow)) {
		err = hv_core_percpu(core, overflow.v, cpu, &at);
		ret[nr++] = (struct hv_cpu_stack){
			.range = {at, hv_gva(at.v + OVERFLOW_BYTES)},
			.kind = HV_CPU_STACK_EXCEPTION,
			.name = "overflow stack",
		};
	}
	*ret_nr = nr;
	return err;
}

/* Trampolines recognise a stack by the aligned block that it fills. In kernels that do not map
 * their stacks (no VMAP_STACK), interrupt stacks are arrays without that alignment. */
struct hv_err *hv_irq_stacks_find(const struct hv_kernel_core *core, uint64_t irq_stack_bytes,
				  uint64_t *ret)
{
	struct hv_gva pointer, at;
	uint64_t start = 0;
	struct hv_err *err = hv_core_need(core, "irq_stack_ptr", &pointer);

	*ret = 0;
	if (!err)
		err = hv_core_percpu(core, pointer.v, 0, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &start);
	if (!err)
		*ret = pointer.v;
	if (!err &&
	    (!irq_stack_bytes || start % irq_stack_bytes || hv_core_symbol(core, "irq_stack", &at)))
		err = hv_err_new(EOPNOTSUPP, "stacks of interrupts are not aligned to their size");
	return err;
}

#define STACK_BYTES_MAX	   (256u << 10)
#define STACK_FALLBACK	   (16u << 10)
#define MAPPED_STACK_TASKS 16

static bool is_stack_len(uint64_t len)
{
	return len >= 4096 && len <= STACK_BYTES_MAX && !(len & (len - 1));
}

/* Returns the size of the boot CPU's idle stack. */
static bool read_idle_stack(const struct hv_kernel_core *core, uint32_t *ret)
{
	static const char *const bounds[][2] = {
		{"__start_init_stack", "__end_init_stack"}, /* 6.10, 8f69cba096b5 */
		{"__start_init_task", "__end_init_task"},
	};
	struct hv_gva start, end;

	for (size_t i = 0; i < HV_ARRAY_LEN(bounds); i++) {
		if (!hv_core_symbol(core, bounds[i][0], &start) ||
		    !hv_core_symbol(core, bounds[i][1], &end) || !is_stack_len(end.v - start.v))
			continue;
		*ret = (uint32_t)(end.v - start.v);
		return true;
	}
	return false;
}

/* Checks the first tasks after init_task for a mapped stack (VMAP_STACK): the descriptor of the
 * mapping contains the number of pages. */
static bool read_mapped_stack(const struct hv_kernel_core *core, uint32_t *ret)
{
	uint32_t tasks, stack, area, addr, nr_pages;
	const struct hv_field task[] = {
		{"tasks.next", 8, &tasks}, {"stack", 8, &stack}, {"stack_vm_area", 8, &area}};
	const struct hv_field mapping[] = {{"addr", 8, &addr}, {"nr_pages", 4, &nr_pages}};
	struct hv_gva init_task, at;
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "task_struct", task, HV_ARRAY_LEN(task));

	if (!err)
		err = hv_fields_find(core, "vm_struct", mapping, HV_ARRAY_LEN(mapping));
	if (err || !hv_core_symbol(core, "init_task", &init_task))
		return false;
	at = init_task;
	for (unsigned i = 0; !err && i < MAPPED_STACK_TASKS; i++) {
		uint64_t next = 0, base = 0, of = 0, mapped = 0;
		uint32_t nr = 0;

		err = hv_read_u64(&core->as, hv_gva_add(at, tasks), &next);
		at = hv_gva(next - tasks);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, stack), &base);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, area), &of);
		if (err || !of)
			continue;
		err = hv_read_u64(&core->as, hv_gva(of + addr), &mapped);
		if (!err)
			err = hv_read_u32(&core->as, hv_gva(of + nr_pages), &nr);
		if (err || mapped != base || !is_stack_len(nr * core->as.arch->entry_span(1)))
			continue;
		*ret = (uint32_t)(nr * core->as.arch->entry_span(1));
		return true;
	}
	return false;
}

uint32_t hv_stack_bytes(const struct hv_kernel_core *core)
{
	uint32_t len;

	if (read_idle_stack(core, &len) || (core->btf && read_mapped_stack(core, &len)))
		return len;
	return STACK_FALLBACK;
}

struct hv_err *hv_stack_bytes_read(const struct hv_kernel_core *core, uint32_t *ret)
{
	struct hv_gva at;

	if (read_idle_stack(core, ret) || read_mapped_stack(core, ret))
		return NULL;
	*ret = STACK_FALLBACK;
	return core->unnamed.nr ? hv_core_need(core, "__start_init_task", &at) : NULL;
}

/* -- the clock --------------------------------------------------------------------------------- */

/* There are two copies of the scale: the kernel updates one while readers use the other
 * (kernel/time/sched_clock.c). */

#define COPY_MAX  256u /* limit for the part of struct clock_data up to the end of its copies */
#define READS_MAX 16
#define RATE_MIN  1000000u /* plausible rates of a clock's counter, in Hz */
#define RATE_MAX  10000000000u
#define NSEC	  1000000000u

/* Offsets of members in struct clock_data and struct clock_read_data. */
struct sched_clock {
	struct hv_clock_source source; /* must be first */
	struct hv_gva at;	       /* address of struct clock_data */
	uint32_t seq, copies;
	uint32_t epoch_ns, epoch_cyc, function, mult, shift;
	uint32_t copy_bytes; /* sizeof(struct clock_read_data) */
};

static struct hv_span chosen(const struct sched_clock *c, struct hv_span all, uint32_t seq)
{
	return (struct hv_span){all.data + c->copies + (seq & 1) * c->copy_bytes, c->copy_bytes};
}

static struct hv_err *read_copy(const struct sched_clock *c, const struct hv_kernel_core *core,
				uint8_t *bytes, struct hv_span *ret)
{
	struct hv_span all = {bytes, c->copies + 2 * c->copy_bytes};
	struct hv_err *err = NULL;
	uint32_t seq = 0, now = 0;

	for (unsigned i = 0; !err && i < READS_MAX; i++) {
		err = hv_read(&core->as, c->at, bytes, all.len_bytes);
		seq = hv_copy_u32(all, c->seq);
		if (!err)
			err = hv_read_u32(&core->as, hv_gva_add(c->at, c->seq), &now);
		if (seq == now)
			break;
	}
	*ret = chosen(c, all, seq);
	return err;
}

static struct hv_err *read_scale(const struct hv_clock_source *source,
				 const struct hv_kernel_core *core, unsigned cpu,
				 struct hv_clock_scale *ret)
{
	const struct sched_clock *c = (const struct sched_clock *)source;
	uint8_t bytes[COPY_MAX];
	struct hv_span copy;
	struct hv_err *err = read_copy(c, core, bytes, &copy);

	(void)cpu;
	if (err)
		return err;
	*ret = (struct hv_clock_scale){
		.base_tsc = hv_copy_u64(copy, c->epoch_cyc),
		.base_ns = hv_copy_u64(copy, c->epoch_ns),
		.mul = hv_copy_u32(copy, c->mult),
		.shift = hv_copy_u32(copy, c->shift),
	};
	return NULL;
}

/* Returns whether the clock reads its counter with a function whose name contains READER. The
 * kernel uses the function of the driver with the best clock. */
static bool reads_counter(const struct sched_clock *c, const struct hv_kernel_core *core,
			  const char *reader)
{
	uint8_t bytes[COPY_MAX];
	const struct hv_symbol *symbol = NULL;
	struct hv_span copy;
	struct hv_err *err = read_copy(c, core, bytes, &copy);

	if (!err)
		symbol = hv_symbols_at(&core->symbols, hv_gva(hv_copy_u64(copy, c->function)));
	hv_err_free(err);
	return symbol && strstr(symbol->name, reader);
}

static bool find_members(const struct hv_kernel_core *core, struct sched_clock *c)
{
	const struct hv_field data[] = {{"seq", 4, &c->seq}, {"read_data", 1, &c->copies}};
	const struct hv_field copy[] = {{"epoch_ns", 8, &c->epoch_ns},
					{"epoch_cyc", 8, &c->epoch_cyc},
					{"read_sched_clock", 8, &c->function},
					{"mult", 4, &c->mult},
					{"shift", 4, &c->shift}};
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "clock_data", data, HV_ARRAY_LEN(data));

	if (!err)
		err = hv_fields_find(core, "clock_read_data", copy, HV_ARRAY_LEN(copy));
	return !err && hv_btf_size(core->btf, "clock_read_data", &c->copy_bytes) &&
	       c->copy_bytes <= COPY_MAX / 4 && c->copies <= COPY_MAX / 2;
}

/* The scale must match the rate, and all copies must use the same function to read the counter. */
bool hv_clock_data_is_at(const struct hv_kernel_core *core, struct hv_gva at)
{
	struct sched_clock c = {.at = at};
	uint32_t rate_off, actual_off, mask_off;
	const struct hv_field data[] = {{"rate", 8, &rate_off},
					{"actual_read_sched_clock", 8, &actual_off}};
	const struct hv_field mask = {"sched_clock_mask", 8, &mask_off};
	uint8_t bytes[COPY_MAX];
	struct hv_span copies[2], copy;
	uint64_t rate = 0, actual = 0, mul, counter_mask;
	uint32_t shift;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!find_members(core, &c))
		return false;
	err = hv_fields_find(core, "clock_data", data, HV_ARRAY_LEN(data));
	if (!err)
		err = hv_fields_find(core, "clock_read_data", &mask, 1);
	if (!err)
		err = read_copy(&c, core, bytes, &copy);
	if (!err)
		err = hv_read_u64(&core->as, hv_gva_add(at, rate_off), &rate);
	if (!err)
		err = hv_read_u64(&core->as, hv_gva_add(at, actual_off), &actual);
	if (err)
		return false;
	for (unsigned i = 0; i < 2; i++)
		copies[i] = chosen(&c, (struct hv_span){bytes, c.copies + 2 * c.copy_bytes}, i);
	mul = hv_copy_u32(copies[1], c.mult);
	shift = hv_copy_u32(copies[1], c.shift);
	counter_mask = hv_copy_u64(copies[1], mask_off);
	if (!mul || shift > 32 || rate < RATE_MIN || rate > RATE_MAX ||
	    mul != hv_copy_u32(copies[0], c.mult) || shift != hv_copy_u32(copies[0], c.shift) ||
	    counter_mask != hv_copy_u64(copies[0], mask_off) || counter_mask < UINT32_MAX ||
	    (counter_mask & (counter_mask + 1)) || actual != hv_copy_u64(copies[1], c.function) ||
	    !hv_gva_in(hv_gva(actual), core->image.text))
		return false;
	/* RATE ticks must convert to one second, with an error of at most a millionth. */
	mul = (uint64_t)(((unsigned __int128)rate * mul) >> shift);
	return mul > NSEC - NSEC / 1000000 && mul < NSEC + NSEC / 1000000;
}

struct hv_err *hv_clock_data_find(const struct hv_kernel_core *core, const char *reader,
				  const char *counter_name, struct hv_clock_source **ret)
{
	struct sched_clock c = {
		.source = {.kind = HV_CLOCK_TSC, .counter_name = counter_name, .read = read_scale}};
	struct sched_clock *found;

	*ret = NULL;
	if (!hv_core_symbol(core, "cd", &c.at) || !find_members(core, &c) ||
	    !reads_counter(&c, core, reader))
		return NULL;
	found = hv_alloc(sizeof(*found));
	*found = c;
	*ret = &found->source;
	return NULL;
}
