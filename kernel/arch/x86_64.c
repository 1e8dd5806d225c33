/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux on x86-64: the table of its kernels. */
#include "kernel/arch/kernel_arch.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/core/btf_members.h"
#include "kernel/types/btf.h"

/* Finds per-CPU variables, which are separate symbols or members of struct pcpu_hot. */

/* struct pcpu_hot contains all of them from 6.2 (d7b6d709a76a and others) to 6.14. */
static struct hv_err *read_pcpu_hot(const struct hv_kernel_core *core, struct hv_gva hot,
				    struct hv_percpu_layout *ret)
{
	uint32_t cpu, current, preempt;
	const struct hv_field fields[] = {
		{"cpu_number", 4, &cpu},
		{"current_task", 8, &current},
		{"preempt_count", 4, &preempt},
	};
	struct hv_err *err = hv_fields_find_proved(core, "pcpu_hot", fields, HV_ARRAY_LEN(fields));

	if (err)
		return err;
	ret->cpu_number = hot.v + cpu;
	ret->current = hot.v + current;
	ret->preempt_count = hot.v + preempt;
	return NULL;
}

/* struct kvm_steal_time (arch/x86/kernel/kvm.c), written by the host. Stays 0 if the host does not
 * support it. */
static void find_steal_time(const struct hv_kernel_core *core, struct hv_percpu_layout *ret)
{
	struct hv_gva at;
	uint32_t off, version_off;
	const struct hv_field fields[] = {{"steal", 8, &off}, {"version", 4, &version_off}};
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find_proved(core, "kvm_steal_time", fields, HV_ARRAY_LEN(fields));

	ret->has_steal_time = !err && hv_core_symbol(core, "steal_time", &at);
	ret->steal_time = ret->has_steal_time ? at.v + off : 0;
	ret->steal_version = ret->has_steal_time ? at.v + version_off : 0;
}

static struct hv_err *find_percpu(const struct hv_kernel_core *core, struct hv_percpu_layout *ret)
{
	struct hv_gva hot, cpu, current, preempt;
	struct hv_err *err;

	find_steal_time(core, ret);
	if (hv_core_symbol(core, "pcpu_hot", &hot))
		return read_pcpu_hot(core, hot, ret);
	err = hv_core_need(core, "cpu_number", &cpu);
	if (!err)
		err = hv_core_need(core, "current_task", &current);
	if (!err)
		err = hv_core_need(core, "__preempt_count", &preempt);
	if (err)
		return err;
	ret->cpu_number = cpu.v;
	ret->current = current.v;
	ret->preempt_count = preempt.v;
	return NULL;
}

static bool percpu_variable(const struct hv_kernel_core *core, const char *symbol,
			    const char *hot_member, uint64_t *ret)
{
	struct hv_gva at;
	uint32_t off;

	if (hv_core_symbol(core, symbol, &at)) {
		*ret = at.v;
		return true;
	}
	if (!hot_member || !hv_core_symbol(core, "pcpu_hot", &at) ||
	    !hv_btf_member(core->btf, "pcpu_hot", hot_member, &off, NULL))
		return false;
	*ret = at.v + off;
	return true;
}

/* The stacks of a CPU: one for interrupts, one for each exception with a separate stack, and one
 * for the entry from user mode. struct cea_exception_stacks contains the exception stacks, each
 * after a guard page. That struct and the entry stack are in the CPU's struct cpu_entry_area
 * (arch/x86/include/asm/cpu_entry_area.h). */

#define IRQ_STACK_BYTES (16u << 10)
#define PAGE_BYTES	4096u

/* Reads a per-CPU pointer; 0 if unset. */
static struct hv_err *read_pointer(const struct hv_kernel_core *core, uint64_t percpu, unsigned cpu,
				   uint64_t *ret)
{
	struct hv_gva at;
	struct hv_err *err = hv_core_percpu(core, percpu, cpu, &at);

	return err ? err : hv_read_u64(&core->as, at, ret);
}

