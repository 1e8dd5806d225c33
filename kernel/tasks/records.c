/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of a stack are linked from the lowest address upwards: a caller's record is at its
 * stack pointer or above. So a function's record is below the stack pointer that it was entered
 * with, with no other record between them. */
#include "kernel/tasks/records.h"

#include <string.h>

#include "base/grow.h"
#include "kernel/core/fields.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/tasks/tasks.h"

#define FRAMES_MAX  256
#define NO_TASK	    SIZE_MAX
/* Limit on guest data: 200 MiB of records */
#define RECORDS_MAX (1u << 22)

struct reading {
	struct hv_kernel *k;
	const struct hv_tasks *tasks; /* borrowed */
	bool *current;		      /* by index into tasks: the task is current */
	bool *seen; /* by index into tasks: a vCPU's frames lead through its stack */
	struct hv_frame_records *ret; /* borrowed */
	uint32_t fp_off;
	/* Distance of a record below the frame pointer. If not 0, exceptions create no records: */
	uint64_t below;
	struct hv_gva_range exceptions; /* the exception code */
	uint32_t regs_fp_off;		/* offset in the interrupted registers */
	bool switching;			/* a vCPU is on the stack of a task that is not current */
};

static void reading_deinit(struct reading *r)
{
	free(r->current);
	free(r->seen);
}

void hv_records_deinit(struct hv_frame_records *r)
{
	free(r->list);
	*r = (struct hv_frame_records){0};
}

static void add(struct hv_frame_records *r, const struct hv_frame_record *record)
{
	r->list = hv_grow(r->list, r->nr, &r->cap, 1024, sizeof(*r->list));
	r->list[r->nr++] = *record;
}

/* Returns the index of the task with ADDRESS on its stack. */
static size_t find_task(const struct reading *r, uint64_t address)
{
	for (size_t i = 0; i < r->tasks->nr; i++)
		if (hv_gva_in(hv_gva(address), r->tasks->list[i].stack))
			return i;
	return NO_TASK;
}

/* Reads the record of frame pointer FP in STACK. Returns false if there is no record or it is the
 * last one. The caller of an exception handler is the interrupted code, whose registers are at
 * FP. */
static bool read_record(const struct reading *r, struct hv_gva_range stack, uint64_t fp,
			struct hv_frame_record *ret)
{
	const struct hv_address_space *as = &r->k->core.as;
	uint64_t words[2], at = fp - r->below;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (fp % 8 || at < stack.start.v || at > stack.end.v - sizeof(words))
		return false;
	err = hv_read(as, hv_gva(at), words, sizeof(words));
	if (err || (!words[0] && !words[1]))
		return false;
	if (r->below && hv_gva_in(hv_gva(words[1]), r->exceptions))
		err = hv_read_u64(as, hv_gva(fp + r->regs_fp_off), &words[0]);
	if (err)
		return false;
	*ret = (struct hv_frame_record){
		.at = {at + 8}, .next = words[0], .word = words[1], .stack = stack};
	return true;
}

/* Follows the frames on the stack of the task with index TASK. */
static void follow(struct reading *r, struct hv_gva_range stack, uint64_t fp, size_t task)
{
	size_t first = r->ret->nr;
	struct hv_frame_record record;

	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		/* Frames on a CPU's stack lead to the stack of the interrupted task. */
		if (task == NO_TASK && !hv_gva_in(hv_gva(fp - r->below), stack)) {
			task = find_task(r, fp - r->below);
			if (task == NO_TASK)
				break;
			stack = r->tasks->list[task].stack;
		}
		if (!read_record(r, stack, fp, &record))
			break;
		add(r->ret, &record);
		if (record.next <= fp && task != NO_TASK)
			break;
		fp = record.next;
	}
	if (task == NO_TASK)
		return;
	r->seen[task] = true;
	while (first < r->ret->nr)
		r->ret->list[first++].task = r->tasks->list[task].task;
}

static struct hv_err *find_currents(struct reading *r)
{
	struct hv_err *err = NULL;

	for (unsigned cpu = 0; !err && cpu < r->k->layout.nr_cpus; cpu++) {
		struct hv_gva current = {0};

		if (!hv_cpu_in(&r->k->core, "__cpu_possible_mask", cpu))
			continue;
		err = hv_task_current(r->k, cpu, &current);
		for (size_t i = 0; i < r->tasks->nr; i++)
			r->current[i] |= r->tasks->list[i].task.v == current.v;
	}
	return err;
}

