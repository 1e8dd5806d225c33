#include "tree/instance/sites.h"

#include "kernel/kernel.h"
#include "tracer/graph_tracer.h"
#include "tracer/site_stubs.h"
#include "tracer/stubs.h"

/* What SITE is to call for IN. set_graph_* are the top's, for all instances. Of set_graph_function
 * and set_graph_notrace, the latter has the last word (trace_graph_entry). */
static uint8_t stub_of(const struct hv_instance *in, const struct hv_site *site)
{
	const struct hv_filter *graph_lists = in->all->top.selection.lists;
	bool stacks = hv_options_on(&in->options, HV_OPT_FUNC_STACK_TRACE);
	enum hv_tracer tracer = in->selection.tracer;

	if (tracer == HV_TRACER_NOP || site->invalid ||
	    !hv_selection_has_function(&in->selection, site->ip))
		return HV_STUB_NONE;
	if (tracer == HV_TRACER_FUNCTION)
		return stacks ? HV_STUB_FUNCTION_STACK : HV_STUB_FUNCTION;
	if (hv_filter_has(&graph_lists[HV_LIST_GRAPH_NOTRACE], site->ip))
		return HV_STUB_GRAPH_NOTRACE;
	if (hv_filter_has(&graph_lists[HV_LIST_GRAPH], site->ip))
		return HV_STUB_GRAPH_ROOT;
	return HV_STUB_GRAPH;
}

/* The profile counts what the top's filter lets through, whatever is traced (fprofiler_ops). */
static uint8_t profile_of(const struct hv_instances *all, const struct hv_site *site)
{
	bool counts = all->profiles && !site->invalid &&
		      hv_selection_has_function(&all->top.selection, site->ip);

	return counts ? HV_STUB_PROFILED : 0;
}

/* Of the stubs that instances want, the one that records most. */
static uint8_t wanted_stub(const struct hv_instances *all, const struct hv_site *site)
{
	uint8_t most = HV_STUB_NONE;

	for (const struct hv_instance *in = &all->top; in; in = in->next) {
		uint8_t stub = stub_of(in, site);

		most = stub > most ? stub : most;
	}
	return most | profile_of(all, site);
}

struct hv_err *hv_sites_publish(struct hv_instance *in)
{
	const struct hv_sites *sites = &in->all->session->kernel->sites;
	HV_AUTO_FREE uint8_t *wanted = hv_alloc(sites->nr);

	for (size_t i = 0; i < sites->nr; i++)
		wanted[i] = wanted_stub(in->all, &sites->list[i]);
	hv_sites_publish_graph(in);
	return hv_site_stubs_set(in->all->session->stubs, wanted);
}

static const struct hv_options *graph_options(const struct hv_instance *in)
{
	for (const struct hv_instance *i = &in->all->top; i; i = i->next)
		if (i->selection.tracer == HV_TRACER_FUNCTION_GRAPH)
			return &i->options;
	return &in->options;
}

void hv_sites_publish_graph(struct hv_instance *in)
{
	const struct hv_instances *all = in->all;
	const struct hv_options *options = graph_options(in), *tops = &all->top.options;
	struct hv_graph_options graph = {
		.max_depth = all->max_graph_depth,
		.thresh_ns = all->thresh_ns,
	};

	if (all->top.selection.lists[HV_LIST_GRAPH].nr)
		graph.flags |= HV_GRAPH_SUBTREE;
	if (hv_options_on(options, HV_OPT_FUNCGRAPH_RETVAL))
		graph.flags |= HV_GRAPH_RETVAL;
	if (!hv_options_on(options, HV_OPT_FUNCGRAPH_IRQS))
		graph.flags |= HV_GRAPH_NO_IRQS;
	if (!hv_options_on(tops, HV_OPT_GRAPH_TIME))
		graph.flags |= HV_GRAPH_OWN_TIME;
	graph.no_sleep = !hv_options_on(all->profiles ? tops : options, HV_OPT_SLEEP_TIME);
	hv_graph_tracer_set_options(all->session->graph, &graph);
}