/* The pointer points to the end of the stack, or since 5.12 (951c2a51ae75) to its last word, which
 * links to the previous stack (arch/x86/include/asm/irq_stack.h). A stack consists of whole pages,
 * so either pointer rounded up is the end. */
static bool irq_stack_pointer(const struct hv_kernel_core *core, uint64_t *ret)
{
	/* The name before 5.2. */
	return percpu_variable(core, "hardirq_stack_ptr", "hardirq_stack_ptr", ret) ||
	       percpu_variable(core, "irq_stack_ptr", NULL, ret);
}

static struct hv_err *find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
{
	if (irq_stack_pointer(core, ret))
		return NULL;
	return hv_err_new(EOPNOTSUPP, "no symbol hardirq_stack_ptr: stacks of interrupts cannot be"
				      " recognised");
}

/* Before 5.2, the per-CPU array orig_ist has the end of each exception stack. The stacks are next to
 * each other, in the order of the array, and the first two have the same size. The CPU's TSS has
 * the same addresses in its interrupt stack table, except that the kernel lowers the address for
 * debug exceptions while it handles one. */

#define IST_NR	    7u /* of the TSS; the kernel uses the first ones */
#define IST_BYTES   (IST_NR * 8u)
#define TSS_SP0	    4u
#define TSS_IST	    36u
#define IST_LEN_MAX (64u << 10)
#define IST_LOWERED (2u * PAGE_BYTES)

struct interrupt_stacks {
	uint64_t ends[IST_NR];
	unsigned nr; /* 0: the CPU was never online */
	uint64_t sp0;
};

static bool has_old_stacks(const struct hv_kernel_core *core)
{
	uint64_t percpu;

	return !percpu_variable(core, "cea_exception_stacks", NULL, &percpu) &&
	       percpu_variable(core, "orig_ist", NULL, &percpu) &&
	       percpu_variable(core, "cpu_tss_rw", NULL, &percpu);
}

static struct hv_err *read_tss(const struct hv_kernel_core *core, unsigned cpu,
			       uint64_t ists[IST_NR], uint64_t *ret_sp0)
{
	struct hv_gva at;
	struct hv_err *err = hv_core_need(core, "cpu_tss_rw", &at);

	if (!err)
		err = hv_core_percpu(core, at.v, cpu, &at);
	if (!err)
		err = hv_read(&core->as, hv_gva_add(at, TSS_IST), ists, IST_BYTES);
	return err ? err : hv_read_u64(&core->as, hv_gva_add(at, TSS_SP0), ret_sp0);
}

/* Call this only if has_old_stacks() returns true. */
static struct hv_err *read_interrupt_stacks(const struct hv_kernel_core *core, unsigned cpu,
					    struct interrupt_stacks *ret)
{
	uint64_t tss[IST_NR];
	struct hv_gva at;
	struct hv_err *err = hv_core_need(core, "orig_ist", &at);

	*ret = (struct interrupt_stacks){.nr = 0};
	if (!err)
		err = hv_core_percpu(core, at.v, cpu, &at);
	if (!err)
		err = hv_read(&core->as, at, ret->ends, IST_BYTES);
	if (!err)
		err = read_tss(core, cpu, tss, &ret->sp0);
	for (; !err && ret->nr < IST_NR && ret->ends[ret->nr]; ret->nr++) {
		uint64_t end = ret->ends[ret->nr];
		uint64_t len = ret->nr ? end - ret->ends[ret->nr - 1] : PAGE_BYTES;

		if (end % PAGE_BYTES || len % PAGE_BYTES || !len || len > IST_LEN_MAX ||
		    end - tss[ret->nr] > IST_LOWERED)
			err = hv_err_new(
				EOPNOTSUPP,
				"cpu %u: the stack of exceptions that ends at 0x%llx is not"
				" in the TSS, or not after the one before it",
				cpu, (unsigned long long)end);
	}
	return err;
}

static struct hv_err *check_exception_stacks(const struct hv_kernel_core *core)
{
	uint64_t percpu, stacks = 0;
	struct interrupt_stacks old;
	struct hv_err *err;

