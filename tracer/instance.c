#include "tracer/instance.h"

#include <assert.h>
#include <stdlib.h>

#include "ringbuf/abi.h"
#include "tracer/node.h"

void hv_instance_init(struct hv_instance *in, struct hv_tree *tree, unsigned nr_cpus)
{
	*in = (struct hv_instance){
		.tree = tree,
		.tracer = HV_TRACER_NOP,
		.recording = 1,
		.options = hv_options_default(),
		.pipes = {.of_cpu = hv_alloc(nr_cpus * sizeof(struct hv_file *)),
			  .nr_cpus = nr_cpus},
	};
}

void hv_instance_deinit(struct hv_instance *in)
{
	assert(in->nr_open == 0);
	for (unsigned i = 0; i < HV_NR_FILTER_LISTS; i++) {
		hv_filter_deinit(&in->lists[i]);
		hv_modcache_clear(&in->waiting[i]);
	}
	for (unsigned i = 0; i < HV_NR_PID_LISTS; i++)
		hv_pidlist_deinit(&in->pids[i]);
	hv_probes_deinit(&in->probes);
	hv_error_log_clear(&in->errors);
	free(in->pipes.of_cpu);
	free(in->name);
}

struct hv_style hv_instance_style(const struct hv_instance *in)
{
	return (struct hv_style){
		.kernel = hv_session_kernel(in->tree->session),
		.clock = hv_session_clock(in->tree->session),
		.options = &in->options,
	};
}

/* open_pipe_on_cpu */
struct hv_err *hv_pipes_take(struct hv_pipes *pipes, struct hv_file *f, int cpu)
{
	if (pipes->all || (cpu < 0 ? pipes->nr > 0 : pipes->of_cpu[cpu] != NULL))
		return hv_err_new(EBUSY, "somebody has it open");
	if (cpu < 0)
		pipes->all = f;
	else
		pipes->of_cpu[cpu] = f;
	pipes->nr++;
	return NULL;
}

void hv_pipes_give_back(struct hv_pipes *pipes, struct hv_file *f)
{
	if (pipes->all == f) {
		pipes->all = NULL;
		pipes->nr--;
	}
	for (unsigned cpu = 0; cpu < pipes->nr_cpus; cpu++) {
		if (pipes->of_cpu[cpu] != f)
			continue;
		pipes->of_cpu[cpu] = NULL;
		pipes->nr--;
	}
}

/* What SITE is to call. Of set_graph_function and set_graph_notrace, the latter has the last word
 * (trace_graph_entry). */
static uint8_t stub_of(enum hv_tracer tracer, const struct hv_filter *lists,
		       const struct hv_site *site)
{
	const struct hv_filter *filter = &lists[HV_LIST_FILTER];

	if (tracer == HV_TRACER_NOP || site->invalid ||
	    (!hv_filter_is_all(filter) && !hv_filter_has(filter, site->ip)) ||
	    hv_filter_has(&lists[HV_LIST_NOTRACE], site->ip))
		return HV_STUB_NONE;
	if (tracer == HV_TRACER_FUNCTION)
		return HV_STUB_FUNCTION;
	if (hv_filter_has(&lists[HV_LIST_GRAPH_NOTRACE], site->ip))
		return HV_STUB_GRAPH_NOTRACE;
	if (hv_filter_has(&lists[HV_LIST_GRAPH], site->ip))
		return HV_STUB_GRAPH_ROOT;
	return HV_STUB_GRAPH;
}

struct hv_err *hv_instance_trace(struct hv_instance *in, enum hv_tracer tracer,
				 const struct hv_filter *lists)
{
	struct hv_session *session = in->tree->session;
	const struct hv_sites *sites = &hv_session_kernel(session)->sites;
	HV_AUTO_FREE uint8_t *wanted = hv_alloc(sites->nr);
	struct hv_err *err;

	for (size_t i = 0; i < sites->nr; i++)
		wanted[i] = stub_of(tracer, lists, &sites->list[i]);
	hv_instance_graph(in, lists);
	err = hv_session_trace_sites(session, wanted);
	if (err)
		hv_instance_graph(in, in->lists);
	return err;
}

void hv_instance_graph(struct hv_instance *in, const struct hv_filter *lists)
{
	struct hv_graph_options graph = {
		.max_depth = in->tree->max_graph_depth,
		.thresh_ns = in->tree->thresh_ns,
	};

	if (lists[HV_LIST_GRAPH].nr)
		graph.flags |= HV_GRAPH_SUBTREE;
	if (hv_options_on(&in->options, HV_OPT_FUNCGRAPH_RETVAL))
		graph.flags |= HV_GRAPH_RETVAL;
	if (!hv_options_on(&in->options, HV_OPT_FUNCGRAPH_IRQS))
		graph.flags |= HV_GRAPH_NO_IRQS;
	hv_session_graph_options(in->tree->session, &graph);
}

struct hv_buffer *hv_instance_buffer(struct hv_instance *in)
{
	return hv_session_buffer(in->tree->session);
}

void hv_instance_clear(struct hv_instance *in, int cpu)
{
	hv_buffer_clear(hv_instance_buffer(in), cpu);
}

struct hv_err *hv_instance_filter_pids(struct hv_instance *in, const struct hv_pidlist *pids)
{
	const struct hv_pidlist *only = &pids[HV_LIST_FILTER], *not = &pids[HV_LIST_NOTRACE];

	return hv_session_filter_pids(in->tree->session, only->pids, only->nr, not ->pids,
				      not ->nr);
}

void hv_instance_set_recording(struct hv_instance *in, unsigned on)
{
	in->recording = on;
	hv_session_set_recording(in->tree->session, on && !in->nr_pauses);
}

void hv_instance_pause(struct hv_instance *in)
{
	if (in->nr_pauses++)
		return;
	in->recording = hv_session_recording(in->tree->session);
	hv_session_set_recording(in->tree->session, 0);
}

void hv_instance_go_on(struct hv_instance *in)
{
	if (--in->nr_pauses == 0)
		hv_session_set_recording(in->tree->session, in->recording);
}

bool hv_instance_records(const struct hv_instance *in)
{
	return hv_session_recording(in->tree->session);
}

unsigned hv_instance_tracing_on(const struct hv_instance *in)
{
	return in->nr_pauses ? in->recording : hv_session_recording(in->tree->session);
}
