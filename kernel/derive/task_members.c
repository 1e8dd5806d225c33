/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/sched.h, include/linux/sched/prio.h, include/uapi/linux/sched.h. */
#include "kernel/derive/task_members.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "kernel/arch/generic.h"
#include "kernel/core/fields.h"

#define PF_KTHREAD	0x00200000u
#define STACK_END_MAGIC 0x57ac6e9du
#define PID_MAX		(1u << 22)
#define PRIO_RT_MAX	100u /* priorities below are real-time */
#define PRIO_MAX	140u
#define PRIO_DEFAULT	120u
#define SCHED_FIFO	1u
#define SCHED_RR	2u
#define SCHED_MAX	7u
#define SIGNAL_BYTES	512u /* number of bytes of struct signal_struct that are searched */

#define USE(kind) (1u << HV_MEMBER_##kind)

struct context {
	const struct hv_kernel_core *core;
	const struct hv_samples *samples;
	const struct hv_facts *facts;
	uint32_t stack_bytes;
};

static uint32_t u32_of(const struct context *c, unsigned sample, uint32_t off)
{
	return (uint32_t)hv_sample_number(&c->samples->list[sample], off, 4);
}

static uint64_t u64_of(const struct context *c, unsigned sample, uint32_t off)
{
	return hv_sample_number(&c->samples->list[sample], off, 8);
}

static bool find_off(const struct context *c, const char *member, uint32_t *ret)
{
	const struct hv_fact *f = hv_facts_find(c->facts, "task_struct", member);

	*ret = f ? f->off : 0;
	return f;
}

static bool fits_tasks(const void *ctx, uint32_t off)
{
	return off == ((const struct context *)ctx)->samples->tasks;
}

static bool fits_comm(const void *ctx, uint32_t off)
{
	return off == ((const struct context *)ctx)->samples->comm;
}

/* Processes in the list lead their groups, so pid and tgid are equal. */
static bool fits_pid(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;

	for (unsigned i = 0; i < c->samples->nr; i++) {
		uint32_t pid = u32_of(c, i, off);

		if (i < 3 ? pid != i : pid < 3 || pid > PID_MAX)
			return false;
		for (unsigned j = 3; j < i; j++)
			if (u32_of(c, j, off) == pid)
				return false;
	}
	return true;
}

/* init_task and kthreadd are kernel threads, but pid 1 is not. */
static bool fits_flags(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;

	return u32_of(c, 0, off) & PF_KTHREAD && !(u32_of(c, 1, off) & PF_KTHREAD) &&
	       u32_of(c, 2, off) & PF_KTHREAD;
}

static bool is_stack(const struct context *c, uint64_t at)
{
	uint64_t magic = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (at % c->core->as.arch->entry_span(1) ||
	    at < c->core->as.arch->kernel_start(c->core->as.levels).v)
		return false;
	err = hv_read_u64(&c->core->as, hv_gva(at), &magic);
	return !err && magic == STACK_END_MAGIC;
}

/* A process may have ended after it was copied. */
static bool fits_stack(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	unsigned nr = 0;

	if (!is_stack(c, u64_of(c, 0, off)))
		return false;
	for (unsigned i = 1; i < c->samples->nr; i++)
		nr += is_stack(c, u64_of(c, i, off));
	return nr > c->samples->nr / 2;
}

/* Kernel threads have no mm. A process has no mm before it executes its first program and while it
 * ends. */
static bool fits_mm(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	const uint64_t lowest = c->core->as.arch->kernel_start(c->core->as.levels).v;
	uint32_t flags;
	unsigned nr = 0;

	if (!find_off(c, "flags", &flags) || u64_of(c, 1, off) < lowest)
		return false;
	for (unsigned i = 0; i < c->samples->nr; i++) {
		bool is_thread = u32_of(c, i, flags) & PF_KTHREAD;
		uint64_t mm = u64_of(c, i, off);

		if (mm && (is_thread || mm < lowest))
			return false;
		nr += !mm == is_thread;
	}
	return nr > c->samples->nr / 2;
}

