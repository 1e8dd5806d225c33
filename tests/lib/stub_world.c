#include "tests/lib/stub_world.h"

#include <assert.h>
#include <string.h>

#define NR_PIDS 1024

static const struct world_task cat = {.flags = 0x18008,
				      .lazy_count = 0x12,
				      .pid = 71,
				      .tgid = 70,
				      .migration_disabled = 0x0102,
				      .comm = "cat"};
static const struct world_task dd = {.flags = 0xfff3,
				     .pid = 40000,
				     .tgid = 0x2aaaaa,
				     .comm = "d\xc3\xa9"
					     "d-co\xff-last"};

void world_set_current(const struct world *w, const struct world_task *task)
{
	world_cpu(w)->current = world_gva(w, (uint64_t)((const uint8_t *)task - w->host));
}

static void plain(const struct world *w)
{
	(void)w;
}

static void other_task(const struct world *w)
{
	world_states(w)[0].last_pid = 0;
}

static void no_migration_counts(const struct world *w)
{
	world_params(w)->task_migrate_off = world_params(w)->task_pid_off;
	world_params(w)->migrate_mask = 0;
}

static void lazy_counts(const struct world *w)
{
	world_params(w)->task_lazy_off = offsetof(struct world_task, lazy_count);
	world_params(w)->lazy_mask = 0x10000;
}

static void thunk(const struct world *w)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;

	for (size_t i = 0; i < stubs->nr_returns; i++) {
		uint64_t off = WORLD_CODE_OFF + stubs->return_offs[i];
		bool placed = hv_arch_x86_64.place_return(w->host + off, world_gva(w, off),
							  world_gva(w, WORLD_THUNK_OFF));

		assert(placed);
		(void)placed;
	}
}

static void pid_hit(const struct world *w)
{
	world_control(w)->mode = HV_MODE_PID_FILTER;
	w->host[WORLD_PIDS_OFF + 71 / 8] = 1 << 71 % 8;
}

static void pid_hit_other_task(const struct world *w)
{
	pid_hit(w);
	other_task(w);
}

static void pid_miss(const struct world *w)
{
	world_control(w)->mode = HV_MODE_PID_FILTER;
	memset(w->host + WORLD_PIDS_OFF, 0xff, NR_PIDS / 8);
	w->host[WORLD_PIDS_OFF + 71 / 8] = (uint8_t) ~(1 << 71 % 8);
}

static void pid_beyond(const struct world *w)
{
	pid_hit(w);
	memset(w->host + WORLD_PIDS_OFF, 0xff, 0x1000);
	world_set_current(w, &world_cpu(w)->dd);
}

static void off(const struct world *w)
{
	world_control(w)->mode = HV_MODE_OFF;
}

static void off_with_filter(const struct world *w)
{
	pid_hit(w);
	world_control(w)->mode |= HV_MODE_OFF;
}

static void cpus_chosen(const struct world *w)
{
	world_control(w)->mode = HV_MODE_CPUS;
}

static void cpu_muted(const struct world *w)
{
	world_control(w)->mode = HV_MODE_CPUS;
	world_states(w)[0].muted = 1;
}

static void cpus_and_pid(const struct world *w)
{
	pid_hit(w);
	world_control(w)->mode |= HV_MODE_CPUS;
}

static void cpus_not_pid(const struct world *w)
{
	pid_miss(w);
	world_control(w)->mode |= HV_MODE_CPUS;
}

void world_call_action(const struct world *w, uint32_t does)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;
	uint64_t entry = stubs->actions_off + (HV_NR_SLOTS - 1) * stubs->action_len_bytes;
	struct hv_slot *slots = (struct hv_slot *)(w->host + WORLD_STUBS_OFF + HV_SLOTS_OFF);
	bool reaches = hv_arch_x86_64.encode_call(world_gva(w, WORLD_TRACED_OFF),
						  world_gva(w, WORLD_CODE_OFF + entry),
						  w->host + WORLD_TRACED_OFF);

	assert(reaches);
	(void)reaches;
	slots[HV_NR_SLOTS - 1] = (struct hv_slot){
		.does = does,
		.goes_on = (uint32_t)(HV_STUBS_CODE_OFF + stubs->function_off),
	};
}

