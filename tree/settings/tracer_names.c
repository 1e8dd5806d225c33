/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/tracer_names.h"

#include <string.h>

#include "base/guard.h"

static const struct {
	const char *name;
	enum hv_tracer tracer;
	enum hv_tracer_measures measures;
} tracers[] = {
#define X(name_, id_, bit_, measures_) {#name_, HV_TRACER_##id_, HV_MEASURES_##measures_},
	HV_TRACERS(X)
#undef X
};

enum hv_tracer_measures hv_tracer_measures(enum hv_tracer tracer)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(tracers); i++)
		if (tracers[i].tracer == tracer)
			return tracers[i].measures;
	return HV_MEASURES_NOTHING;
}

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