/* A sleeping task's stack pointer is in its stack. */
static bool fits_saved_sp(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	unsigned nr = 0;
	uint32_t stack;

	if (!find_off(c, "stack", &stack) || off == stack)
		return false;
	for (unsigned i = 0; i < c->samples->nr; i++)
		nr += u64_of(c, i, off) - u64_of(c, i, stack) < c->stack_bytes;
	return nr > c->samples->nr / 2;
}

/* prio, static_prio and normal_prio are next to each other, in this order. Unless it is boosted,
 * a task has prio equal to normal_prio, and without a real-time policy all three are equal. */
static bool fits_static_prio(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	unsigned nr = 0;

	if (off < 4 || u32_of(c, 0, off) != PRIO_DEFAULT)
		return false;
	for (unsigned i = 0; i < c->samples->nr; i++) {
		uint32_t prio = u32_of(c, i, off - 4), own = u32_of(c, i, off),
			 normal = u32_of(c, i, off + 4);

		if (own < PRIO_RT_MAX || own >= PRIO_MAX || normal >= PRIO_MAX || prio >= PRIO_MAX)
			return false;
		nr += prio == own && own == normal;
	}
	return nr > c->samples->nr / 2;
}

static bool fits_prio(const void *ctx, uint32_t off)
{
	return fits_static_prio(ctx, off + 4);
}

/* rt_priority is 99 - normal_prio in tasks with a real-time policy, and 0 in others. */
static bool fits_rt_priority(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	unsigned nr = 0;
	uint32_t own;

	if (!find_off(c, "static_prio", &own))
		return false;
	for (unsigned i = 0; i < c->samples->nr; i++) {
		uint32_t normal = u32_of(c, i, own + 4);

		if (u32_of(c, i, off) != (normal < PRIO_RT_MAX ? PRIO_RT_MAX - 1 - normal : 0))
			return false;
		nr += normal < PRIO_RT_MAX;
	}
	return nr;
}

static bool fits_policy(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	unsigned nr = 0;
	uint32_t rt;

	if (!find_off(c, "rt_priority", &rt))
		return false;
	for (unsigned i = 0; i < c->samples->nr; i++) {
		uint32_t policy = u32_of(c, i, off);
		bool is_rt = policy == SCHED_FIFO || policy == SCHED_RR;

		if (policy > SCHED_MAX || is_rt != (u32_of(c, i, rt) != 0))
			return false;
		nr += is_rt;
	}
	return nr;
}

/* The number is small in every task. */
static bool fits_migration(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;

	for (unsigned i = 0; i < c->samples->nr; i++)
		if ((u32_of(c, i, off & ~3u) >> off % 4 * 8 & UINT16_MAX) > UINT8_MAX)
			return false;
	return true;
}

/* real_cred and cred are next to each other. */
static bool fits_cred(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	struct hv_gva init;
	unsigned nr = 0;

	if (off < 8 || !hv_core_symbol(c->core, "init_cred", &init) ||
	    u64_of(c, 0, off) != init.v || u64_of(c, 0, off - 8) != init.v)
		return false;
	for (unsigned i = 0; i < c->samples->nr; i++)
		nr += u64_of(c, i, off) == u64_of(c, i, off - 8);
	return nr > c->samples->nr / 2;
}

/* Copies of the struct signal_struct of each sample; zero if it cannot be read. */
struct signals {
	uint64_t at[HV_SAMPLES_MAX];
	uint8_t bytes[HV_SAMPLES_MAX][SIGNAL_BYTES];
};

static struct signals *copy_signals(const struct context *c, uint32_t signal)
{
	struct signals *s = hv_alloc(sizeof(*s));

