/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rights that a client needs to change an instance, given what runs in it.
 * tree/settings/rights.h defines rights; tree/files/file.h checks them. */
#pragma once

#include "tree/instance/core/instance.h"
#include "tree/settings/rights.h"

/* Returns the rights for TRACER in IN, including those for functions that it traces because of IN's
 * options. */
uint32_t hv_instance_tracer_need(const struct hv_instance *in, const struct hv_tracer_ops *tracer);
/* Returns the rights for everything that stops when IN is removed. */
uint32_t hv_instance_end_need(const struct hv_instance *in);
/* Replaces HV_NEED_RUNNING and HV_NEED_ALL_RUNNING in NEED by the rights for the tracer and the
 * profile of IN, or of all instances. */
uint32_t hv_instance_need(const struct hv_instance *in, uint32_t need);
