#include "tracer/session_graph.h"

#include <string.h>

#include "kernel/fields.h"
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
	err = hv_read_u64(&k->as, at, &patch);
	if (!err && patch)
		err = hv_err_new(EBUSY, "a livepatch is in transition: the guest must be able to"
					" read its stacks");
	return err;
}

/* Exception stacks of every CPU are where they are left out. */
static struct hv_err *check_exception_stacks(const struct hv_kernel *k)
{
	uint64_t percpu, stacks = 0;
	struct hv_gva at;
	struct hv_err *err;

	if (!hv_percpu_find(k, "cea_exception_stacks", NULL, &percpu))
		return hv_err_new(EOPNOTSUPP, "no symbol cea_exception_stacks: stacks of exceptions"
					      " cannot be told");
	err = hv_kernel_percpu(k, percpu, 0, &at);
	if (!err)
		err = hv_read_u64(&k->as, at, &stacks);
	if (!err && !hv_gva_in(hv_gva(stacks), k->as.arch->exception_stacks))
		err = hv_err_new(EOPNOTSUPP,
				 "stacks of exceptions at 0x%llx: not where they are"
				 " left out",
				 (unsigned long long)stacks);
	return err;
}

static struct hv_err *check_kernel(const struct hv_kernel *k)
{
	struct hv_err *err = check_exception_stacks(k);

	if (!err && !k->layout.has_irq_stack)
		err = hv_err_new(EOPNOTSUPP, "no symbol hardirq_stack_ptr: stacks of interrupts"
					     " cannot be told");
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

	if (!err || s->graph_on || hv_returns_open(s))
		return err;
	hv_err_free(err);
	return NULL;
}

void hv_session_put_back(struct hv_session *s)
{
	if (!s->graph_on)
		put_back_if_quiet(s);
}

static void set_flags(struct hv_session *s, unsigned on)
{
	struct hv_params *params = hv_region_params(&s->region);
	uint32_t flags = s->graph.flags | (on ? HV_GRAPH_RETURNS : 0);

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

	if (s->graph_on)
		return NULL;
	err = check_kernel(s->kernel);
	if (err)
		return err;
	put_back_if_quiet(s);
	s->graph_on = true;
	set_flags(s, 1);
	return NULL;
}

void hv_graph_stop(struct hv_session *s)
{
	if (!s->graph_on)
		return;
	s->graph_on = false;
	set_flags(s, 0);
	put_back_if_quiet(s);
}

void hv_session_graph_options(struct hv_session *s, const struct hv_graph_options *options)
{
	s->graph = *options;
	s->graph.flags &= HV_GRAPH_SUBTREE | HV_GRAPH_RETVAL | HV_GRAPH_NO_IRQS;
	set_flags(s, s->graph_on);
}

size_t hv_graph_new_task_site(const struct hv_session *s)
{
	const struct hv_sites *sites = &s->kernel->sites;

	for (size_t i = 0; i < sites->nr; i++)
		if (!sites->list[i].module && !strcmp(sites->list[i].name, "schedule_tail"))
			return i;
	return SIZE_MAX;
}

struct hv_gva hv_graph_stub_at(const struct hv_session *s, unsigned stub, bool is_new_task)
{
	const struct hv_stub_image *stubs = &s->kernel->as.arch->stubs;
	size_t off = stubs->function_off;

	if (stub >= HV_STUB_GRAPH)
		off = is_new_task ? stubs->new_task_graph_offs[stub - HV_STUB_GRAPH]
				  : stubs->graph_offs[stub - HV_STUB_GRAPH];
	else if (stub == HV_STUB_NONE)
		off = stubs->new_task_off;
	else if (stub == HV_STUB_FUNCTION_STACK)
		off = stubs->function_stack_off;
	return hv_gva_add(hv_session_code(s), off);
}

unsigned hv_graph_stub_of(const struct hv_session *s, struct hv_gva at)
{
	for (unsigned stub = HV_STUB_FUNCTION; stub <= HV_STUB_GRAPH_NOTRACE; stub++)
		if (hv_graph_stub_at(s, stub, false).v == at.v ||
		    hv_graph_stub_at(s, stub, true).v == at.v)
			return stub;
	return HV_STUB_NONE;
}