	if (has_old_stacks(core)) {
		err = read_interrupt_stacks(core, 0, &old);
		stacks = old.ends[0] - PAGE_BYTES;
	} else if (percpu_variable(core, "cea_exception_stacks", NULL, &percpu)) {
		err = read_pointer(core, percpu, 0, &stacks);
	} else {
		return hv_err_new(EOPNOTSUPP, "no symbol cea_exception_stacks: stacks of exceptions"
					      " cannot be recognised");
	}
	if (!err && !hv_gva_in(hv_gva(stacks), core->as.arch->exception_stacks))
		err = hv_err_new(
			EOPNOTSUPP,
			"stacks of exceptions are at 0x%llx, where trampolines do not expect them",
			(unsigned long long)stacks);
	return err;
}

static struct hv_err *read_irq_stack(const struct hv_kernel_core *core, unsigned cpu,
				     struct hv_cpu_stack *list, size_t *nr)
{
	uint64_t percpu, end = 0;
	uint32_t len = IRQ_STACK_BYTES;
	struct hv_err *err;

	if (!irq_stack_pointer(core, &percpu))
		return NULL;
	hv_btf_size(core->btf, "irq_stack", &len);
	err = read_pointer(core, percpu, cpu, &end);
	end = (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	if (!err && end > len)
		list[(*nr)++] = (struct hv_cpu_stack){
			.range = {hv_gva(end - len), hv_gva(end)},
			.kind = HV_CPU_STACK_INTERRUPT,
			.name = "irq stack",
		};
	return err;
}

static struct hv_cpu_stack exception_stack(uint64_t at, uint32_t len, const char *name)
{
	return (struct hv_cpu_stack){
		.range = {hv_gva(at), hv_gva(at + len)},
		.kind = HV_CPU_STACK_EXCEPTION,
		.name = name,
	};
}

static const char *const exceptions[][2] = {
	{"DF_stack", "double fault stack"}, {"NMI_stack", "NMI stack"},
	{"DB1_stack", "debug stack 1"}, /* in older kernels, such as 5.4 */
	{"DB_stack", "debug stack"},	    {"MCE_stack", "machine check stack"},
	{"VC_stack", "VC stack"},	    {"VC2_stack", "VC2 stack"},
};
_Static_assert(1 + HV_ARRAY_LEN(exceptions) + 1 <= HV_CPU_STACKS_MAX &&
		       1 + IST_NR + 1 <= HV_CPU_STACKS_MAX,
	       "interrupts, exceptions, entry");

static struct hv_err *read_old_stacks(const struct hv_kernel_core *core, unsigned cpu,
				      struct hv_cpu_stack *list, size_t *nr)
{
	struct interrupt_stacks old;
	struct hv_err *err = read_interrupt_stacks(core, cpu, &old);
	uint64_t start;

	if (err || !old.nr)
		return err;
	start = old.ends[0] - (old.nr > 1 ? old.ends[1] - old.ends[0] : PAGE_BYTES);
	for (unsigned i = 0; i < old.nr; start = old.ends[i++])
		list[(*nr)++] =
			exception_stack(start, (uint32_t)(old.ends[i] - start), "exception stack");
	/* The entry stack is shorter than its page. */
	start = (old.sp0 - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	list[(*nr)++] = exception_stack(start, (uint32_t)(old.sp0 - start), "entry stack");
	return NULL;
}

static struct hv_err *read_exception_stacks(const struct hv_kernel_core *core, unsigned cpu,
					    struct hv_cpu_stack *list, size_t *nr)
{
	uint32_t off, len, area;
	uint64_t percpu, at = 0;
	struct hv_err *err;

