/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel saves the end of the used part of a shadow stack when it leaves the stack: when a task
 * is switched out, or moves to the interrupt stack or user mode (arch/arm64/kernel/entry.S). While
 * the stack is in use, the end is in a register of the vCPU, which shows whose stack the vCPU is
 * on. Before Linux 6.3 the kernel does not save it on the way to the interrupt stack, so the saved
 * value of the interrupted task can be stale. If it does not match the task's frames, nothing is
 * restored (tracer/return_places.c). */
#include "kernel/tasks/shadow_stacks.h"

#include "base/grow.h"
#include "kernel/core/fields.h"
#include "kernel/arch/kernel_arch.h"

#define STACK_PAGES 2u	       /* shadow stacks of all kernels are smaller (SCS_ORDER) */
#define WORDS_MAX   (1u << 22) /* limit on guest data */

void hv_shadow_stacks_deinit(struct hv_shadow_stacks *s)
{
	free(s->list);
	free(s->words);
	*s = (struct hv_shadow_stacks){0};
}

static uint64_t bytes_max(const struct hv_kernel *k)
{
	return STACK_PAGES * k->core.as.arch->entry_span(1);
}

static void add(struct hv_shadow_stacks *s, struct hv_gva_range stack, uint64_t start, uint64_t end)
{
	s->list = hv_grow(s->list, s->nr, &s->cap, 256, sizeof(*s->list));
	s->list[s->nr++] = (struct hv_shadow_stack){.stack = stack, .start = {start}, .end = {end}};
}

/* Skips tasks without a stack, which do not return. */
static struct hv_err *add_tasks(struct hv_kernel *k, const struct hv_tasks *tasks,
				struct hv_shadow_stacks *s)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);
	uint32_t start_off, end_off;
	const struct hv_field fields[] = {{arch->shadow_stack.start, 8, &start_off},
					  {arch->shadow_stack.end, 8, &end_off}};
	struct hv_err *err = hv_fields_find(&k->core, "task_struct", fields, 2);

	for (size_t i = 0; !err && i < tasks->nr; i++) {
		const struct hv_task *task = &tasks->list[i];
		uint64_t start, end;

		if (task->stack.start.v == task->stack.end.v)
			continue;
		err = hv_read_u64(&k->core.as, hv_gva_add(task->task, start_off), &start);
		if (!err)
			err = hv_read_u64(&k->core.as, hv_gva_add(task->task, end_off), &end);
		if (!err && start)
			add(s, task->stack, start, end);
	}
	return err;
}

/* The interrupt stack is empty unless a vCPU is on it, because nothing sleeps on an interrupt
 * stack. */
static struct hv_err *add_cpu(struct hv_kernel *k, struct hv_gva pointer, unsigned cpu,
			      struct hv_shadow_stacks *s)
{
	struct hv_cpu_stack list[HV_CPU_STACKS_MAX];
	const struct hv_kernel_core *core = &k->core;
	uint64_t start = 0;
	size_t nr = 0;
	struct hv_gva at;
	struct hv_err *err = hv_kernel_arch_of(core)->read_stacks(core, cpu, list, &nr);

	if (!err)
		err = hv_core_percpu(core, pointer.v, cpu, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &start);
	for (size_t i = 0; !err && start && i < nr; i++)
		if (list[i].kind == HV_CPU_STACK_INTERRUPT)
			add(s, list[i].range, start, start);
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct hv_shadow_stack *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

/* Returns the last stack that begins at or before END, or NULL if END is on none. */
static struct hv_shadow_stack *find_stack(const struct hv_kernel *k, struct hv_shadow_stacks *s,
					  uint64_t end)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->list[middle].start.v <= end)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || end % 8 || end - s->list[low - 1].start.v > bytes_max(k))
		return NULL;
	return &s->list[low - 1];
}

static void place_vcpu(struct hv_kernel *k, const struct hv_vcpu_regs *regs, unsigned vcpu,
		       struct hv_shadow_stacks *s)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t end = regs->general[hv_kernel_arch_of(&k->core)->shadow_stack.in_general];
	struct hv_shadow_stack *stack;

	if (!hv_arch_levels(arch, regs) || regs->ip.v < arch->kernel_start(k->core.as.levels).v)
		return;
	stack = find_stack(k, s, end);
	if (!stack) {
		s->is_between = true;
		s->vcpu = vcpu;
		return;
	}
	if (!stack->is_seen || stack->end.v < end)
		stack->end = hv_gva(end);
	stack->is_seen = true;
}