	for (unsigned i = 0; i < c->samples->nr; i++) {
		s->at[i] = u64_of(c, i, signal);
		hv_err_free(hv_read(&c->core->as, hv_gva(s->at[i]), s->bytes[i], SIGNAL_BYTES));
	}
	return s;
}

/* Finds the list of a process's threads: its head is in the struct signal_struct of the task, and
 * the link at OFF in the task leads to the head. */
static bool is_thread_node(const struct context *c, const struct signals *s, uint32_t off,
			   uint32_t *ret_head)
{
	unsigned nr = 0;
	uint32_t head = UINT32_MAX;

	for (unsigned i = 0; i < c->samples->nr; i++) {
		uint64_t link = u64_of(c, i, off), in = link - s->at[i];

		if (in >= SIGNAL_BYTES || in % 8)
			continue;
		if (nr && in != head)
			return false;
		head = (uint32_t)in;
		nr += hv_copy_u64((struct hv_span){s->bytes[i], SIGNAL_BYTES}, head) ==
		      c->samples->list[i].at.v + off;
	}
	*ret_head = head;
	return nr > c->samples->nr / 2;
}

/* If more members lead to init_signals, none is chosen. */
#define SIGNALS_MAX 4u

static void derive_threads(struct hv_deriving *d, const struct context *c)
{
	struct hv_gva init_signals;
	unsigned nr_found = 0, nr_signals = 0;
	uint32_t signal = 0, node = 0, head = 0;

	/* Every kernel with names of variables has the name init_signals. */
	if (!hv_core_symbol(d->core, "init_signals", &init_signals))
		return;
	for (uint32_t s = 0; s + 8 <= c->samples->bytes_per_task; s += 8) {
		struct signals *signals HV_AUTO_FREE = NULL;

		if (u64_of(c, 0, s) != init_signals.v)
			continue;
		if (nr_signals++ == SIGNALS_MAX)
			return;
		signals = copy_signals(c, s);
		for (uint32_t off = 0; off + 16 <= c->samples->bytes_per_task; off += 8) {
			uint32_t at;

			if (!is_thread_node(c, signals, off, &at))
				continue;
			signal = s;
			node = off;
			head = at;
			nr_found++;
		}
	}
	if (nr_found != 1)
		return;
	hv_facts_add(&d->facts, &(struct hv_fact){"task_struct", "signal", signal, 8, NULL,
						  HV_PROVED_BY_MEMORY});
	/* The links lead from the task to its signal_struct and back. */
	hv_facts_add(&d->facts,
		     &(struct hv_fact){"task_struct", "thread_node", node, 16, "list_head",
				       HV_PROVED_BY_MEMORY | HV_PROVED_BY_OTHER_MEMORY});
	hv_facts_add(&d->facts, &(struct hv_fact){"signal_struct", "thread_head", head, 16,
						  "list_head", HV_PROVED_BY_MEMORY});
}

