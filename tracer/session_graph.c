#include "tracer/session_graph.h"

#include <string.h>

#include "tracer/returns.h"

/* While a livepatch is in transition the kernel waits for stacks that it can read to the end; ours
 * end at the handler (kernel/livepatch/transition.c). */
static struct hv_err *check_livepatch(const struct hv_kernel *k)
{
	struct hv_gva at;
	uint64_t patch = 0;
	struct hv_err *err;

	if (!hv_kernel_symbol(k, "klp_transition_patch", &at))
		return NULL;
	err = hv_read_u64(&k->core.as, at, &patch);
	if (!err && patch)
		err = hv_err_new(EBUSY, "a livepatch is in transition: the guest must be able to"
					" read its stacks");
	return err;
}

static struct hv_err *check_kernel(const struct hv_kernel *k)
{
	struct hv_err *err = hv_kernel_need_exception_stacks(k);

	if (!err)
		err = hv_kernel_need_irq_stack(k);
	return err ? err : check_livepatch(k);
}

static struct hv_err *put_back(struct hv_hold *hold, void *ctx)
{
	size_t unused;

	return hv_returns_put_back(ctx, hold, &unused);
}

/* Frames that stay are right: they return through the handler when they do. Their stacks show calls
 * a little too deep until then, and those of tasks that are dead stay taken. */
static void put_back_if_quiet(struct hv_session *s)
{
	if (hv_returns_open(s))
		hv_err_free(hv_patcher_held(s->patcher, put_back, s));
}

struct hv_err *hv_session_livepatch(struct hv_session *s)
{
	struct hv_err *err = check_livepatch(s->kernel);

	if (!err || s->frames_on || hv_returns_open(s))
		return err;
	hv_err_free(err);
	return NULL;
}

void hv_session_put_back(struct hv_session *s)
{
	if (!s->frames_on)
		put_back_if_quiet(s);
}

static void set_flags(struct hv_session *s)
{
	struct hv_params *params = hv_region_params(&s->region);
	uint32_t flags = s->graph.flags;

	if (s->graph_on)
		flags |= HV_GRAPH_RETURNS;
	if (s->profile_on)
		flags |= HV_GRAPH_PROFILE;
	if (s->graph.thresh_ns)
		flags |= HV_GRAPH_NO_ENTRIES;
	__atomic_store_n(&params->max_depth, s->graph.max_depth ? s->graph.max_depth : UINT32_MAX,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&params->threshold_ticks, hv_clock_ticks(s->clock, s->graph.thresh_ns),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&params->graph_flags, flags, __ATOMIC_RELEASE);
}

struct hv_err *hv_graph_start(struct hv_session *s)
{
	struct hv_err *err;

	if (s->frames_on)
		return NULL;
	err = check_kernel(s->kernel);
	if (err)
		return err;
	put_back_if_quiet(s);
	s->frames_on = true;
	return NULL;
}

void hv_graph_stop(struct hv_session *s)
{
	if (!s->frames_on)
		return;
	s->frames_on = false;
	put_back_if_quiet(s);
}

void hv_graph_record(struct hv_session *s, bool on)
{
	s->graph_on = on;
	set_flags(s);
}

void hv_session_set_profile(struct hv_session *s, unsigned on)
{
	s->profile_on = on;
	set_flags(s);
}

/* When a task left while nobody asked is no beginning. */
static void forget_leaving(struct hv_session *s)
{
	for (unsigned i = 0; i < s->plan.nr_stacks; i++)
		__atomic_store_n(&hv_region_stack(&s->region, i)->left_tsc, 0, __ATOMIC_RELAXED);
}

void hv_session_graph_options(struct hv_session *s, const struct hv_graph_options *options)
{
	if (options->no_sleep && !s->graph.no_sleep)
		forget_leaving(s);
	s->graph = *options;
	s->graph.flags &= HV_GRAPH_SUBTREE | HV_GRAPH_RETVAL | HV_GRAPH_NO_IRQS | HV_GRAPH_OWN_TIME;
	set_flags(s);
}

/* __schedule, which cannot be traced, calls rcu_note_context_switch on the stack of the task that
 * leaves, and finish_task_switch on that of the one that comes (kernel/sched/core.c). */
struct hv_err *hv_graph_find_roles(const struct hv_session *s, struct hv_graph_roles *ret)
{
	struct hv_graph_roles roles = {{SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX}};
	const struct hv_sites *sites = &s->kernel->sites;

	roles.sites[HV_ROLE_NEW_TASK] = hv_sites_find(sites, "schedule_tail", true);
	if (s->graph.no_sleep) {
		roles.sites[HV_ROLE_LEAVES] = hv_sites_find(sites, "rcu_note_context_switch", true);
		roles.sites[HV_ROLE_ARRIVES] = hv_sites_find(sites, "finish_task_switch", true);
		if (roles.sites[HV_ROLE_LEAVES] == SIZE_MAX ||
		    roles.sites[HV_ROLE_ARRIVES] == SIZE_MAX)
			return hv_err_new(
				EOPNOTSUPP,
				"sleep-time 0: no site rcu_note_context_switch or"
				" finish_task_switch: the time off the CPU cannot be told");
	}
	*ret = roles;
	return NULL;
}

enum hv_call_role hv_graph_role(const struct hv_graph_roles *roles, size_t site)
{
	for (unsigned role = HV_ROLE_NONE + 1; role < HV_NR_ROLES; role++)
		if (roles->sites[role] == site)
			return role;
	return HV_ROLE_NONE;
}

static const enum hv_call_trace traces[] = {
	[HV_STUB_NONE] = HV_TRACE_NOTHING,
	[HV_STUB_FUNCTION] = HV_TRACE_FUNCTION,
	[HV_STUB_FUNCTION_STACK] = HV_TRACE_FUNCTION, /* has its own */
	[HV_STUB_GRAPH] = HV_TRACE_GRAPH,
	[HV_STUB_GRAPH_ROOT] = HV_TRACE_GRAPH_ROOT,
	[HV_STUB_GRAPH_NOTRACE] = HV_TRACE_GRAPH_NOTRACE,
};

struct hv_gva hv_graph_stub_at(const struct hv_session *s, unsigned stub, enum hv_call_role role)
{
	const struct hv_stub_image *stubs = &s->kernel->core.as.arch->stubs;
	unsigned entry = hv_call_entry(role, traces[stub & ~(unsigned)HV_STUB_PROFILED],
				       stub & HV_STUB_PROFILED);

	if (stub == HV_STUB_FUNCTION_STACK)
		return hv_gva_add(hv_session_code(s), stubs->function_stack_off);
	if (stub == HV_STUB_FUNCTION && role == HV_ROLE_NONE)
		return hv_gva_add(hv_session_code(s), stubs->function_off);
	return hv_gva_add(hv_session_code(s), stubs->calls_off + entry * stubs->call_len_bytes);
}

unsigned hv_graph_stub_of(const struct hv_session *s, struct hv_gva at)
{
	for (unsigned profiled = 0; profiled <= HV_STUB_PROFILED; profiled += HV_STUB_PROFILED)
		for (unsigned stub = HV_STUB_NONE; stub < HV_ARRAY_LEN(traces); stub++)
			for (unsigned role = HV_ROLE_NONE; role < HV_NR_ROLES; role++)
				if (hv_graph_stub_at(s, stub | profiled, role).v == at.v)
					return stub | profiled;
	return HV_STUB_NONE;
}