/* Returns the CPU stack that contains SP, or false. */
static bool find_cpu_stack(const struct reading *r, uint64_t sp, struct hv_gva_range *ret)
{
	const struct hv_kernel_core *core = &r->k->core;

	for (unsigned cpu = 0; cpu < r->k->layout.nr_cpus; cpu++) {
		struct hv_cpu_stack list[HV_CPU_STACKS_MAX];
		size_t nr = 0;

		if (!hv_cpu_in(core, "__cpu_possible_mask", cpu))
			continue;
		hv_err_free(hv_kernel_arch_of(core)->read_stacks(core, cpu, list, &nr));
		for (size_t i = 0; i < nr; i++) {
			*ret = list[i].range;
			if (sp >= ret->start.v && sp <= ret->end.v)
				return true;
		}
	}
	return false;
}

static void read_vcpu(struct reading *r, const struct hv_vcpu_regs *regs)
{
	const struct hv_arch *arch = r->k->core.as.arch;
	uint64_t start = arch->kernel_start(r->k->core.as.levels).v;
	struct hv_gva_range stack;
	size_t task;

	if (!hv_arch_levels(arch, regs) || regs->ip.v < start || regs->sp.v < start)
		return;
	task = find_task(r, regs->sp.v - 1);
	if (task != NO_TASK) {
		r->seen[task] = true;
		r->switching |= !r->current[task];
		follow(r, r->tasks->list[task].stack, regs->general[arch->frame_register], task);
	} else if (find_cpu_stack(r, regs->sp.v, &stack)) {
		follow(r, stack, regs->general[arch->frame_register], NO_TASK);
	}
}

/* The saved frame pointer of a current task is stale, unless its CPU has not switched to its stack
 * yet. */
static struct hv_err *read_task(struct reading *r, size_t i)
{
	const struct hv_task *task = &r->tasks->list[i];
	struct hv_err *err;
	uint64_t fp;

	if (r->seen[i] || (r->current[i] && !r->switching) ||
	    task->stack.start.v == task->stack.end.v)
		return NULL;
	err = hv_read_u64(&r->k->core.as, hv_gva_add(task->task, r->fp_off), &fp);
	if (!err)
		follow(r, task->stack, fp, i);
	if (!err && r->ret->nr > RECORDS_MAX)
		err = hv_err_new(EINVAL, "no end after %u of them", RECORDS_MAX);
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct hv_frame_record *x = a, *y = b;

	return x->at.v < y->at.v ? -1 : x->at.v > y->at.v;
}

/* Determines the form of this kernel's records. */
static struct hv_err *find_form(struct reading *r)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&r->k->core);
	const struct hv_btf *btf = r->k->core.btf;
	bool has_chain = arch->frame_chain.saved_fp;
	const struct hv_field fields[] = {
		{has_chain ? arch->frame_chain.saved_fp : arch->saved_fp, 8, &r->fp_off}};
	struct hv_err *err = hv_fields_find(&r->k->core, "task_struct", fields, 1);

	if (err || !has_chain)
		return err;
	r->below = 16;
	if (!hv_kernel_symbol(r->k, arch->hides_return[0], &r->exceptions.start) ||
	    !hv_kernel_symbol(r->k, arch->hides_return[1], &r->exceptions.end) ||
	    !hv_btf_member(btf, "pt_regs", arch->frame_chain.regs_fp, &r->regs_fp_off, NULL))
		return hv_err_new(ENOENT, "cannot find the registers that exceptions save");
	return NULL;
}

struct hv_err *hv_records_read(struct hv_kernel *k, const struct hv_tasks *tasks,
			       const struct hv_vcpu_regs *regs, unsigned nr_vcpus,
			       struct hv_frame_records *ret)
{
	hv_cleanup(reading_deinit) struct reading r = {.k = k, .tasks = tasks, .ret = ret};
	struct hv_err *err = find_form(&r);

	r.current = hv_alloc((tasks->nr + 1) * sizeof(*r.current));
	r.seen = hv_alloc((tasks->nr + 1) * sizeof(*r.seen));
	if (!err)
		err = find_currents(&r);
	for (unsigned i = 0; !err && i < nr_vcpus; i++)
		read_vcpu(&r, &regs[i]);
	for (size_t i = 0; !err && i < tasks->nr; i++)
		err = read_task(&r, i);
	if (err) {
		hv_records_deinit(ret);
		return hv_err_in(err, "frame records");
	}
	if (ret->nr)
		qsort(ret->list, ret->nr, sizeof(*ret->list), by_address);
	return NULL;
}

size_t hv_records_from(const struct hv_frame_records *r, struct hv_gva at)
{
	size_t low = 0, high = r->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->list[middle].at.v < at.v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct hv_frame_record *hv_records_below(const struct hv_frame_records *r, struct hv_gva slot)
{
	const struct hv_frame_record *below;
	/* A record of 16 bytes, with the return address in the second half, ends at or below the
	 * slot. */
	size_t behind = slot.v < 8 ? 0 : hv_records_from(r, hv_gva(slot.v - 8 + 1));

	if (!behind)
		return NULL;
	below = &r->list[behind - 1];
	return slot.v > below->stack.start.v && slot.v <= below->stack.end.v ? below : NULL;
}