/* The order matters: some refer to those before them. */
static const struct hv_member of_task[] = {
	{"tasks", 16, "list_head", fits_tasks},
	{"comm", 16, NULL, fits_comm,
	 .code = {{"bpf_get_current_comm", HV_CODE_CURRENT, USE(ADDRESS)},
		  {"__set_task_comm", 0, USE(ADDRESS)},
		  {"__get_task_comm", 2, USE(ADDRESS)}}},
	{"pid", 4, NULL, fits_pid,
	 .code = {{"trace_event_raw_event_sched_kthread_stop", 1, USE(READ), 4},
		  {"trace_event_raw_event_sched_process_template", 1, USE(READ), 4},
		  {"bpf_get_current_pid_tgid", HV_CODE_CURRENT, USE(READ), 4}}},
	{"tgid", 4, NULL, fits_pid, .except = "pid",
	 .code = {{"bpf_get_current_pid_tgid", HV_CODE_CURRENT, USE(READ), 4},
		  {"tracing_record_taskinfo", 0, USE(READ), 4},
		  {"trace_event_raw_event_sched_move_task_template", 1, USE(READ), 4}}},
	{"flags", 4, NULL, fits_flags,
	 .code = {{"set_freezable", HV_CODE_CURRENT, USE(WRITE), 4, 0xffff7fff},
		  {"exit_signals", 0, USE(WRITE), 4, 4}}},
	{"stack", 8, NULL, fits_stack,
	 .code = {{"__switch_to", 1, USE(READ), 8},
		  {"put_task_stack", 0, USE(READ), 8},
		  {"set_task_stack_end_magic", 0, USE(READ), 8}}},
	{"mm", 8, NULL, fits_mm, .code = {{"get_task_mm", 0, USE(READ), 8}}},
	/* The offset of thread.sp. x86_64_members.c sets thread_struct.sp to 0, so the sum is
	 * right. */
	{"thread", 8, "thread_struct", fits_saved_sp,
	 .code = {{"__switch_to_asm", 0, USE(WRITE), 8}, {"__switch_to_asm", 1, USE(READ), 8}}},
	{"static_prio", 4, NULL, fits_static_prio,
	 .code = {{"set_user_nice", 0, USE(WRITE), 4}, {"sched_fork", 1, USE(WRITE), 4}}},
	{"prio", 4, NULL, fits_prio, .code = {{"task_prio", 0, USE(READ), 4}}},
	{"rt_priority", 4, NULL, fits_rt_priority, .code = {{"sched_fork", 1, USE(WRITE), 4}}},
	{"policy", 4, NULL, fits_policy,
	 .code = {{"get_rr_interval_rt", 1, USE(READ), 4, SCHED_RR},
		  {"sched_fork", 1, USE(WRITE), 4}}},
	{"cred", 8, NULL, fits_cred,
	 .code = {{"bpf_get_current_uid_gid", HV_CODE_CURRENT, USE(READ), 8},
		  {"__x64_sys_getuid", HV_CODE_CURRENT, USE(READ), 8},
		  {"sys_getuid", HV_CODE_CURRENT, USE(READ), 8}}}, /* before 4.17 */
	/* Since 5.11 (af449901b84c), in kernels for several CPUs. */
	{"migration_disabled", 2, NULL, fits_migration,
	 .code = {{"tracing_gen_ctx_irq_test", HV_CODE_CURRENT, USE(READ), 2},
		  {"migrate_disable", HV_CODE_CURRENT, USE(WRITE), 2}}},
	/* The offset of se.group_node, the link in a CPU's list of tasks. sched_entity.group_node
	 * is set to 0. */
	{"se", 16, "sched_entity", NULL,
	 .code = {{"set_next_task_fair", 1, USE(ADDRESS)},
		  {"set_next_task_fair", 1, USE(WRITE), 8}}},
};

static const struct hv_member of_thread_info[] = {
	{"flags", 8, NULL, NULL,
	 .code = {{"tracing_gen_ctx_irq_test", HV_CODE_CURRENT, USE(READ), 8},
		  {"tracing_generic_entry_update", HV_CODE_CURRENT, USE(READ), 8},
		  {"signal_wake_up_state", 0, USE(WRITE)},
		  {"recalc_sigpending", HV_CODE_CURRENT, USE(WRITE)}}},
};

static const struct hv_member of_queue[] = {
	{"cfs_tasks", 16, "list_head", NULL,
	 .code = {{"set_next_task_fair", 0, USE(ADDRESS)},
		  {"set_next_task_fair", 0, USE(WRITE), 8},
		  {"pick_next_task_fair", 0, USE(ADDRESS)},
		  {"pick_next_task_fair", 0, USE(WRITE), 8}}},
};

