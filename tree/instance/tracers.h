/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of all tracers (core/tracer.h), found by what names them. */
#pragma once

#include "tree/instance/core/tracer.h"

const struct hv_tracer_ops *hv_tracer_ops(enum hv_tracer tracer);
/* Returns a bit 1u << TRACER for each that the guest of IN cannot have. */
unsigned hv_tracers_missing(const struct hv_instance *in);
