/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the stacks that the kernel can still return through, and searches them for values.
 *
 * The words of a stack below its sp are stale: a function that has returned leaves its return
 * address there. So each stack is read only from its live part on:
 *
 * - A sleeping task's stack is live from the sp that was saved when it was switched out.
 * - The stacks that a vCPU is on are live from the vCPU's sp. The vCPU may have come from another
 *   stack through an interrupt or exception. Then the sp of that stack is in the hardware's frame,
 *   or in the word with which the kernel links its interrupt stack to the previous stack. The
 *   position depends on the architecture and the kind of entry. Therefore every live word of an
 *   interrupt or exception stack that points into a possible previous stack is taken for its sp,
 *   the lowest one for each stack. The true one is among them. A false one only makes more words
 *   count as live, which can yield too many matches, never too few.
 * - An interrupt or exception stack that no vCPU is on or came from is dead: the kernel never
 *   schedules on these stacks.
 * - The task that is current on a CPU has no frames while its CPU runs user code. It has frames,
 *   starting where it last slept, while its CPU is in the middle of a switch: then a vCPU is
 *   already on the stack of a task that is not current (possibly in an exception). In this case all
 *   current tasks that no vCPU is on are read from their saved sp.
 *
 * A thread that reaps itself leaves the task lists before it is switched out for the last time. It
 * is found through its CPU while it runs, and through its CPU's queue while it waits to run. Only
 * the queue of the fair class is read, so a real-time thread preempted in those last steps is
 * missed.
 *
 * Users of the guest can place words with any value on a stack (system call arguments): a match is
 * a reason to wait, not a proof. */
#include <string.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "base/text.h"
#include "kernel/core/fields.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/kernel.h"
#include "kernel/tasks/sleeper.h"

#define STACK_READ_MAX (1u << 20) /* bytes of one stack */
#define STACKS_MAX     (1u << 20)
#define QUEUE_MAX      4096u /* tasks in queues that are in no list */

enum stack_kind {
	STACK_SLEEPING,	 /* of a task that is on no CPU */
	STACK_CURRENT,	 /* of a task that is current on a CPU */
	STACK_INTERRUPT, /* of a CPU, entered only from a task's stack */
	STACK_EXCEPTION, /* of a CPU: exceptions with a separate stack, entry from user mode */
};

struct stack {
	struct hv_gva_range range;
	enum stack_kind kind;
	uint64_t live_from; /* range.end.v: empty */
	uint64_t read_from; /* [read_from, end) has been read */
	const struct hv_task *task;
	unsigned cpu;
	const char *name;   /* of a CPU's stack */
	bool in_use;	    /* its task is not asleep: every word counts */
	unsigned vcpu;	    /* the vCPU that is on it or came from it; valid if in_use */
	bool was_preempted; /* preempt_schedule_irq() is on it */
	const struct hv_vcpu_regs
		*waiting;  /* registers of the vCPU on it, if that waits for an interrupt */
	bool halts;	   /* the vCPU on it halts in the idle loop */
	bool was_followed; /* frames of a sleeping or waiting task were walked; result: */
	enum hv_sleeper leads_to;
};

struct scan {
	struct hv_kernel *k;
	const struct hv_scan_for *wanted;
	struct hv_orc *orc;		/* owned; NULL: frames cannot be walked */
	struct hv_gva_range preempting; /* empty: any sleeping task may have been preempted */
	const struct hv_tasks *tasks;
	struct hv_tasks own;	  /* if the caller did not supply them */
	struct hv_tasks queued;	  /* tasks that are in no list */
	struct hv_task *currents; /* by CPU */
	struct stack *stacks;	  /* sorted by range.start; disjoint except in a hostile guest */
	size_t nr;
	size_t cap;
	bool switching;	 /* a vCPU may be in the middle of a stack switch */
	bool *is_inside; /* owned, by vCPU: it may be in one of the functions */
	size_t nr_found;
	char *where;
};

struct queue_layout {
	struct hv_task_layout task;
	uint32_t group_node; /* of struct task_struct */
	uint64_t cfs_tasks;  /* per-CPU */
};

