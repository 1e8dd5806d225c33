/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/sections.h"

#include "tracer/section_tracer.h"

/* Options that are on while a latency is traced (__irqsoff_tracer_init). */
static const enum hv_option switched_on[] = {HV_OPT_OVERWRITE, HV_OPT_LATENCY_FORMAT,
					     HV_OPT_PAUSE_ON_TRACE};

/* What the tracers measure. */
static const enum hv_section_kind kinds[] = {
	[HV_TRACER_PREEMPTOFF] = HV_SECTION_PREEMPT,
	[HV_TRACER_IRQSOFF] = HV_SECTION_IRQ,
	[HV_TRACER_PREEMPTIRQSOFF] = HV_SECTION_EITHER,
};

bool hv_sections_exist(const struct hv_instance *in, enum hv_tracer tracer)
{
	return hv_instance_is_top(in) &&
	       hv_section_tracer_exists(in->all->session->sections, kinds[tracer]);
}

bool hv_sections_are_on(const struct hv_instance *in)
{
	return hv_tracer_has_sections(in->selection.tracer);
}

static void switch_options(struct hv_instance *in)
{
	in->options_before = in->options;
	for (size_t i = 0; i < HV_ARRAY_LEN(switched_on); i++)
		hv_options_set(&in->options, switched_on[i], 1);
}

static void switch_options_back(struct hv_instance *in)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(switched_on); i++)
		hv_options_set(&in->options, switched_on[i],
			       hv_options_on(&in->options_before, switched_on[i]));
}

struct hv_err *hv_sections_begin(struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_section_tracer *sections = in->all->session->sections;
	struct hv_err *err;

	if (!hv_instance_is_top(in))
		return hv_err_new(EINVAL, "%s: only the top directory has this tracer",
				  hv_tracer_name(tracer));
	hv_section_tracer_begin_at(sections, 0, in->all->thresh_ns);
	err = hv_section_tracer_start(sections, kinds[tracer]);
	if (err)
		return err;
	switch_options(in);
	in->selection.tracer = tracer;
	return NULL;
}

/* What could not be put back does nothing but what the guest's own instruction would. It is tried
 * again with the next start, or at detach. */
struct hv_err *hv_sections_end(struct hv_instance *in)
{
	struct hv_err *err = hv_section_tracer_stop(in->all->session->sections);

	if (err && err->code == EBUSY) {
		hv_err_free(err);
		err = NULL;
	}
	if (err)
		return err;
	switch_options_back(in);
	in->selection.tracer = HV_TRACER_NOP;
	return NULL;
}

void hv_sections_renew(struct hv_instances *all)
{
	struct hv_err *err = NULL;

	if (hv_sections_are_on(&all->top))
		err = hv_section_tracer_renew(all->session->sections);
	if (err)
		hv_err_free(hv_sections_end(&all->top));
	hv_err_free(err);
}

void hv_sections_use_thresh(struct hv_instances *all)
{
	struct hv_section_tracer *tracer = all->session->sections;

	if (hv_sections_are_on(&all->top))
		hv_section_tracer_begin_at(tracer, hv_section_tracer_longest_ns(tracer),
					   all->thresh_ns);
}
