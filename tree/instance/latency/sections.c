/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/latency/sections.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/events/host_buffer.h"
#include "tracer/guest/trampolines.h"
#include "tracer/sections/section_tracer.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/events/match.h"

/* Options that are set while a latency is traced (__irqsoff_tracer_init). */
static const enum hv_option switched_on[] = {HV_OPT_OVERWRITE, HV_OPT_LATENCY_FORMAT,
					     HV_OPT_PAUSE_ON_TRACE};

/* The kind of section of each tracer. */
static const enum hv_section_kind kinds[] = {
	[HV_TRACER_PREEMPTOFF] = HV_SECTION_PREEMPT,
	[HV_TRACER_IRQSOFF] = HV_SECTION_IRQ,
	[HV_TRACER_PREEMPTIRQSOFF] = HV_SECTION_EITHER,
};

struct state {
	struct hv_options options_before; /* saved while a section is traced */
	uint64_t max_latency_ns;	  /* tracing_max_latency while no section is measured */
	uint8_t *inside; /* per vCPU: whether the last processed event was in a section */
};

static struct state *state_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_SECTIONS);
}

bool hv_sections_are_on(const struct hv_instance *in)
{
	return hv_instance_tracer(in)->measures == HV_MEASURES_SECTIONS;
}

static void switch_options(struct hv_instance *in)
{
	state_of(in)->options_before = *hv_instance_options(in);
	for (size_t i = 0; i < HV_ARRAY_LEN(switched_on); i++)
		hv_options_set(hv_instance_options(in), switched_on[i], HV_ON);
}

static void switch_options_back(struct hv_instance *in)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(switched_on); i++)
		hv_options_set(hv_instance_options(in), switched_on[i],
			       hv_options_on(&state_of(in)->options_before, switched_on[i]));
}

/* All instances share one such tracer (irqsoff_busy). */
static struct hv_err *check_others(const struct hv_instance *in)
{
	for (const struct hv_instance *i = hv_instances_top(hv_instance_all(in)); i;
	     i = hv_instance_next(i)) {
		const char *name = hv_instance_name(i);

		if (i != in && hv_sections_are_on(i))
			return hv_err_new(EBUSY,
					  "%s%s already traces %s, which only one instance can do",
					  name ? "instances/" : "the top", name ? name : "",
					  hv_instance_tracer(i)->name);
	}
	return NULL;
}

/* Returns whether IN shows CALL among the calls of a section, by its kind and depth: function
 * calls, or with display-graph calls and returns. Other instances may record calls in the other
 * form, and without the depth limit. */
static bool sections_show(const struct hv_instance *in, const struct hv_event *call)
{
	uint32_t max_depth = hv_instances_top_settings(hv_instance_all(in))->max_graph_depth;

	if (!hv_options_on(hv_instance_options(in), HV_OPT_DISPLAY_GRAPH))
		return call->kind == HV_EVENT_FUNCTION;
	return call->kind != HV_EVENT_FUNCTION && (!max_depth || call->depth < max_depth);
}

static bool wants(void *ctx, const struct hv_event *call)
{
	const struct hv_instance *in = ctx;

	return sections_show(in, call) && !hv_instance_selection(in)->muted[call->cpu] &&
	       hv_selection_has_function(hv_instance_selection(in), call->ip) &&
	       hv_selection_has_task(hv_instance_selection(in), call->pid);
}

void hv_sections_use_functions(struct hv_instance *in)
{
	const struct hv_section_calls calls = {
		.logs = hv_options_on(hv_instance_options(in), HV_OPT_FUNCTION_TRACE),
		.wants = wants,
		.ctx = in,
	};

	if (hv_sections_are_on(in))
		hv_section_tracer_log(hv_instance_session(in)->sections, &calls);
}

/* Instructions that could not be restored behave like the guest's original ones. They are retried
 * at the next start or at detach. */
static struct hv_err *end(struct hv_instance *in)
{
	struct hv_section_tracer *tracer = hv_instance_session(in)->sections;
	struct hv_err *err = hv_section_tracer_stop(tracer);

	if (err && err->code == EBUSY) {
		hv_err_free(err);
		err = NULL;
	}
	if (err)
		return err;
	state_of(in)->max_latency_ns = hv_section_tracer_longest_ns(tracer);
	hv_section_tracer_log(tracer, &(struct hv_section_calls){.logs = false});
	switch_options_back(in);
	hv_instance_selection(in)->tracer = &hv_tracer_nop;
	return NULL;
}

