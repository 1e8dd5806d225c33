/* The tracers, the same for every guest, and the names that current_tracer has for them. */
#pragma once

#include "base/err.h"
#include "base/text.h"

enum hv_tracer { HV_TRACER_NOP, HV_TRACER_FUNCTION, HV_TRACER_FUNCTION_GRAPH };

const char *hv_tracer_name(enum hv_tracer tracer);
/* EINVAL. */
struct hv_err *hv_tracer_find(const char *name, enum hv_tracer *ret) hv_must_use;
/* In the order of available_tracers, SEPARATOR between them. */
void hv_tracers_text(struct hv_text *out, const char *separator);
