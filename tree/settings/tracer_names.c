/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/tracer_names.h"

#include <string.h>

#include "base/guard.h"

static const struct {
	const char *name;
	enum hv_tracer tracer;
} tracers[] = {
	{"function_graph", HV_TRACER_FUNCTION_GRAPH},
	{"wakeup_dl", HV_TRACER_WAKEUP_DL},
	{"wakeup_rt", HV_TRACER_WAKEUP_RT},
	{"wakeup", HV_TRACER_WAKEUP},
	{"preemptirqsoff", HV_TRACER_PREEMPTIRQSOFF},
	{"preemptoff", HV_TRACER_PREEMPTOFF},
	{"irqsoff", HV_TRACER_IRQSOFF},
	{"function", HV_TRACER_FUNCTION},
	{"nop", HV_TRACER_NOP},
};

const char *hv_tracer_name(enum hv_tracer tracer)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(tracers); i++)
		if (tracers[i].tracer == tracer)
			return tracers[i].name;
	return "nop";
}

struct hv_err *hv_tracer_find(const char *name, enum hv_tracer *ret)
{
	HV_AUTO_TEXT struct hv_text names = {0};

	for (size_t i = 0; i < HV_ARRAY_LEN(tracers); i++) {
		if (strcmp(tracers[i].name, name) != 0)
			continue;
		*ret = tracers[i].tracer;
		return NULL;
	}
	hv_tracers_text(&names, ", ", 0);
	return hv_err_new(EINVAL, "there is no tracer '%s'; the tracers are %s", name, names.data);
}

void hv_tracers_text(struct hv_text *out, const char *separator, unsigned without)
{
	bool is_first = true;

	for (size_t i = 0; i < HV_ARRAY_LEN(tracers); i++) {
		if (without >> tracers[i].tracer & 1)
			continue;
		hv_text_printf(out, "%s%s", is_first ? "" : separator, tracers[i].name);
		is_first = false;
	}
}
