#include "tree/instance/instance.h"

#include <assert.h>
#include <stdlib.h>

#include "ringbuf/abi.h"
#include "tree/node.h"

#define FILL_PERCENT_DEFAULT 50

/* Options that mean nothing with this guest. */
static uint64_t absent_options(struct hv_session *s)
{
	HV_AUTO_ERR struct hv_err *err = hv_session_can_unwind(s);

	return err ? UINT64_C(1) << HV_OPT_FUNC_STACK_TRACE : 0;
}

void hv_instance_init(struct hv_instance *in, struct hv_tree *tree, unsigned nr_cpus)
{
	*in = (struct hv_instance){
		.tree = tree,
		.tracer = HV_TRACER_NOP,
		.recording = 1,
		.options = hv_options_default(),
		.muted = hv_alloc(nr_cpus),
		.fill_percent = FILL_PERCENT_DEFAULT,
		.pipes = {.of_cpu = hv_alloc(nr_cpus * sizeof(struct hv_file *)),
			  .nr_cpus = nr_cpus},
	};
	in->options.absent = absent_options(tree->session);
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
	hv_buffer_unref(in->host);
	hv_buffer_unref(in->snapshot);
	free(in->pipes.of_cpu);
	free(in->muted);
	free(in->name);
}

struct hv_style hv_instance_style(const struct hv_instance *in)
{
	return (struct hv_style){
		.kernel = hv_session_kernel(in->tree->session),
		.clock = hv_instance_clock(in),
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
