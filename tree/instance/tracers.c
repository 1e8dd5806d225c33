/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/tracers.h"

#include <stddef.h>

#include "base/guard.h"

#define X(name_, id_, bit_, measures_) extern const struct hv_tracer_ops hv_tracer_##name_;
HV_TRACERS(X)
#undef X

static const struct hv_tracer_ops *const tracers[] = {
#define X(name_, id_, bit_, measures_) [HV_TRACER_##id_] = &hv_tracer_##name_,
	HV_TRACERS(X)
#undef X
};

const struct hv_tracer_ops *hv_tracer_ops(enum hv_tracer tracer)
{
	return tracers[tracer];
}

unsigned hv_tracers_missing(const struct hv_instance *in)
{
	unsigned missing = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(tracers); i++)
		if (tracers[i]->exists && !tracers[i]->exists(in, tracers[i]))
			missing |= 1u << i;
	return missing;
}
