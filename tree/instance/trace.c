/* What instances trace, and what of it the guest has to record: what any of them wants. */
#include "tree/instance/commands.h"
#include "tree/instance/share.h"

/* What an instance traces, or shall trace. */
struct wish {
	enum hv_tracer tracer;
	const struct hv_filter *lists;
	const struct hv_filter *graph_lists; /* set_graph_* are the top's, for all */
	bool stacks;
};

static struct wish wish_of(const struct hv_instance *in, enum hv_tracer tracer,
			   const struct hv_filter *lists)
{
	const struct hv_instance *top = &in->tree->top;

	return (struct wish){tracer, lists, in == top ? lists : top->lists,
			     hv_options_on(&in->options, HV_OPT_FUNC_STACK_TRACE)};
}

static bool wants_site(const struct wish *w, struct hv_gva ip)
{
	const struct hv_filter *filter = &w->lists[HV_LIST_FILTER];

	return w->tracer != HV_TRACER_NOP &&
	       (hv_filter_is_all(filter) || hv_filter_has(filter, ip)) &&
	       !hv_filter_has(&w->lists[HV_LIST_NOTRACE], ip);
}

/* What SITE is to call. Of set_graph_function and set_graph_notrace, the latter has the last word
 * (trace_graph_entry). */
static uint8_t stub_of(const struct wish *w, const struct hv_site *site)
{
	if (site->invalid || !wants_site(w, site->ip))
		return HV_STUB_NONE;
	if (w->tracer == HV_TRACER_FUNCTION)
		return w->stacks ? HV_STUB_FUNCTION_STACK : HV_STUB_FUNCTION;
	if (hv_filter_has(&w->graph_lists[HV_LIST_GRAPH_NOTRACE], site->ip))
		return HV_STUB_GRAPH_NOTRACE;
	if (hv_filter_has(&w->graph_lists[HV_LIST_GRAPH], site->ip))
		return HV_STUB_GRAPH_ROOT;
	return HV_STUB_GRAPH;
}

/* The one that records more. */
static void want(uint8_t *wanted, uint8_t stub)
{
	uint8_t profiled = *wanted & HV_STUB_PROFILED;

	if (stub > (*wanted & ~HV_STUB_PROFILED))
		*wanted = stub | profiled;
}

/* The profile counts what the top's filter lets through, whatever is traced (fprofiler_ops). */
static uint8_t profile_of(const struct hv_tree *t, const struct hv_filter *lists,
			  const struct hv_site *site)
{
	const struct wish w = {.tracer = HV_TRACER_FUNCTION, .lists = lists};

	return t->profiles && !site->invalid && wants_site(&w, site->ip) ? HV_STUB_PROFILED : 0;
}

static bool wants_task(const struct hv_instance *in, uint32_t pid)
{
	const struct hv_pidlist *only = &in->pids[HV_LIST_FILTER];

	return (!only->nr || hv_pidlist_has(only, pid)) &&
	       !hv_pidlist_has(&in->pids[HV_LIST_NOTRACE], pid);
}

bool hv_instance_wants(const struct hv_instance *in, const struct hv_event *e)
{
	const struct wish now = wish_of(in, in->tracer, in->lists);

	if (e->kind == HV_EVENT_STACK && !now.stacks)
		return false;
	return in->recording && !in->nr_pauses && !in->muted[e->cpu] && wants_site(&now, e->ip) &&
	       wants_task(in, e->pid);
}

/* The one that traces, if it is one alone: IN counts as if it traced TRACER. When none does, the
 * top. */
static struct hv_instance *single(struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_instance *found = NULL;

	for (struct hv_instance *i = &in->tree->top; i; i = i->next) {
		if ((i == in ? tracer : i->tracer) == HV_TRACER_NOP)
			continue;
		if (found)
			return NULL;
		found = i;
	}
	return found ? found : &in->tree->top;
}

static bool follows_forks(const struct hv_instance *in, const struct hv_pidlist *pids)
{
	return hv_options_on(&in->options, HV_OPT_FUNCTION_FORK) &&
	       (pids[HV_LIST_FILTER].nr || pids[HV_LIST_NOTRACE].nr);
}

/* Forks are seen in the guest alone, which has one list of pids. WHOSE: NULL, several trace. */
static struct hv_err *set_forks(struct hv_instance *in, const struct hv_pidlist *pids,
				const struct hv_instance *whose, const struct hv_pidlist *lists)
{
	enum hv_forks how = HV_FORKS_NOT;
	struct hv_err *err;

	for (const struct hv_instance *i = &in->tree->top; i && !whose; i = i->next)
		if (follows_forks(i, i == in ? pids : i->pids))
			return hv_err_new(EBUSY,
					  "several instances trace, and %s%s has the"
					  " option function-fork",
					  i->name ? "instances/" : "",
					  i->name ? i->name : "the top");
	if (whose && follows_forks(whose, lists))
		how = lists[HV_LIST_FILTER].nr ? HV_FORKS_OF_ONLY : HV_FORKS_OF_OTHERS;
	err = hv_session_follow_forks(in->tree->session, how);
	if (!err)
		in->tree->forks = how;
	return err;
}