static struct hv_err *check_lengths(const struct hv_kernel *k, const struct hv_shadow_stacks *s,
				    size_t *ret_nr)
{
	*ret_nr = 0;
	for (size_t i = 0; i < s->nr; i++) {
		const struct hv_shadow_stack *stack = &s->list[i];
		uint64_t len_bytes = stack->end.v - stack->start.v;

		if (stack->start.v % 8 || len_bytes % 8 || len_bytes > bytes_max(k))
			return hv_err_new(EINVAL, "0x%llx to 0x%llx is not one",
					  (unsigned long long)stack->start.v,
					  (unsigned long long)stack->end.v);
		*ret_nr += len_bytes / 8;
		if (*ret_nr > WORDS_MAX)
			return hv_err_new(EINVAL, "no end after %u words", WORDS_MAX);
	}
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct hv_gva_range *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

/* Checks that no two shadow stacks belong to the same kernel stack. Then each frame record belongs
 * to at most one shadow stack, and a hostile guest cannot make callers process the same records for
 * each of its tasks. */
static struct hv_err *check_disjoint(const struct hv_shadow_stacks *s)
{
	HV_AUTO_FREE struct hv_gva_range *stacks = hv_alloc(s->nr * sizeof(*stacks));

	for (size_t i = 0; i < s->nr; i++)
		stacks[i] = s->list[i].stack;
	qsort(stacks, s->nr, sizeof(*stacks), by_address);
	for (size_t i = 1; i < s->nr; i++)
		if (stacks[i].start.v < stacks[i - 1].end.v)
			return hv_err_new(EINVAL, "two for the kernel stack at 0x%llx",
					  (unsigned long long)stacks[i].start.v);
	return NULL;
}

static struct hv_err *read_words(struct hv_kernel *k, size_t nr, struct hv_shadow_stacks *s)
{
	uint64_t *words = s->words = hv_alloc(nr * sizeof(*words));
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < s->nr; i++) {
		struct hv_shadow_stack *stack = &s->list[i];

		stack->words = words;
		stack->nr = (stack->end.v - stack->start.v) / 8;
		if (stack->nr)
			err = hv_read(&k->core.as, stack->start, words, stack->nr * 8);
		words += stack->nr;
	}
	return err;
}

static struct hv_err *read_all(struct hv_kernel *k, const struct hv_tasks *tasks,
			       struct hv_gva irqs, const struct hv_vcpu_regs *regs,
			       unsigned nr_vcpus, struct hv_shadow_stacks *ret)
{
	size_t nr = 0;
	struct hv_err *err = add_tasks(k, tasks, ret);

	for (unsigned cpu = 0; !err && cpu < k->layout.nr_cpus; cpu++)
		if (hv_cpu_in(&k->core, "__cpu_possible_mask", cpu))
			err = add_cpu(k, irqs, cpu, ret);
	if (err || !ret->nr)
		return err;
	qsort(ret->list, ret->nr, sizeof(*ret->list), by_start);
	for (unsigned i = 0; i < nr_vcpus; i++)
		place_vcpu(k, &regs[i], i, ret);
	err = check_lengths(k, ret, &nr);
	if (!err)
		err = check_disjoint(ret);
	/* If shadow stacks are in use, every task that was switched out has words there. Without
	 * any words, no function returns to one. */
	if (err || !nr)
		return err;
	ret->state = HV_SHADOW_KNOWN;
	return read_words(k, nr, ret);
}

struct hv_err *hv_shadow_stacks_read(struct hv_kernel *k, const struct hv_tasks *tasks,
				     const struct hv_vcpu_regs *regs, unsigned nr_vcpus,
				     struct hv_shadow_stacks *ret)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);
	struct hv_gva irqs;
	uint32_t off;
	struct hv_err *err;

	*ret = (struct hv_shadow_stacks){0};
	if (!arch->shadow_stack.start ||
	    !hv_btf_member(k->core.btf, "task_struct", arch->shadow_stack.start, &off, NULL))
		return NULL;
	if (!arch->shadow_stack.end || !hv_core_symbol(&k->core, arch->shadow_stack.irqs, &irqs)) {
		ret->state = HV_SHADOW_UNKNOWN;
		return NULL;
	}
	err = read_all(k, tasks, irqs, regs, nr_vcpus, ret);
	if (err)
		hv_shadow_stacks_deinit(ret);
	return err ? hv_err_in(err, "shadow call stacks") : NULL;
}