static const struct hv_member of_cred[] = {
	{"uid", 4, NULL, NULL,
	 .code = {{"__x64_sys_getuid", HV_CODE_CURRENT, USE(READ), 4, .through = "cred"},
		  {"sys_getuid", HV_CODE_CURRENT, USE(READ), 4, .through = "cred"},
		  {"bpf_get_current_uid_gid", HV_CODE_CURRENT, USE(READ), 4, .through = "cred"},
		  {"__x64_sys_getresuid", HV_CODE_CURRENT, USE(READ), 4, .through = "cred"},
		  {"SyS_getresuid", HV_CODE_CURRENT, USE(READ), 4, .through = "cred"}}},
};

/* Offsets at which a function moves an entry of a list to another list: it reads and writes both
 * links, and computes the entry's address. */
#define MOVES_MAX  64u
#define LINK_READ  1u
#define LINK_WRITE 2u
#define LINK_AT	   4u

struct moves {
	struct {
		uint32_t off;
		unsigned how;
	} list[MOVES_MAX];
	unsigned nr;
};

static void note_link(void *ctx, const struct hv_member_use *use)
{
	struct moves *m = ctx;
	unsigned i = 0, how = use->kind == HV_MEMBER_ADDRESS ? LINK_AT
			      : use->kind == HV_MEMBER_READ  ? LINK_READ
							     : LINK_WRITE;

	if (use->from == HV_ROOT_ADDRESS || use->off > HV_CODE_OFF_MAX ||
	    (how != LINK_AT && use->len_bytes != 8))
		return;
	while (i < m->nr && m->list[i].off != use->off)
		i++;
	if (i == MOVES_MAX)
		return;
	m->list[i].off = use->off;
	m->list[i].how |= how;
	m->nr += i == m->nr;
}

static unsigned how_used(const struct moves *m, uint32_t off)
{
	for (unsigned i = 0; i < m->nr; i++)
		if (m->list[i].off == off)
			return m->list[i].how;
	return 0;
}

static bool is_moved(const struct moves *m, uint32_t off)
{
	const unsigned both = LINK_READ | LINK_WRITE;

	return (how_used(m, off) & (both | LINK_AT)) == (both | LINK_AT) &&
	       (how_used(m, off + 8) & both) == both;
}

/* Tasks that wait are in no queue, so the links at OFF lead to themselves. */
static bool is_empty_list(const struct context *c, uint32_t off)
{
	unsigned nr = 0;

	for (unsigned i = 0; off + 16 <= c->samples->bytes_per_task && i < c->samples->nr; i++) {
		const uint64_t at = c->samples->list[i].at.v + off;

		nr += u64_of(c, i, off) == at && u64_of(c, i, off + 8) == at;
	}
	return nr > c->samples->nr / 2;
}

/* A new entry of a list. */
static bool is_added(const struct moves *m, uint32_t off)
{
	return how_used(m, off) == (LINK_AT | LINK_WRITE) && how_used(m, off + 8) == LINK_WRITE;
}

/* The head of a list that gets an entry at its start. */
static bool is_head(const struct moves *m, uint32_t off)
{
	return how_used(m, off) == (LINK_AT | LINK_READ | LINK_WRITE);
}

/* In kernels without set_next_task_fair(), pick_next_task_fair() moves the task to the start of its
 * CPU's list; in 4.14 and earlier account_entity_enqueue() adds it there. The code has the offset
 * from the start of the task or of its sched_entity. */
static void derive_group_node(struct hv_deriving *d, const struct context *c, const char *function,
			      bool (*is_link)(const struct moves *m, uint32_t off))
{
	static const struct hv_code_rule entity = {"enqueue_task_fair", 1, USE(ADDRESS)};
	struct hv_code_offs starts;
	struct moves m = {.nr = 0};
	uint32_t found = 0;

	hv_code_list(d->core, function, note_link, &m);
	hv_code_offs_find(d->core, &d->current, &entity, 0, &starts);
	for (unsigned i = 0; i < m.nr; i++)
		for (unsigned s = 0; is_link(&m, m.list[i].off) && s <= starts.nr; s++) {
			uint32_t off = m.list[i].off + (s ? starts.list[s - 1] : 0);

			if (off == found || !is_empty_list(c, off))
				continue;
			if (found)
				return;
			found = off;
		}
	if (found)
		hv_facts_add(&d->facts,
			     &(struct hv_fact){"task_struct", "se", found, 16, "sched_entity",
					       HV_PROVED_BY_CODE | HV_PROVED_BY_MEMORY});
}