/* The site calls an entry that has nothing to change and goes on to the stub. */
static void action(const struct world *w)
{
	world_call_action(w, HV_SLOT_ON | HV_SLOT_ON_COUNTED | HV_SLOT_OFF_COUNTED);
}

static void cpu_beyond(const struct world *w)
{
	world_cpu(w)->cpu_number = WORLD_NR_CPUS;
}

static void second_cpu(const struct world *w)
{
	world_cpu(w)->cpu_number = 1;
}

const struct world_case world_cases[] = {
	{"record", 0, 1, plain},
	{"record, after another task's", 1, 1, other_task},
	{"record, second vCPU's first", 1, 1, second_cpu},
	{"record, kernel without migration counts", 0, 1, no_migration_counts},
	{"record, return through a thunk", 0, 1, thunk},
	{"record, pid filter", 0, 1, pid_hit},
	{"record, pid filter, after another task's", 1, 1, pid_hit_other_task},
	{"pid not in the filter", 0, 0, pid_miss},
	{"pid beyond the filter", 0, 0, pid_beyond},
	{"tracing off", 0, 0, off},
	{"tracing off, pid filter", 0, 0, off_with_filter},
	{"vCPU without a ring", 0, 0, cpu_beyond},
	{"record, of a function with a command", 0, 1, action},
	{"record, vCPU not muted", 0, 1, cpus_chosen},
	{"record, vCPU chosen and pid filter", 0, 1, cpus_and_pid},
	{"vCPU muted", 0, 0, cpu_muted},
	{"vCPU chosen, pid not in the filter", 0, 0, cpus_not_pid},
	{"record, kernel with lazy preemption counts", 0, 1, lazy_counts},
};
const unsigned world_nr_cases = sizeof(world_cases) / sizeof(*world_cases);

static size_t stub_off(enum world_stub stub)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;

	static const struct {
		enum hv_call_role role;
		enum hv_call_trace trace;
		unsigned profiled;
	} entries[] = {
		[WORLD_GRAPH] = {HV_ROLE_NONE, HV_TRACE_GRAPH, 0},
		[WORLD_GRAPH_ROOT] = {HV_ROLE_NONE, HV_TRACE_GRAPH_ROOT, 0},
		[WORLD_GRAPH_NOTRACE] = {HV_ROLE_NONE, HV_TRACE_GRAPH_NOTRACE, 0},
		[WORLD_NEW_TASK] = {HV_ROLE_NEW_TASK, HV_TRACE_GRAPH, 0},
		[WORLD_LEAVES] = {HV_ROLE_LEAVES, HV_TRACE_GRAPH, 0},
		[WORLD_ARRIVES] = {HV_ROLE_ARRIVES, HV_TRACE_GRAPH, 0},
		[WORLD_PROFILE] = {HV_ROLE_NONE, HV_TRACE_NOTHING, 1},
		[WORLD_PROFILE_FUNCTION] = {HV_ROLE_NONE, HV_TRACE_FUNCTION, 1},
		[WORLD_PROFILE_GRAPH] = {HV_ROLE_NONE, HV_TRACE_GRAPH, 1},
	};

	if (stub == WORLD_FUNCTION)
		return stubs->function_off;
	if (stub == WORLD_FUNCTION_STACK)
		return stubs->function_stack_off;
	return stubs->calls_off + stubs->call_len_bytes * hv_call_entry(entries[stub].role,
									entries[stub].trace,
									entries[stub].profiled);
}

static void make_site(const struct world *w, uint64_t off, enum world_stub kind)
{
	struct hv_gva stub = world_gva(w, WORLD_CODE_OFF + stub_off(kind));
	bool reaches = hv_arch_x86_64.encode_call(world_gva(w, off), stub, w->host + off);

	assert(reaches);
	(void)reaches;
	w->host[off + hv_arch_x86_64.site_len_bytes] = 0xc3;
}

static void make_cpu(const struct world *w)
{
	struct world_cpu *cpu = world_cpu(w);

	cpu->preempt_count = 0x80000102;
	cpu->cat = cat;
	cpu->dd = dd;
	cpu->cat.stack = cpu->dd.stack = w->task_stack.v;
	world_set_current(w, &cpu->cat);
}

