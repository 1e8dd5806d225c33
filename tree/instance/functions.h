/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers function and function_graph. demux/match.h selects the calls of an instance. */
#pragma once

#include "tree/instance/core/tracer.h"

extern const struct hv_tracer_ops hv_tracer_function;
extern const struct hv_tracer_ops hv_tracer_function_graph;