	if (has_old_stacks(core))
		return read_old_stacks(core, cpu, list, nr);
	if (!percpu_variable(core, "cea_exception_stacks", NULL, &percpu))
		return NULL;
	err = read_pointer(core, percpu, cpu, &at);
	if (err || !at)
		return err;
	for (size_t i = 0; i < HV_ARRAY_LEN(exceptions); i++)
		if (hv_btf_member(core->btf, "cea_exception_stacks", exceptions[i][0], &off, &len))
			list[(*nr)++] = exception_stack(at + off, len, exceptions[i][1]);
	if (hv_btf_member(core->btf, "cpu_entry_area", "estacks", &area, NULL) &&
	    hv_btf_member(core->btf, "cpu_entry_area", "entry_stack_page", &off, &len))
		list[(*nr)++] = exception_stack(at - area + off, len, "entry stack");
	return NULL;
}

static struct hv_err *read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				  struct hv_cpu_stack *ret, size_t *ret_nr)
{
	size_t nr = 0;
	struct hv_err *err = read_irq_stack(core, cpu, ret, &nr);

	if (!err)
		err = read_exception_stacks(core, cpu, ret, &nr);
	*ret_nr = nr;
	return err;
}

/* Kernel properties that depend on features of the boot CPU (boot_cpu_data). Features have the
 * kernel's own names for their bits (x86_cap_flags; arch/x86/kernel/cpu/). */

#define CPU_FLAGS_MAX 2048 /* NCAPINTS is 22 in 6.12 */

/* The index of a name in x86_cap_flags is the number of its bit. Returns false if the kernel does
 * not have the name or the bits cannot be read. */
static bool read_cpu_flag(const struct hv_kernel_core *core, const char *flag, bool *ret)
{
	struct hv_gva names_at, data_at;
	struct hv_span names, bits;
	uint32_t off, len;

	if (!core->btf || !hv_core_symbol(core, "x86_cap_flags", &names_at) ||
	    !hv_core_symbol(core, "boot_cpu_data", &data_at) ||
	    !hv_btf_member(core->btf, "cpuinfo_x86", "x86_capability", &off, &len))
		return false;
	names = hv_image_part(&core->image, names_at, CPU_FLAGS_MAX * sizeof(uint64_t));
	bits = hv_image_part(&core->image, hv_gva_add(data_at, off), len);
	for (size_t i = 0; i < len * 8ull && i < CPU_FLAGS_MAX; i++) {
		struct hv_span name;
		uint64_t at;
		uint8_t byte;

		if (!hv_span_u64(names, i * sizeof(at), &at))
			return false;
		name = hv_image_part(&core->image, hv_gva(at), strlen(flag) + 1);
		if (!hv_span_has(name, 0, strlen(flag) + 1) ||
		    memcmp(name.data, flag, strlen(flag) + 1))
			continue;
		if (!hv_span_u8(bits, i / 8, &byte))
			return false;
		*ret = byte & 1u << i % 8;
		return true;
	}
	return false;
}

static bool has_kpti(const struct hv_kernel_core *core)
{
	bool pti;

	return read_cpu_flag(core, "pti", &pti) && pti;
}

/* FRED (6.9, 14619d912b65) has two separate kernel entry points. */
static bool enters_elsewhere(const struct hv_kernel_core *core)
{
	struct hv_gva at;
	bool fred;

	if (!hv_core_symbol(core, "asm_fred_entrypoint_user", &at))
		return false;
	return !read_cpu_flag(core, "fred", &fred) || fred;
}

/* Indirect branch tracking. Only kernels with this function can use it (5.18, 991625f3dd2c). */
static bool may_track_branches(const struct hv_kernel_core *core)
{
	struct hv_gva at;
	bool ibt;

	if (!hv_core_symbol(core, "ibt_selftest", &at))
		return false;
	return !read_cpu_flag(core, "ibt", &ibt) || ibt;
}

#define THUNK_BYTES 64

/* A kernel with retpolines has a thunk for each register and fills them in at boot
 * (arch/x86/lib/retpoline.S). */
static bool jumps_bare(const struct hv_kernel_core *core)
{
	struct hv_gva at;

	if (may_track_branches(core))
		return false;
	if (!hv_core_symbol(core, "__x86_indirect_thunk_rcx", &at))
		return !hv_core_symbol(core, "__x86_indirect_thunk_array", &at);
	return core->as.arch->is_bare_jump(hv_image_part(&core->image, at, THUNK_BYTES));
}

/* Instructions that kprobes of x86-64 kernels reject. */

#define BOOL_BITS 8

/* Later kernels reject INT and UD ("x86/kprobes: Prohibit kprobing on INT and UD", can_probe()).
 * The patch before it in the same series changed the return type of can_boost() from int to bool,
 * which is visible in BTF. */
static bool skips_exceptions(const struct hv_kernel_core *core)
{
	struct hv_btf_func func;
	struct hv_btf_value value;

	return hv_btf_func_find(core->btf, "can_boost", &func) &&
	       hv_btf_value(core->btf, func.return_id, &value) && value.form == HV_BTF_INT &&
	       value.bits == BOOL_BITS;
}

/* sched_clock() of an x86-64 kernel: the TSC, scaled by struct cyc2ns or by KVM's pvclock. The
 * kernel's static call pv_sched_clock (5.13, a0e2bf7cb700), or pv_ops.time.sched_clock in older
 * kernels, and the static key __use_tsc select one of them; kernels without PARAVIRT have only the
 * key. Source: arch/x86/kernel/{tsc,kvmclock,pvclock}.c, Documentation/virt/kvm/x86/msr.rst
 * (pvclock). */

#define COPY_MAX   256u /* size limit of a copied structure, in bytes */
#define PV_OPS_MAX 4096u
#define READS_MAX  16 /* attempts to read a structure that is being written */

/* Numbers without a comment are offsets of members. */
struct cyc2ns {
	struct hv_clock_source source; /* must be first */
	uint64_t percpu;	       /* per-CPU offset of struct cyc2ns */
	uint32_t len_bytes;	       /* sizeof(struct cyc2ns) */
	uint32_t data[2], seq;	       /* in struct cyc2ns */
	uint32_t mul, shift, offset;   /* in struct cyc2ns_data */
};

struct pvclock {
	struct hv_clock_source source; /* must be first */
	uint64_t percpu; /* per-CPU offset of the pointer to struct pvclock_vcpu_time_info */
	struct hv_gva offset_at; /* address of kvm_sched_clock_offset */
	uint32_t len_bytes;	 /* sizeof(struct pvclock_vcpu_time_info) */
	uint32_t version, tsc, system_time, tsc_mul,
		tsc_shift; /* in struct pvclock_vcpu_time_info */
};

/* Returns the only function of a clock that pv_ops, which is at AT, points to. UINT64_MAX: it is not
 * known. */
static uint64_t find_clock_function(const struct hv_kernel_core *core, struct hv_gva at)
{
	static const char *const names[] = {"native_sched_clock", "kvm_sched_clock_read"};
	const uint64_t room = hv_symbols_room(&core->symbols, at);
	uint64_t found = UINT64_MAX;
	unsigned nr = 0;

	for (uint64_t off = 0; off + 8 <= room && off < PV_OPS_MAX; off += 8) {
		uint64_t word = 0;
		struct hv_gva function;

		hv_err_free(hv_read_u64(&core->as, hv_gva_add(at, off), &word));
		for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
			if (!hv_core_symbol(core, names[i], &function) || word != function.v)
				continue;
			found = word;
			nr++;
		}
	}
	return nr == 1 ? found : UINT64_MAX;
}