static void scan_deinit(struct scan *s)
{
	hv_tasks_deinit(&s->own);
	hv_tasks_deinit(&s->queued);
	free(s->currents);
	free(s->stacks);
	free(s->where);
	free(s->is_inside);
	hv_orc_free(s->orc);
}

static void add_stack(struct scan *s, struct stack stack)
{
	uint64_t len = stack.range.end.v - stack.range.start.v;

	if (stack.range.end.v <= stack.range.start.v || len > STACK_READ_MAX || s->nr == STACKS_MAX)
		return;
	s->stacks = hv_grow(s->stacks, s->nr, &s->cap, 256, sizeof(*s->stacks));
	stack.live_from = stack.read_from = stack.range.end.v;
	s->stacks[s->nr++] = stack;
}

static bool is_current(const struct scan *s, struct hv_gva task)
{
	for (unsigned cpu = 0; cpu < s->k->layout.nr_cpus; cpu++)
		if (s->currents[cpu].task.v == task.v)
			return true;
	return false;
}

/* Reads current tasks again, from the CPUs: a task that has left the lists may still run. */
static struct hv_err *add_task_stacks(struct scan *s)
{
	const struct hv_layout *layout = &s->k->layout;
	struct hv_task_layout l;
	struct hv_gva init_task;
	struct hv_err *err = hv_core_need(&s->k->core, "init_task", &init_task);

	if (!err)
		err = hv_task_layout_find(s->k, &l);

	s->currents = hv_alloc(layout->nr_cpus * sizeof(*s->currents));
	for (unsigned cpu = 0; !err && cpu < layout->nr_cpus; cpu++) {
		struct hv_gva task = {0};

		if (!hv_cpu_in(&s->k->core, "__cpu_possible_mask", cpu))
			continue;
		err = hv_task_current(s->k, cpu, &task);
		if (err || !task.v || is_current(s, task))
			continue;
		/* init_task was never switched to on a CPU that was never online: its pointer is
		 * the image's initial value. */
		if (task.v == init_task.v && !hv_cpu_in(&s->k->core, "__cpu_online_mask", cpu))
			continue;
		err = hv_task_read_one(s->k, &l, task, &s->currents[cpu]);
		add_stack(s, (struct stack){.range = s->currents[cpu].stack,
					    .kind = STACK_CURRENT,
					    .task = &s->currents[cpu]});
	}
	for (size_t i = 0; !err && i < s->tasks->nr; i++)
		if (!is_current(s, s->tasks->list[i].task))
			add_stack(s, (struct stack){.range = s->tasks->list[i].stack,
						    .kind = STACK_SLEEPING,
						    .task = &s->tasks->list[i]});
	return err;
}

static struct hv_err *add_cpu_stacks(struct scan *s, unsigned cpu)
{
	struct hv_cpu_stack list[HV_CPU_STACKS_MAX];
	const struct hv_kernel_core *core = &s->k->core;
	size_t nr = 0;
	struct hv_err *err = hv_kernel_arch_of(core)->read_stacks(core, cpu, list, &nr);

	for (size_t i = 0; i < nr; i++)
		add_stack(s,
			  (struct stack){
				  .range = list[i].range,
				  .kind = list[i].kind == HV_CPU_STACK_INTERRUPT ? STACK_INTERRUPT
										 : STACK_EXCEPTION,
				  .cpu = cpu,
				  .name = list[i].name,
			  });
	return err;
}

static int by_start(const void *pa, const void *pb)
{
	const struct stack *a = pa, *b = pb;

	if (a->range.start.v != b->range.start.v)
		return a->range.start.v < b->range.start.v ? -1 : 1;
	return 0;
}

/* Returns a stack that starts where STACK starts, or NULL. */
static const struct stack *same_stack(const struct scan *s, const struct stack *stack)
{
	if (!s->nr)
		return NULL;
	return bsearch(stack, s->stacks, s->nr, sizeof(*stack), by_start);
}