/* The guest leaves out tasks and vCPUs for the one that traces; for several it records all, and the
 * drain leaves out. PIDS: those of IN. */
static struct hv_err *set_pids(struct hv_instance *in, enum hv_tracer tracer,
			       const struct hv_pidlist *pids)
{
	struct hv_instance *whose = single(in, tracer);
	const struct hv_pidlist *lists = whose == in ? pids : whose ? whose->pids : NULL;
	const struct hv_pidlist none = {0};
	const struct hv_pidlist *only = lists ? &lists[HV_LIST_FILTER] : &none;
	const struct hv_pidlist *not = lists ? &lists[HV_LIST_NOTRACE] : &none;
	struct hv_err *err = set_forks(in, pids, whose, lists);

	if (err)
		return err;
	hv_session_mute_cpus(in->tree->session, whose ? whose->muted : NULL);
	return hv_session_filter_pids(in->tree->session, only->pids, only->nr, not ->pids,
				      not ->nr);
}

static struct hv_err *set_sites(struct hv_instance *in, enum hv_tracer tracer,
				const struct hv_filter *lists)
{
	const struct hv_tree *t = in->tree;
	const struct hv_sites *sites = &hv_session_kernel(t->session)->sites;
	HV_AUTO_FREE uint8_t *wanted = hv_alloc(sites->nr);
	struct hv_err *err;

	for (size_t n = 0; n < sites->nr; n++)
		wanted[n] = profile_of(t, in == &t->top ? lists : t->top.lists, &sites->list[n]);
	for (const struct hv_instance *i = &t->top; i; i = i->next) {
		const struct wish w =
			wish_of(i, i == in ? tracer : i->tracer, i == in ? lists : i->lists);

		for (size_t n = 0; n < sites->nr; n++)
			want(&wanted[n], stub_of(&w, &sites->list[n]));
	}
	hv_instance_graph(in, lists);
	err = hv_session_trace_sites(in->tree->session, wanted);
	if (err)
		hv_instance_graph(in, in->lists);
	return err;
}

/* A call's return is kept for one tracer, and a call has one stub: a graph is traced alone. */
static struct hv_err *check_graph(const struct hv_instance *in, enum hv_tracer tracer)
{
	for (const struct hv_instance *i = &in->tree->top; i; i = i->next) {
		if (i == in || tracer == HV_TRACER_NOP || i->tracer == HV_TRACER_NOP)
			continue;
		if (tracer == HV_TRACER_FUNCTION_GRAPH || i->tracer == HV_TRACER_FUNCTION_GRAPH)
			return hv_err_new(EBUSY, "function_graph is traced alone: %s%s has %s",
					  i->name ? "instances/" : "",
					  i->name ? i->name : "the top", hv_tracer_name(i->tracer));
	}
	return NULL;
}

static struct hv_err *begin_sharing(struct hv_instance *in)
{
	struct hv_tree *t = in->tree;

	t->top.recording = hv_instance_tracing_on(&t->top);
	return hv_instance_need_host(&t->top);
}

/* Something is recorded while anybody that traces records; IN counts as if it traced TRACER. */
static void set_recording(const struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_tree *t = in->tree;
	unsigned on = 0;

	for (const struct hv_instance *i = &t->top; i; i = i->next) {
		bool traces = i == &t->top || (i == in ? tracer : i->tracer) != HV_TRACER_NOP;

		on |= !i->nr_pauses && ((traces && i->recording) || hv_commands_need_recording(i));
	}
	hv_session_set_recording(t->session, on);
}

struct hv_err *hv_instance_trace(struct hv_instance *in, enum hv_tracer tracer,
				 const struct hv_filter *lists)
{
	struct hv_tree *t = in->tree;
	enum hv_forks forks = t->forks;
	struct hv_err *err = check_graph(in, tracer);

	hv_instance_learn_pids(in);
	if (!err && in != &t->top && tracer != HV_TRACER_NOP)
		err = begin_sharing(in);
	if (err)
		return err;
	hv_tree_drain(t);
	err = hv_commands_publish(in, tracer);
	if (!err && hv_share_is(t) && tracer != HV_TRACER_NOP)
		err = set_pids(in, tracer, in->pids);
	if (!err)
		err = set_sites(in, tracer, lists);
	if (!err && hv_share_is(t) && tracer == HV_TRACER_NOP)
		err = set_pids(in, tracer, in->pids);
	if (!err && tracer == HV_TRACER_NOP && t->forks != forks)
		err = set_sites(in, tracer, lists);
	/* The guest is as before: what it was told is taken back. */
	if (err)
		hv_err_free(hv_commands_publish(in, in->tracer));
	else if (hv_share_is(t))
		set_recording(in, tracer);
	return err;
}