/* Returns the function that sched_clock() calls, or 0 if it calls native_sched_clock() directly.
 * UINT64_MAX: it is not known. */
static struct hv_err *find_function(const struct hv_kernel_core *core, uint64_t *ret)
{
	struct hv_gva at;
	uint32_t off;

	*ret = 0;
	if (hv_core_symbol(core, "__SCK__pv_sched_clock", &at))
		return hv_read_u64(&core->as, at, ret); /* static_call_key.func is first */
	if (core->btf && hv_core_symbol(core, "pv_ops", &at) &&
	    hv_btf_member(core->btf, "paravirt_patch_template", "time.sched_clock", &off, NULL))
		return hv_read_u64(&core->as, hv_gva_add(at, off), ret);
	if (!hv_types_are_whole(core) && hv_core_symbol(core, "pv_ops", &at))
		*ret = find_clock_function(core, at);
	return NULL;
}

static bool is_function(const struct hv_kernel_core *core, uint64_t addr, const char *name)
{
	struct hv_gva at;

	return hv_core_symbol(core, name, &at) && at.v == addr;
}

/* Reads the static key that makes native_sched_clock() use the TSC. Its first member is atomic_t
 * enabled. */
static struct hv_err *read_use_tsc(const struct hv_kernel_core *core, bool *ret)
{
	struct hv_gva at;
	uint32_t enabled = 0;
	struct hv_err *err = NULL;