/* Adds the tasks in CPU's queue with unknown stacks to LEFT. */
static struct hv_err *read_queue(struct scan *s, const struct queue_layout *q, unsigned cpu,
				 struct hv_tasks *left)
{
	struct hv_circle circle = {0};
	struct hv_gva head;
	uint64_t at = 0;
	struct hv_err *err = hv_kernel_percpu(s->k, q->cfs_tasks, cpu, &head);

	if (!err)
		err = hv_read_u64(&s->k->core.as, head, &at);
	for (; !err && at && at != head.v; err = hv_read_u64(&s->k->core.as, hv_gva(at), &at)) {
		struct hv_task task;

		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL,
					  "CPU %u: the list of its run queue has a loop at 0x%llx",
					  cpu, (unsigned long long)at);
		err = hv_task_read_one(s->k, &q->task, hv_gva(at - q->group_node), &task);
		if (err)
			return err;
		if (same_stack(s, &(struct stack){.range = task.stack}) || left->nr == QUEUE_MAX)
			continue;
		left->list = hv_realloc_array(left->list, left->nr + 1, sizeof(task));
		left->list[left->nr++] = task;
	}
	return err;
}

/* The other stacks must be sorted. Adds nothing for kernels without such queues. */
static struct hv_err *add_queued(struct scan *s)
{
	struct queue_layout q;
	struct hv_gva rq;
	uint32_t off;
	struct hv_err *err = hv_task_layout_find(s->k, &q.task);

	if (err || !hv_kernel_symbol(s->k, "runqueues", &rq))
		return err;
	if (!hv_btf_member(s->k->core.btf, "rq", "cfs_tasks.next", &off, NULL) ||
	    !hv_btf_member(s->k->core.btf, "task_struct", "se.group_node.next", &q.group_node,
			   NULL))
		return hv_types_are_whole(&s->k->core)
			       ? NULL
			       : hv_err_new(ENOENT,

					    "kernel without BTF: cannot find the list of tasks in "
					    "a run queue");
	q.cfs_tasks = rq.v + off;
	for (unsigned cpu = 0; !err && cpu < s->k->layout.nr_cpus; cpu++)
		if (hv_cpu_in(&s->k->core, "__cpu_online_mask", cpu))
			err = read_queue(s, &q, cpu, &s->queued);
	for (size_t i = 0; i < s->queued.nr; i++)
		add_stack(s, (struct stack){.range = s->queued.list[i].stack,
					    .kind = STACK_SLEEPING,
					    .task = &s->queued.list[i]});
	return err;
}

static void sort_stacks(struct scan *s)
{
	if (s->nr)
		qsort(s->stacks, s->nr, sizeof(*s->stacks), by_start);
}

static struct hv_err *find_stacks(struct scan *s)
{
	struct hv_err *err = s->tasks ? NULL : hv_tasks_read(s->k, &s->own);

	if (!s->tasks)
		s->tasks = &s->own;
	if (!err)
		err = add_task_stacks(s);
	for (unsigned cpu = 0; !err && cpu < s->k->layout.nr_cpus; cpu++) {
		if (!hv_cpu_in(&s->k->core, "__cpu_possible_mask", cpu))
			continue;
		err = add_cpu_stacks(s, cpu);
	}
	if (err)
		return err;
	sort_stacks(s);
	err = add_queued(s);
	sort_stacks(s);
	return err;
}

/* Returns the stack that contains ADDR, or NULL. Its end counts as inside: it is the sp of an empty
 * stack. */
static struct stack *stack_at(const struct scan *s, uint64_t addr)
{
	size_t nr = HV_BISECT(i, s->nr, s->stacks[i].range.start.v <= addr);

	/* Two stacks may touch: then the end of one is the start of the next, which is empty. */
	return nr && addr <= s->stacks[nr - 1].range.end.v ? &s->stacks[nr - 1] : NULL;
}

static void found(struct scan *s, char *where)
{
	if (s->nr_found++)
		free(where);
	else
		s->where = where;
}