bool hv_instance_is_live(const struct hv_instance *in)
{
	return in->tracer != HV_TRACER_NOP || (in->tree->profiles && in == &in->tree->top);
}

struct hv_err *hv_instance_filter_pids(struct hv_instance *in, const struct hv_pidlist *pids)
{
	enum hv_forks forks = in->tree->forks;
	struct hv_err *err;

	hv_tree_drain(in->tree);
	err = set_pids(in, in->tracer, pids);
	if (err || in->tree->forks == forks)
		return err;
	err = set_sites(in, in->tracer, in->lists);
	if (err)
		hv_err_free(set_pids(in, in->tracer, in->pids));
	return err;
}

struct hv_err *hv_instance_follow_forks(struct hv_instance *in, bool on)
{
	struct hv_err *err;

	hv_instance_learn_pids(in);
	hv_options_set(&in->options, HV_OPT_FUNCTION_FORK, on);
	err = hv_instance_filter_pids(in, in->pids);
	if (err)
		hv_options_set(&in->options, HV_OPT_FUNCTION_FORK, !on);
	return err;
}

/* When all tasks of a list have ended, the list stays: an empty one would be all tasks. */
void hv_instance_learn_pids(struct hv_instance *in)
{
	enum hv_forks forks = in->tree->forks;
	bool only = forks == HV_FORKS_OF_ONLY;
	struct hv_pidlist *list = &in->pids[only ? HV_LIST_FILTER : HV_LIST_NOTRACE];
	struct hv_pidlist now;

	if (forks == HV_FORKS_NOT || single(in, in->tracer) != in)
		return;
	now.nr = hv_session_pids(in->tree->session, only ? HV_PIDS_RECORDED : HV_PIDS_NOT_RECORDED,
				 &now.pids);
	if (!now.nr)
		return;
	hv_pidlist_deinit(list);
	*list = now;
}

void hv_instance_mute_cpus(struct hv_instance *in)
{
	const struct hv_instance *whose;

	hv_tree_drain(in->tree);
	whose = single(in, in->tracer);
	hv_session_mute_cpus(in->tree->session, whose ? whose->muted : NULL);
}

void hv_instance_set_recording(struct hv_instance *in, unsigned on)
{
	hv_tree_drain(in->tree);
	hv_instance_switch_recording(in, on);
}

void hv_instance_switch_recording(struct hv_instance *in, unsigned on)
{
	in->recording = on;
	set_recording(in, in->tracer);
}

void hv_instance_pause(struct hv_instance *in)
{
	hv_tree_drain(in->tree);
	in->recording = hv_instance_tracing_on(in);
	in->nr_pauses++;
	set_recording(in, in->tracer);
}

void hv_instance_go_on(struct hv_instance *in)
{
	hv_tree_drain(in->tree);
	in->nr_pauses--;
	set_recording(in, in->tracer);
}

/* The guest may switch recording by itself for the top, as long as no other one traces. */
static bool follows_guest(const struct hv_instance *in)
{
	if (in != &in->tree->top || in->nr_pauses || in->tree->host_obeys)
		return false;
	for (const struct hv_instance *i = in->next; i; i = i->next)
		if (i->tracer != HV_TRACER_NOP)
			return false;
	return true;
}

void hv_instance_graph(struct hv_instance *in, const struct hv_filter *lists)
{
	struct hv_tree *t = in->tree;
	struct hv_graph_options graph = {
		.max_depth = t->max_graph_depth,
		.thresh_ns = t->thresh_ns,
	};

	for (struct hv_instance *i = &t->top; i; i = i->next)
		if (i != in && i->tracer == HV_TRACER_FUNCTION_GRAPH) {
			in = i;
			lists = i->lists;
		}
	if ((in == &t->top ? lists : t->top.lists)[HV_LIST_GRAPH].nr)
		graph.flags |= HV_GRAPH_SUBTREE;
	if (hv_options_on(&in->options, HV_OPT_FUNCGRAPH_RETVAL))
		graph.flags |= HV_GRAPH_RETVAL;
	if (!hv_options_on(&in->options, HV_OPT_FUNCGRAPH_IRQS))
		graph.flags |= HV_GRAPH_NO_IRQS;
	if (!hv_options_on(&t->top.options, HV_OPT_GRAPH_TIME))
		graph.flags |= HV_GRAPH_OWN_TIME;
	graph.no_sleep = !hv_options_on(&(t->profiles ? &t->top : in)->options, HV_OPT_SLEEP_TIME);
	hv_session_graph_options(t->session, &graph);
}

bool hv_instance_records(const struct hv_instance *in)
{
	return !in->nr_pauses && hv_instance_tracing_on(in);
}

unsigned hv_instance_tracing_on(const struct hv_instance *in)
{
	return follows_guest(in) ? hv_session_recording(in->tree->session) : in->recording;
}
