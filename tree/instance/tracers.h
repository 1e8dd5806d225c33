/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up the operations of tracers (core/tracer.h). */
#pragma once

#include "tree/instance/core/tracer.h"

const struct hv_tracer_ops *hv_tracer_ops(enum hv_tracer tracer);
/* Returns a mask of the tracers, 1u << TRACER, that the guest of IN does not support. */
unsigned hv_tracers_missing(const struct hv_instance *in);