static char *stack_name(const struct stack *stack)
{
	struct hv_text text = {0};

	if (stack->task) {
		hv_text_printf(&text, "task %u (", stack->task->pid);
		hv_text_add_guest(&text, stack->task->comm, sizeof(stack->task->comm));
		hv_text_add(&text, ")");
	} else {
		hv_text_printf(&text, "cpu %u %s", stack->cpu, stack->name);
	}
	return hv_text_take(&text);
}

/* Returns whether a live word of FROM that points into TO may be the sp that TO had when the vCPU
 * left it. */
static bool can_come_from(const struct stack *from, const struct stack *to)
{
	if (from == to)
		return false;
	if (from->kind == STACK_INTERRUPT)
		return to->kind == STACK_CURRENT || to->kind == STACK_EXCEPTION;
	return from->kind == STACK_EXCEPTION;
}

/* Returns whether a sleeping or waiting task may return through a word of code that can only be
 * interrupted. Words are read from its sp upwards, so those of the context switch come first. */
static bool may_be_inside(struct scan *s, struct stack *from)
{
	if (!hv_sleeper_can_look(s->k, s->orc))
		return from->was_preempted || s->wanted->how == HV_SCAN_USED ||
		       s->preempting.start.v == s->preempting.end.v;
	if (!from->was_followed && from->waiting)
		from->leads_to =
			hv_sleeper_look_waiting(s->k, s->wanted, from->task, from->waiting);
	else if (!from->was_followed)
		from->leads_to = hv_sleeper_look(s->k, s->orc, s->wanted, from->task);
	from->was_followed = true;
	return from->leads_to != HV_SLEEPER_ELSEWHERE;
}

static bool counts(struct scan *s, struct stack *from, uint64_t word)
{
	bool sleeps = from->kind == STACK_SLEEPING && !from->in_use;
	bool waits = from->waiting && s->wanted->how == HV_SCAN_INTERRUPTED;

	if (s->wanted->how == HV_SCAN_CALLS || !(sleeps || waits))
		return true;
	if (s->wanted->how == HV_SCAN_USED)
		return may_be_inside(s, from);
	return s->wanted->how == HV_SCAN_INTERRUPTED &&
	       (hv_gva_in(hv_gva(word), s->wanted->calling) || may_be_inside(s, from));
}

/* Records that a vCPU may be in one of the functions. Returns whether that counts. */
static bool is_inside(struct scan *s, unsigned vcpu)
{
	s->is_inside[vcpu] = true;
	return !s->wanted->have_left || !s->wanted->have_left[vcpu];
}

/* Returns whether WORD shows that a task or vCPU is in one of the functions. */
static bool is_in_function(struct scan *s, struct stack *from, uint64_t word)
{
	return !from->waiting && !from->halts && hv_scan_has_function(s->wanted, hv_gva(word)) &&
	       counts(s, from, word) && (!from->in_use || is_inside(s, from->vcpu));
}

static bool is_wanted(const struct scan *s, struct hv_gva at, uint64_t word)
{
	const struct hv_scan_for *wanted = s->wanted;

	return hv_scan_wants(wanted, hv_gva(word)) &&
	       !(wanted->is_known && wanted->is_known(wanted->ctx, at, word));
}

/* Checks whether WORD, live on FROM, points to where another stack was left. */
static void follow(struct scan *s, struct stack *from, uint64_t word)
{
	struct stack *to;

	if (from->kind == STACK_SLEEPING || from->kind == STACK_CURRENT)
		return;
	to = stack_at(s, word);
	if (!to || !can_come_from(from, to))
		return;
	s->switching |= to->kind == STACK_SLEEPING;
	to->in_use = true;
	to->vcpu = from->vcpu;
	if (word < to->live_from)
		to->live_from = word & ~7ull;
}

static void look_at(struct scan *s, struct stack *from, struct hv_gva at, uint64_t word)
{
	const struct hv_arch *arch = s->k->core.as.arch;
	uint64_t code = arch->strip_signature ? arch->strip_signature(word) : word;

	if (hv_gva_in(hv_gva(code), s->preempting))
		from->was_preempted = true;
	if ((is_wanted(s, at, code) && counts(s, from, code)) || is_in_function(s, from, code))
		found(s, stack_name(from));
	follow(s, from, word);
}

