/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tasks/return_addresses.h"

#include <string.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/fields.h"
#include "kernel/tasks/tasks.h"

/* The records of a stack are linked from the lowest address upwards: a caller's record is at its
 * stack pointer or above. So a function's record is below the stack pointer that it was entered
 * with, with no other record between them. */

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

static void add_record(struct hv_frame_records *r, const struct hv_frame_record *record)
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
		add_record(r->ret, &record);
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
		err = hv_err_new(EINVAL, "the list does not end after %u entries", RECORDS_MAX);
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
	return HV_BISECT(i, r->nr, r->list[i].at.v < at.v);
}

const struct hv_frame_record *hv_records_below(const struct hv_frame_records *r, struct hv_gva retp)
{
	const struct hv_frame_record *below;
	/* A record of 16 bytes, with the return address in the second half, ends at or below the
	 * retp. */
	size_t behind = retp.v < 8 ? 0 : hv_records_from(r, hv_gva(retp.v - 8 + 1));

	if (!behind)
		return NULL;
	below = &r->list[behind - 1];
	return retp.v > below->stack.start.v && retp.v <= below->stack.end.v ? below : NULL;
}

/* A signature depends on the stack pointer at function entry, which is unknown for untraced
 * functions. It is above the function's record and at most at the next record, its caller's. Trying
 * all stack pointers in between can find a matching signature by chance. So each match counts the
 * bits of a signature minus those lost to the number of attempts. */

#define ALIGNMENT   16 /* of the stack pointer */
#define CHOICES_MAX 64u
#define SAMPLE	    64u /* number of records to check */
#define MISSES_MAX  16u
#define ENOUGH_BITS 48u

struct key {
	uint64_t words[2];
};

static bool read_key(const struct hv_kernel *k, struct hv_gva task, struct key *ret)
{
	const char *path = hv_kernel_arch_of(&k->core)->signing_key;
	uint32_t off, len;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!path || !task.v || !hv_btf_member(k->core.btf, "task_struct", path, &off, &len) ||
	    len != sizeof(ret->words))
		return false;
	err = hv_read(&k->core.as, hv_gva_add(task, off), ret->words, sizeof(ret->words));
	return !err;
}

/* Returns whether R contains a signed address of the image. */
static bool is_signed(const struct hv_kernel *k, const struct hv_frame_record *r)
{
	uint64_t plain = k->core.as.arch->strip_signature(r->word);

	return plain != r->word && hv_gva_in(hv_gva(plain), k->text);
}

/* Returns the number of bits that a match of algorithm WAY on R is worth, or 0 if it does not
 * match. */
static unsigned try_record(const struct hv_kernel *k, unsigned way, const struct hv_frame_record *r,
			   const struct key *key)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t plain = arch->strip_signature(r->word), retp = r->at.v + 8;
	unsigned tried = 0, bits = arch->signature_bits(way);

	retp += -retp % ALIGNMENT;
	for (; retp <= r->next && tried < CHOICES_MAX; retp += ALIGNMENT) {
		tried++;
		if (arch->sign(way, plain, retp, key->words) != r->word)
			continue;
		while (tried >>= 1)
			bits -= bits > 0;
		return bits;
	}
	return 0;
}

static bool is_right(const struct hv_kernel *k, unsigned way,
		     const struct hv_frame_records *records)
{
	unsigned nr = 0, hits = 0, bits = 0;
	size_t step = records->nr / SAMPLE + 1;

	for (size_t i = 0; i < records->nr && bits < ENOUGH_BITS; i += step) {
		const struct hv_frame_record *r = &records->list[i];
		struct key key;
		unsigned worth;

		if (!is_signed(k, r) || !read_key(k, r->task, &key))
			continue;
		worth = try_record(k, way, r, &key);
		nr++;
		hits += worth > 0;
		bits += worth;
		if (!hits && nr == MISSES_MAX)
			return false;
	}
	return bits >= ENOUGH_BITS && 2 * hits >= nr;
}

struct hv_signing hv_signing_find(const struct hv_kernel *k, const struct hv_frame_records *records)
{
	const struct hv_arch *arch = k->core.as.arch;
	bool any = false;

	for (size_t i = 0; arch->strip_signature && !any && i < records->nr; i++)
		any = is_signed(k, &records->list[i]);
	if (!any)
		return (struct hv_signing){HV_SIGNING_NONE, 0};
	for (unsigned way = 0; way < arch->nr_signings; way++)
		if (is_right(k, way, records))
			return (struct hv_signing){HV_SIGNING_KNOWN, way};
	return (struct hv_signing){HV_SIGNING_UNKNOWN, 0};
}

bool hv_signing_sign(const struct hv_kernel *k, const struct hv_signing *s, struct hv_gva task,
		     struct hv_gva retp, uint64_t address, uint64_t *ret)
{
	struct key key;

	if (s->state != HV_SIGNING_KNOWN || !read_key(k, task, &key))
		return false;
	*ret = k->core.as.arch->sign(s->way, address, retp.v, key.words);
	return true;
}

/* The kernel saves the end of the used part of a shadow stack when it leaves the stack: when a task
 * is switched out, or moves to the interrupt stack or user mode (arch/arm64/kernel/entry.S). While
 * the stack is in use, the end is in a register of the vCPU, which shows whose stack the vCPU is
 * on. Before Linux 6.3 the kernel does not save it on the way to the interrupt stack, so the saved
 * value of the interrupted task can be stale. If it does not match the task's frames, nothing is
 * restored (tracer/graph/returns.c). */

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

static void add_shadow(struct hv_shadow_stacks *s, struct hv_gva_range stack, uint64_t start,
		       uint64_t end)
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
			add_shadow(s, task->stack, start, end);
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
			add_shadow(s, list[i].range, start, start);
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
	size_t nr = HV_BISECT(i, s->nr, s->list[i].start.v <= end);

	if (!nr || end % 8 || end - s->list[nr - 1].start.v > bytes_max(k))
		return NULL;
	return &s->list[nr - 1];
}

static void locate_vcpu(struct hv_kernel *k, const struct hv_vcpu_regs *regs, unsigned vcpu,
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
			return hv_err_new(EINVAL, "0x%llx to 0x%llx is not a shadow call stack",
					  (unsigned long long)stack->start.v,
					  (unsigned long long)stack->end.v);
		*ret_nr += len_bytes / 8;
		if (*ret_nr > WORDS_MAX)
			return hv_err_new(EINVAL, "the list does not end after %u words",
					  WORDS_MAX);
	}
	return NULL;
}

static int by_kernel_stack(const void *a, const void *b)
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
	qsort(stacks, s->nr, sizeof(*stacks), by_kernel_stack);
	for (size_t i = 1; i < s->nr; i++)
		if (stacks[i].start.v < stacks[i - 1].end.v)
			return hv_err_new(EINVAL,
					  "two shadow call stacks for the kernel stack at 0x%llx",
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
		locate_vcpu(k, &regs[i], i, ret);
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
