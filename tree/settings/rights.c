/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/rights.h"

#include <stddef.h>

#include "base/guard.h"

const struct hv_rights hv_root_rights = {.may = UINT32_MAX, .who = "root", .says = ""};

static const struct {
	uint32_t bit;
	const char *name;
	const char *deed; /* for messages: the action that needs this right */
} rights[] = {
	{HV_RIGHT_ROOT, "root", "use this file like this, which needs root"},
	{HV_RIGHT_READ, "read", "read"},
	{HV_RIGHT_CONTROL, "control", "change settings"},
	{HV_RIGHT_EVENTS, "events", "control events"},
	{HV_RIGHT_FUNCTIONS, "functions", "trace functions (function or function_graph)"},
	{HV_NEED_RUNNING, "running", NULL},
	{HV_NEED_ALL_RUNNING, "all running", NULL},
	{HV_NEED_WRITTEN, "written", NULL},
};

static uint32_t all_of(const struct hv_rights *r)
{
	uint32_t functions = 1u << HV_TRACER_FUNCTION | HV_RIGHT_GRAPH;

	return r->may | (r->may & functions ? HV_RIGHT_FUNCTIONS : 0);
}

uint32_t hv_rights_lack(const struct hv_rights *r, uint32_t need)
{
	uint32_t lacks = (need ? need : HV_RIGHT_ROOT) & ~HV_NEED_WRITTEN & ~all_of(r);

	for (size_t i = 0; i < HV_ARRAY_LEN(rights); i++)
		if (lacks & rights[i].bit)
			return rights[i].bit;
	return lacks & -lacks;
}

static const char *tracer_of(uint32_t right)
{
	return hv_tracer_name((enum hv_tracer)__builtin_ctz(right));
}

struct hv_err *hv_rights_refuse(const struct hv_rights *r, uint32_t right)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(rights); i++)
		if (rights[i].bit == right && rights[i].deed)
			return hv_err_new(EACCES, "%s may not %s: no rule in %s allows it", r->who,
					  rights[i].deed, r->says);
	return hv_err_new(EACCES, "%s may not control the tracer %s: no rule in %s allows it",
			  r->who, tracer_of(right), r->says);
}

const char *hv_right_name(uint32_t right)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(rights); i++)
		if (rights[i].bit == right)
			return rights[i].name;
	return tracer_of(right);
}