/* Reads the live words that have not been read. */
static struct hv_err *read_stack(struct scan *s, struct stack *stack, uint8_t *buf)
{
	uint64_t from = stack->live_from, len = stack->read_from - from, word;
	struct hv_err *err = hv_read(&s->k->core.as, hv_gva(from), buf, len);

	if (err) {
		HV_AUTO_FREE char *name = stack_name(stack);

		return hv_err_in(err, "stack of %s", name);
	}
	stack->read_from = from;
	for (uint64_t off = 0; off + 8 <= len; off += 8) {
		memcpy(&word, buf + off, 8);
		look_at(s, stack, hv_gva(from + off), word);
	}
	return NULL;
}

/* Reads until all live words have been read. This ends because each word is read at most once. */
static struct hv_err *read_stacks(struct scan *s)
{
	HV_AUTO_FREE uint8_t *buf = hv_alloc(STACK_READ_MAX + 8);
	struct hv_err *err = NULL;
	bool again = true;

	while (!err && again) {
		again = false;
		for (size_t i = 0; !err && i < s->nr; i++) {
			if (s->stacks[i].live_from >= s->stacks[i].read_from)
				continue;
			err = read_stack(s, &s->stacks[i], buf);
			again = true;
		}
	}
	return err;
}

static void live_from(struct stack *stack, uint64_t sp)
{
	/* If the saved sp is outside its stack, read the whole stack. */
	if (sp < stack->range.start.v || sp > stack->range.end.v)
		sp = stack->range.start.v;
	sp &= ~7ull;
	if (sp < stack->live_from)
		stack->live_from = sp;
}

/* Returns whether the vCPU uses this kernel's page tables: with nested virtualisation its registers
 * may belong to a nested guest. */
static bool is_in_our_kernel(const struct scan *s, const struct hv_vcpu_regs *regs)
{
	struct hv_gpa roots[2];
	unsigned nr = s->k->core.as.arch->roots(regs, roots);
	struct hv_mapping ours, theirs;
	struct hv_err *err = hv_walk(&s->k->core.as, s->k->text.start, &ours);
	bool same = false;

	for (unsigned i = 0; !err && !same && i < nr; i++) {
		struct hv_address_space as = s->k->core.as;

		as.root = roots[i];
		err = hv_walk(&as, s->k->text.start, &theirs);
		same = !err && theirs.present && theirs.gpa.v == ours.gpa.v;
	}
	hv_err_free(err);
	return same;
}

/* Returns whether the vCPU is in code where the interrupted address is only in a register that is
 * not visible. That counts as a match, because the address may be in the range. In a kernel without
 * these symbols, any address may be in such code. */
static bool hides_return(const struct scan *s, struct hv_gva ip)
{
	const char *const *bounds = hv_kernel_arch_of(&s->k->core)->hides_return;
	struct hv_gva_range code;

	if (!bounds[0])
		return false;
	return !hv_kernel_symbol(s->k, bounds[0], &code.start) ||
	       !hv_kernel_symbol(s->k, bounds[1], &code.end) || hv_gva_in(ip, code);
}

/* STACK is the stack that the vCPU is on. */
static void begin_at(struct scan *s, struct stack *stack, const struct hv_vcpu_regs *regs,
		     unsigned vcpu)
{
	live_from(stack, regs->sp.v);
	stack->in_use = true;
	stack->vcpu = vcpu;
	if (stack->task && hv_sleeper_waits(s->k, regs))
		stack->waiting = regs;
	stack->halts = stack->task && hv_sleeper_halts(s->k, stack->task, regs);
	s->switching |= stack->kind == STACK_SLEEPING;
	if (!hv_kernel_arch_of(&s->k->core)->links_by_register)
		return;
	for (unsigned i = 0; i < HV_VCPU_NR_GENERAL; i++)
		follow(s, stack, regs->general[i]);
}

/* Finds the stack that the vCPU is on. User code, and the first and last kernel instructions around
 * it, run on the user's sp: then the kernel stack is empty. */
