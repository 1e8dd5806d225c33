/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/sections.h"

#include "cli/verbs/record/section.h"
#include "latency/section_text.h"

#define NS_PER_US 1000

static struct hv_err *set_threshold(const struct latency_sections *s, struct client *c,
				    const char *dir)
{
	HV_AUTO_FREE char *path = hv_format("%s/tracing_max_latency", dir);
	HV_AUTO_FREE char *us = hv_format("%llu", (unsigned long long)s->threshold_us);

	return client_echo(c, path, us);
}

struct hv_err *latency_sections_begin(struct latency_sections *s, struct client *c, const char *dir,
				      uint64_t threshold_ns, char **ret_why)
{
	static const char *const tracers[] = {"preemptirqsoff", "irqsoff", "preemptoff"};
	HV_AUTO_FREE char *path = hv_format("%s/current_tracer", dir);
	HV_AUTO_ERR struct hv_err *why = NULL;

	*ret_why = NULL;
	*s = (struct latency_sections){.threshold_us = threshold_ns / NS_PER_US};
	for (size_t i = 0; i < HV_ARRAY_LEN(tracers) && !s->tracer; i++) {
		struct hv_err *err = client_echo(c, path, tracers[i]);

		if (client_is_gone(err))
			return err;
		if (!err)
			s->tracer = tracers[i];
		hv_err_keep_first(&why, err);
	}
	if (s->tracer)
		return set_threshold(s, c, dir);
	*ret_why = hv_strdup(why->message);
	return NULL;
}

struct hv_err *latency_sections_take(struct latency_sections *s, struct client *c, const char *dir,
				     struct hv_latency *l)
{
	HV_AUTO_FREE char *path = hv_format("%s/trace", dir);
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_stall section;
	uint64_t us = 0;
	struct hv_err *err = s->tracer ? record_section_longest_us(c, dir, &us) : NULL;

	if (!err && us <= s->threshold_us)
		hv_latency_end_sections(l);
	if (err || us <= s->threshold_us)
		return err;
	err = client_get(c, path, &text);
	if (err)
		return client_error(path, err);
	hv_text_add(&text, "");
	if (hv_section_text_read(text.data, &section))
		hv_latency_add_section(l, &section);
	hv_latency_end_sections(l);
	return set_threshold(s, c, dir);
}