/* In 4.14 and earlier account_entity_enqueue() adds a task to the start of the list. */
static void derive_queue(struct hv_deriving *d)
{
	struct moves m = {.nr = 0};
	uint32_t found = 0;

	hv_code_list(d->core, "account_entity_enqueue", note_link, &m);
	for (unsigned i = 0; i < m.nr; i++) {
		if (!is_head(&m, m.list[i].off))
			continue;
		if (found)
			return;
		found = m.list[i].off;
	}
	if (found)
		hv_facts_add(&d->facts, &(struct hv_fact){"rq", "cfs_tasks", found, 16, "list_head",
							  HV_PROVED_BY_CODE});
}

/* The kernel's tracer reads the thread flags once for need_resched, and since 6.13 (26baa1f1c4bd) a
 * second time for the lazy flag. */
static void derive_lazy(struct hv_deriving *d)
{
	static const struct hv_code_rule reads = {"tracing_gen_ctx_irq_test", HV_CODE_CURRENT,
						  USE(READ), 8};
	struct hv_code_offs offs;

	hv_code_offs_find(d->core, &d->current, &reads, 0, &offs);
	if ((offs.nr_plain ? offs.nr_plain : offs.nr_masked) > 1)
		hv_facts_add_number(&d->facts, "TRACE_FLAG_NEED_RESCHED_LAZY", 2);
}

void hv_task_members_derive(struct hv_deriving *d)
{
	const struct context context = {d->core, d->samples, &d->facts, hv_stack_bytes(d->core)},
			     *c = &context;
	const struct hv_fact *flags, *policy;

	hv_members_derive(d, "task_struct", of_task, HV_ARRAY_LEN(of_task), c,
			  c->samples->bytes_per_task);
	/* fits_policy() found that exactly the tasks with a real-time policy have an rt_priority,
	 * which proves rt_priority, too. */
	policy = hv_facts_find(&d->facts, "task_struct", "policy");
	if (policy && policy->proofs & HV_PROVED_BY_CODE)
		hv_facts_add_proof(&d->facts, "task_struct", "rt_priority",
				   HV_PROVED_BY_OTHER_MEMORY);
	hv_members_derive(d, "thread_info", of_thread_info, HV_ARRAY_LEN(of_thread_info), c, 0);
	hv_members_derive(d, "rq", of_queue, HV_ARRAY_LEN(of_queue), c, 0);
	if (!hv_facts_find(&d->facts, "task_struct", "se"))
		derive_group_node(d, c, "pick_next_task_fair", is_moved);
	if (!hv_facts_find(&d->facts, "task_struct", "se"))
		derive_group_node(d, c, "account_entity_enqueue", is_added);
	if (!hv_facts_find(&d->facts, "rq", "cfs_tasks"))
		derive_queue(d);
	if (hv_facts_find(&d->facts, "task_struct", "se"))
		hv_facts_add(&d->facts, &(struct hv_fact){"sched_entity", "group_node", 0, 16,
							  "list_head", HV_PROVED_BY_CODE});
	hv_members_derive(d, "cred", of_cred, HV_ARRAY_LEN(of_cred), c, 0);
	derive_threads(d, c);
	derive_lazy(d);
	/* Functions read thread_info.flags at offset 0 of the task, so the task begins with
	 * thread_info. */
	flags = hv_facts_find(&d->facts, "thread_info", "flags");
	if (flags && !flags->off)
		hv_facts_add(&d->facts, &(struct hv_fact){"task_struct", "thread_info", 0, 8,
							  "thread_info", flags->proofs});
}