static void locate_vcpu(struct scan *s, const struct hv_vcpu_regs *regs, unsigned vcpu)
{
	unsigned levels = hv_arch_levels(s->k->core.as.arch, regs);
	struct hv_text text = {0};
	struct stack *stack;

	if (!levels)
		return; /* never started */
	if (is_in_our_kernel(s, regs)) {
		uint64_t start = s->k->core.as.arch->kernel_start(levels).v;

		if (regs->ip.v < start)
			return;
		stack = stack_at(s, regs->sp.v);
		if (hv_scan_has_function(s->wanted, regs->ip) &&
		    !(stack && stack->task && hv_sleeper_halts(s->k, stack->task, regs)) &&
		    is_inside(s, vcpu)) {
			hv_text_printf(&text, "vCPU %u", vcpu);
			found(s, hv_text_take(&text));
		}
		/* In this code sp may not point into a stack. */
		if (hides_return(s, regs->ip)) {
			s->is_inside[vcpu] = true;
			hv_text_printf(&text, "vCPU %u, which enters or leaves the kernel,", vcpu);
			found(s, hv_text_take(&text));
		}
		if (regs->sp.v < start)
			return;
		if (stack) {
			begin_at(s, stack, regs, vcpu);
			return;
		}
	}
	s->is_inside[vcpu] = true;
	hv_text_printf(&text, "vCPU %u on an unknown stack (sp 0x%llx)", vcpu,
		       (unsigned long long)regs->sp.v);
	found(s, hv_text_take(&text));
}

static struct hv_err *scan(struct scan *s, const struct hv_vcpu_regs *regs, unsigned nr)
{
	struct hv_err *err = find_stacks(s);

	if (err)
		return err;
	for (unsigned i = 0; i < nr; i++)
		locate_vcpu(s, &regs[i], i);
	for (size_t i = 0; i < s->nr; i++)
		if (s->stacks[i].kind == STACK_SLEEPING)
			live_from(&s->stacks[i], s->stacks[i].task->sp.v);
	err = read_stacks(s);
	if (err || !s->switching)
		return err;
	for (size_t i = 0; i < s->nr; i++)
		if (s->stacks[i].kind == STACK_CURRENT &&
		    s->stacks[i].live_from == s->stacks[i].range.end.v)
			live_from(&s->stacks[i], s->stacks[i].task->sp.v);
	return read_stacks(s);
}

/* Returns the function's code, up to the next symbol. Empty if this kernel does not have the
 * function. */
static struct hv_gva_range find_preempting(const struct hv_kernel *k)
{
	struct hv_gva_range r = {0};

	if (!hv_kernel_symbol(k, "preempt_schedule_irq", &r.start))
		return r;
	r.end = r.start;
	for (size_t i = 0; i < k->core.symbols.nr && r.end.v == r.start.v; i++)
		if (k->core.symbols.by_addr[i].addr.v > r.start.v)
			r.end = k->core.symbols.by_addr[i].addr;
	return r;
}

struct hv_err *hv_stacks_scan(struct hv_kernel *k, const struct hv_scan_for *wanted,
			      const struct hv_vcpu_regs *regs, unsigned nr, size_t *ret_found,
			      char **ret_where)
{
	hv_cleanup(scan_deinit) struct scan s = {.k = k, .wanted = wanted, .tasks = wanted->tasks};
	struct hv_err *err;

	if (wanted->how == HV_SCAN_INTERRUPTED || wanted->how == HV_SCAN_USED) {
		s.preempting = find_preempting(k);
		hv_err_free(hv_orc_new(k, &s.orc));
	}
	s.is_inside = hv_alloc((nr + 1) * sizeof(*s.is_inside));
	err = scan(&s, regs, nr);
	if (err)
		return hv_err_in(err, "stacks");
	for (unsigned i = 0; wanted->have_left && i < nr; i++)
		wanted->have_left[i] |= !s.is_inside[i];
	*ret_found = s.nr_found;
	if (ret_where)
		*ret_where = hv_take(s.where);
	return NULL;
}