	if (hv_core_symbol(core, "__use_tsc", &at))
		err = hv_read_u32(&core->as, at, &enabled);
	*ret = enabled != 0;
	return err;
}

/* There are two copies of the data. The lowest bit of seq selects the current one, as in the
 * guest's own reader (__cyc2ns_read()). */
static struct hv_err *read_cyc2ns(const struct hv_clock_source *source,
				  const struct hv_kernel_core *core, unsigned cpu,
				  struct hv_clock_scale *ret)
{
	const struct cyc2ns *c = (const struct cyc2ns *)source;
	uint8_t bytes[COPY_MAX];
	struct hv_span copy = {bytes, c->len_bytes};
	struct hv_gva at;
	uint32_t seq, data;
	struct hv_err *err = hv_core_percpu(core, c->percpu, cpu, &at);

	for (unsigned i = 0; !err && i < READS_MAX; i++) {
		err = hv_read(&core->as, at, bytes, c->len_bytes);
		if (!err)
			err = hv_read_u32(&core->as, hv_gva_add(at, c->seq), &seq);
		if (!err && seq == hv_copy_u32(copy, c->seq))
			break;
	}
	if (err)
		return err;
	data = c->data[hv_copy_u32(copy, c->seq) & 1];
	*ret = (struct hv_clock_scale){
		.base_ns = hv_copy_u64(copy, data + c->offset),
		.mul = hv_copy_u32(copy, data + c->mul),
		.shift = hv_copy_u32(copy, data + c->shift),
	};
	return NULL;
}

/* Returns NULL if this kernel has no cyc2ns or its layout is unknown. */
static struct hv_clock_source *find_cyc2ns(const struct hv_kernel_core *core)
{
	struct cyc2ns c = {
		.source = {.kind = HV_CLOCK_TSC, .counter_name = "tsc", .read = read_cyc2ns}};
	const struct hv_field outer[] = {{"data", 8, &c.data[0]}, {"seq", 4, &c.seq}};
	const struct hv_field inner[] = {{"cyc2ns_mul", 4, &c.mul},
					 {"cyc2ns_shift", 4, &c.shift},
					 {"cyc2ns_offset", 8, &c.offset}};
	struct cyc2ns *ret;
	struct hv_gva at;
	uint32_t size;
	HV_AUTO_ERR struct hv_err *err = hv_fields_find(core, "cyc2ns", outer, HV_ARRAY_LEN(outer));

	if (!err)
		err = hv_fields_find(core, "cyc2ns_data", inner, HV_ARRAY_LEN(inner));
	if (err || !hv_btf_size(core->btf, "cyc2ns_data", &size) ||
	    !hv_btf_size(core->btf, "cyc2ns", &c.len_bytes) || c.len_bytes > COPY_MAX ||
	    !hv_core_symbol(core, "cyc2ns", &at))
		return NULL;
	c.data[1] = c.data[0] + size;
	c.percpu = at.v;
	ret = hv_alloc(sizeof(*ret));
	*ret = c;
	return &ret->source;
}

static struct hv_err *read_pvclock_offset(const struct hv_clock_source *source,
					  const struct hv_kernel_core *core, uint64_t *ret_ns)
{
	const struct pvclock *c = (const struct pvclock *)source;

	return hv_read_u64(&core->as, c->offset_at, ret_ns);
}