static struct hv_err *begin(struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	struct hv_section_tracer *sections = hv_instance_session(in)->sections;
	struct hv_err *err = check_others(in);

	if (err)
		return err;
	hv_section_tracer_begin_at(sections, 0,
				   hv_instances_top_settings(hv_instance_all(in))->thresh_ns);
	err = hv_section_tracer_start(sections, kinds[tracer->id]);
	if (err)
		return err;
	switch_options(in);
	memset(state_of(in)->inside, 0, hv_instances_nr_cpus(hv_instance_all(in)));
	hv_instance_selection(in)->tracer = tracer;
	hv_sections_use_functions(in);
	if (!hv_instance_has_functions(in))
		return NULL;
	err = hv_instance_retrace(in);
	if (err)
		hv_err_free(end(in));
	return err;
}

uint64_t hv_sections_longest_ns(const struct hv_instance *in)
{
	return hv_sections_are_on(in)
		       ? hv_section_tracer_longest_ns(hv_instance_session(in)->sections)
		       : state_of(in)->max_latency_ns;
}

void hv_sections_begin_at(struct hv_instance *in, uint64_t ns)
{
	state_of(in)->max_latency_ns = ns;
	if (hv_sections_are_on(in))
		hv_section_tracer_begin_at(
			hv_instance_session(in)->sections, ns,
			hv_instances_top_settings(hv_instance_all(in))->thresh_ns);
}

void hv_sections_look(struct hv_instances *all)
{
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_sections_are_on(in))
			hv_section_tracer_look(hv_instances_session(all)->sections);
}

void hv_sections_renew(struct hv_instances *all)
{
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		struct hv_err *err = NULL;

		if (hv_sections_are_on(in))
			err = hv_section_tracer_renew(hv_instances_session(all)->sections);
		if (err) {
			hv_instance_report(in, err);
			hv_err_free(end(in));
		}
		hv_err_free(err);
	}
}

void hv_sections_use_thresh(struct hv_instances *all)
{
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_sections_are_on(in))
			hv_sections_begin_at(in, hv_sections_longest_ns(in));
}

bool hv_sections_need_looks(const struct hv_instances *all)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_sections_are_on(in))
			return hv_instance_has_functions(in);
	return false;
}

/* -- the tracers ------------------------------------------------------------------------------- */

static bool exists(const struct hv_instance *in, const struct hv_tracer_ops *ops)
{
	return hv_section_tracer_exists(hv_instance_session(in)->sections, kinds[ops->id]);
}

static uint8_t trampoline_of(const struct hv_instance *in, const struct hv_site *site)
{
	(void)site;
	return hv_options_on(hv_instance_options(in), HV_OPT_DISPLAY_GRAPH)
		       ? HV_TRAMPOLINE_SECTION_GRAPH
		       : HV_TRAMPOLINE_SECTION_FUNCTION;
}

/* The guest may have recorded functions outside sections for other instances. */
static void take(struct hv_instance *in, const struct hv_cursor *cursor,
		 const struct hv_event *event)
{
	uint8_t *inside = &state_of(in)->inside[event->cpu];

	if (event->of_section && event->kind == HV_EVENT_FUNCTION)
		*inside = event->of_section == HV_SECTION_BEGINS;
	else if (!event->of_section && (!*inside || !sections_show(in, event)))
		return;
	if (event->of_section ? hv_instance_takes_on(in, event->cpu) : hv_matches(in, event))
		hv_buffer_put(hv_instance_buffers(in)->host, cursor, event);
}

#define OF_SECTIONS                                                                                \
	.exists = exists, .begin = begin, .end = end, .trampoline_of = trampoline_of,              \
	.take = take, .takes_sections = 1, .takes_each = 1

const struct hv_tracer_ops hv_tracer_preemptoff = {HV_TRACER_IS(preemptoff, PREEMPTOFF),
						   OF_SECTIONS};
const struct hv_tracer_ops hv_tracer_irqsoff = {HV_TRACER_IS(irqsoff, IRQSOFF), OF_SECTIONS};
const struct hv_tracer_ops hv_tracer_preemptirqsoff = {HV_TRACER_IS(preemptirqsoff, PREEMPTIRQSOFF),
						       OF_SECTIONS};

static void init(struct hv_instance *in)
{
	state_of(in)->inside = hv_alloc(hv_instances_nr_cpus(hv_instance_all(in)));
}

static void deinit(struct hv_instance *in)
{
	free(state_of(in)->inside);
}

const struct hv_part hv_sections_part = {
	.state_bytes = sizeof(struct state),
	.init = init,
	.deinit = deinit,
};
