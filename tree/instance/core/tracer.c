/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/tracer.h"

const struct hv_tracer_ops hv_tracer_nop = {HV_TRACER_IS(nop, NOP)};