/* version is odd while the hypervisor writes; the guest's own reader then waits. */
static struct hv_err *read_pvclock(const struct hv_clock_source *source,
				   const struct hv_kernel_core *core, unsigned cpu,
				   struct hv_clock_scale *ret)
{
	const struct pvclock *c = (const struct pvclock *)source;
	uint8_t bytes[COPY_MAX], shift = 0;
	struct hv_span copy = {bytes, c->len_bytes};
	struct hv_gva at;
	uint64_t pvclock, offset_ns;
	uint32_t version;
	struct hv_err *err = read_pvclock_offset(source, core, &offset_ns);

	if (!err)
		err = hv_core_percpu(core, c->percpu, cpu, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &pvclock);
	if (err || !pvclock)
		return err;
	for (unsigned i = 0; !err && i < READS_MAX; i++) {
		err = hv_read(&core->as, hv_gva(pvclock), bytes, c->len_bytes);
		if (!err)
			err = hv_read_u32(&core->as, hv_gva(pvclock + c->version), &version);
		if (!err && !(version & 1) && version == hv_copy_u32(copy, c->version))
			break;
	}
	if (err)
		return err;
	hv_span_u8(copy, c->tsc_shift, &shift);
	*ret = (struct hv_clock_scale){
		.base_tsc = hv_copy_u64(copy, c->tsc),
		.base_ns = hv_copy_u64(copy, c->system_time) - offset_ns,
		.mul = hv_copy_u32(copy, c->tsc_mul),
		.shift = 32,
		.up = shift < 128 ? shift : 0,
		.down = shift < 128 ? 0 : (uint8_t)(256 - shift),
	};
	return NULL;
}

/* Returns NULL if this kernel has no pvclock or its layout is unknown. */
static struct hv_clock_source *find_pvclock(const struct hv_kernel_core *core)
{
	struct pvclock c = {.source = {.kind = HV_CLOCK_PVCLOCK,
				       .counter_name = "tsc",
				       .ns_name = "kvm-clock",
				       .read_offset = read_pvclock_offset,
				       .read = read_pvclock}};
	const struct hv_field fields[] = {{"version", 4, &c.version},
					  {"tsc_timestamp", 8, &c.tsc},
					  {"system_time", 8, &c.system_time},
					  {"tsc_to_system_mul", 4, &c.tsc_mul},
					  {"tsc_shift", 1, &c.tsc_shift}};
	struct pvclock *ret;
	struct hv_gva at;
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "pvclock_vcpu_time_info", fields, HV_ARRAY_LEN(fields));

	if (err || !hv_btf_size(core->btf, "pvclock_vcpu_time_info", &c.len_bytes) ||
	    c.len_bytes > COPY_MAX || !hv_core_symbol(core, "hv_clock_per_cpu", &at) ||
	    !hv_core_symbol(core, "kvm_sched_clock_offset", &c.offset_at))
		return NULL;
	c.percpu = at.v;
	ret = hv_alloc(sizeof(*ret));
	*ret = c;
	return &ret->source;
}

static struct hv_err *find_clock(const struct hv_kernel_core *core, struct hv_clock_source **ret)
{
	uint64_t function;
	bool use_tsc = false;
	struct hv_err *err = find_function(core, &function);

	if (!err)
		err = read_use_tsc(core, &use_tsc);
	if (err)
		return err;
	*ret = NULL;
	if (is_function(core, function, "kvm_sched_clock_read"))
		*ret = find_pvclock(core);
	else if (use_tsc && (!function || is_function(core, function, "native_sched_clock")))
		*ret = find_cyc2ns(core);
	return NULL;
}

/* include/asm-generic/vmlinux.lds.h. Code in .entry.text can run with the user's page tables and
 * per-CPU base. .noinstr.text (5.8, 655389433e7e) handles exceptions before their state is
 * established. */
static const struct hv_section_bounds untraced_sections[] = {
	{"__entry_text_start", "__entry_text_end", true},
	{"__noinstr_text_start", "__noinstr_text_end", true},
	{"__kprobes_text_start", "__kprobes_text_end", false},
	{"__irqentry_text_start", "__irqentry_text_end", false},
	{"__cpuidle_text_start", "__cpuidle_text_end", false},
	{"__static_call_text_start", "__static_call_text_end", false},
	{"__indirect_thunk_start", "__indirect_thunk_end", false},
	{0},
};