void world_prepare(const struct world *w, const struct world_case *c)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;

	assert(WORLD_CODE_OFF + stubs->len_bytes <= WORLD_TEXT_OFF);
	memset(w->host, 0, WORLD_RINGS_OFF);
	memset(w->host + WORLD_CODE_OFF, 0xcc, WORLD_PIDS_OFF - WORLD_CODE_OFF);
	memcpy(w->host + WORLD_CODE_OFF, stubs->code, stubs->len_bytes);
	make_site(w, WORLD_TRACED_OFF, c->stub);
	/* No interrupt is in the middle of the scheduler. */
	make_site(w, WORLD_TRACED_OTHER_OFF,
		  c->stub >= WORLD_NEW_TASK && c->stub <= WORLD_ARRIVES ? WORLD_GRAPH : c->stub);
	w->host[WORLD_THUNK_OFF] = 0xc3;
	make_cpu(w);
	world_states(w)[0].last_pid = cat.pid;
	*world_params(w) = (struct hv_params){
		.nr_cpus = WORLD_NR_CPUS,
		.cpu_number_percpu = offsetof(struct world_cpu, cpu_number),
		.preempt_count_percpu = offsetof(struct world_cpu, preempt_count),
		.current_percpu = offsetof(struct world_cpu, current),
		.task_pid_off = offsetof(struct world_task, pid),
		.task_tgid_off = offsetof(struct world_task, tgid),
		.task_comm_off = offsetof(struct world_task, comm),
		.task_flags_off = offsetof(struct world_task, flags),
		.task_migrate_off = offsetof(struct world_task, migration_disabled),
		.migrate_mask = 0xff,
		.states_gva = world_gva(w, WORLD_STATES_OFF).v,
		.rings_gva = world_gva(w, WORLD_RINGS_OFF).v,
		.slot_mask = w->nr_slots - 1,
		.ring_shift = (uint32_t)__builtin_ctzll(w->nr_slots * sizeof(struct hv_record)),
		.lap_shift = (uint32_t)__builtin_ctzll(w->nr_slots),
		.pids_gva = world_gva(w, WORLD_PIDS_OFF).v,
		.nr_pids = NR_PIDS,
		.control_gva = world_gva(w, WORLD_CONTROL_OFF).v,
		.graph_flags = HV_GRAPH_RETURNS,
		.max_depth = UINT32_MAX,
		.stacks_gva = world_gva(w, WORLD_STACKS_OFF).v,
		.nr_homes = WORLD_NR_HOMES,
		.stack_bytes = w->stack_bytes,
		.task_stack_off = offsetof(struct world_task, stack),
		.counts_gva = world_gva(w, WORLD_COUNTS_OFF).v,
		.nr_counts = WORLD_NR_COUNTS,
		.irq_stack_percpu = offsetof(struct world_cpu, irq_stack),
	};
	c->prepare(w);
}

void world_set_up(const struct world *w, const struct world_case *c)
{
	memset(w->host + WORLD_RINGS_OFF, 0, WORLD_LEN(w->nr_slots) - WORLD_RINGS_OFF);
	world_prepare(w, c);
}

bool world_records(const struct world *w, uint32_t pid, uint32_t cpu)
{
	const struct hv_params *p = world_params(w);
	uint32_t mode = world_control(w)->mode;
	bool chosen = pid < p->nr_pids && w->host[WORLD_PIDS_OFF + pid / 8] >> pid % 8 & 1;

	if (mode & HV_MODE_OFF || cpu >= p->nr_cpus)
		return false;
	if (mode & HV_MODE_CPUS && world_states(w)[cpu].muted)
		return false;
	return !(mode & HV_MODE_PID_FILTER) || chosen;
}

void world_make_tail_call(const struct world *w)
{
	uint64_t at = WORLD_TRACED_OFF + hv_arch_x86_64.site_len_bytes;
	bool reaches = hv_arch_x86_64.encode_call(
		world_gva(w, at), world_gva(w, WORLD_TRACED_OTHER_OFF), w->host + at);

	assert(reaches);
	(void)reaches;
	w->host[at] = 0xe9; /* jmp, of call's length and reach */
}
