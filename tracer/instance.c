#include "tracer/instance.h"

#include <assert.h>
#include <stdlib.h>

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
		hv_pidlist_deinit(&in->pids[i]);
	}
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

struct hv_err *hv_instance_trace(struct hv_instance *in, enum hv_tracer tracer,
				 const struct hv_filter *lists)
{
	struct hv_session *session = in->tree->session;
	const struct hv_sites *sites = &hv_session_kernel(session)->sites;
	HV_AUTO_FREE uint8_t *wanted = hv_alloc(sites->nr);
	const struct hv_filter *filter = &lists[HV_LIST_FILTER];

	for (size_t i = 0; i < sites->nr; i++) {
		struct hv_gva ip = sites->list[i].ip;

		wanted[i] = tracer == HV_TRACER_FUNCTION && !sites->list[i].invalid &&
			    (hv_filter_is_all(filter) || hv_filter_has(filter, ip)) &&
			    !hv_filter_has(&lists[HV_LIST_NOTRACE], ip);
	}
	return hv_session_trace_sites(session, wanted);
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