/* Functions outside these sections that run without the kernel's per-CPU base, page tables or
 * stack, that the kernel copies or patches, or that are no functions of C. */
static const char *const untraced_prefixes[] = {
	/* boot, and start of other CPUs (head_64.S, head64.c) */
	"startup_",
	"__startup_",
	"secondary_startup_",
	"common_startup_",
	"start_cpu0",
	"start_secondary",
	"cpu_init",
	"verify_cpu",
	"sev_",
	"__sev_",
	"vc_",
	"snp_",
	"early_",
	"__early_",
	"soft_restart_cpu",
	"load_percpu_segment",
	"switch_to_new_gdt",
	"switch_gdt_and_percpu_base",
	"load_direct_gdt",
	"load_fixmap_gdt",
	"xen_",
	"__xen_",
	"pvh_",
	"hypercall_page",
	/* kexec, suspend and hibernation */
	"machine_kexec",
	"relocate_kernel",
	"identity_mapped",
	"virtual_mapped",
	"swap_pages",
	"restore_",
	"__restore_",
	"core_restore_code",
	"swsusp_",
	"wakeup_",
	"do_suspend_lowlevel",
	"x86_acpi_",
	"resume_play_dead",
	"native_write_cr",
	"native_load_gs_index",
	/* exceptions and NMIs */
	"asm_",
	"entry_",
	"error_",
	"paranoid_",
	"nmi_",
	"exc_",
	"do_nmi",
	"rewind_stack_",
	"int3_",
	"poke_int3_handler",
	/* speculation: returns and indirect jumps */
	"__x86_",
	"srso_",
	"retbleed_",
	"zen_",
	"its_",
	"clear_bhb_",
	"call_depth_",
	"__warn_thunk",
	"warn_thunk_",
	/* code that the kernel copies or patches */
	"ftrace_",
	"__fentry__",
	"return_to_handler",
	"optprobe_template_",
	"__kretprobe_trampoline",
	"kretprobe_trampoline",
	"arch_rethook_trampoline",
	"uretprobe_",
	"bpf_dispatcher_",
	"__SCT__",
	"__static_call_",
	"static_call_",
	"efi_",
	"__efi",
	NULL,
};

const struct hv_kernel_arch hv_kernel_arch_x86_64 = {
	.arch = &hv_arch_x86_64,
	.find_percpu = find_percpu,
	.find_irq_stack = find_irq_stack,
	.check_exception_stacks = check_exception_stacks,
	.read_stacks = read_stacks,
	.entry =
		{
			.bounds = {"__entry_text_start", "__entry_text_end"},
			.returns = {"error_return", "swapgs_restore_regs_and_return_to_usermode"},
			.own_stacks = "paranoid_exit",
			.syscall = "do_syscall_64",
			.nmi = "exc_nmi",
			/* Since 6.6 (3aec4ecb3d1f) the assembly code has a separate symbol. */
			.new_task = {"ret_from_fork", "ret_from_fork_asm"},
		},
	.untraced_sections = untraced_sections,
	.untraced_prefixes = untraced_prefixes,
	.indirect_thunk = "__x86_indirect_",
	.skips_exceptions = skips_exceptions,
	.enters_elsewhere = enters_elsewhere,
	.saved_sp = "thread.sp",
	.switch_frame = "inactive_task_frame",
	.syscall_tracepoint_bit = 28,
	.compat_entries = {"entry_SYSCALL_compat", "entry_INT80_compat", "ia32_cstar_target"},
	.halts = {.insn = 0xf4, /* hlt */
		  .idle = {"default_idle", "hlt_play_dead", "native_play_dead"},
		  .called = {"native_safe_halt", "native_halt"}},
	.has_kpti = has_kpti,
	.jumps_bare = jumps_bare,
	.find_clock = find_clock,
};
