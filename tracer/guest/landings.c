/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/landings.h"

#include <string.h>

#include "tracer/guest/tracee.h"

/* Index of the first landing of each kind of stub. */
enum { LANDING_FUNCTION, LANDING_STACK, LANDING_GRAPH, LANDING_PROFILE, LANDING_CALLS };
#define LANDING_ACTIONS (LANDING_CALLS + HV_NR_CALL_ENTRIES)
#define NR_LANDINGS	(LANDING_ACTIONS + HV_NR_SLOTS)

#define JUMP_LEN       4u /* of a landing at a fixed offset in a page */
#define WRITES_PER_ONE (HV_LANDING_LEN / HV_SITE_LEN_MAX)
_Static_assert(WRITES_PER_ONE *HV_SITE_LEN_MAX == HV_LANDING_LEN, "whole writes");

/* Offsets from the start of the range. */
#define FIRST_OFF (HV_REGION_DETOURS_OFF - HV_REGION_STUBS_OFF)
#define END_OFF	  (HV_REGION_STUBS_END - HV_REGION_STUBS_OFF)
_Static_assert(NR_LANDINGS *HV_LANDING_LEN <= END_OFF - FIRST_OFF, "there is room for landings");

static const struct hv_stub_image *stubs_of(const struct hv_tracee *t)
{
	return &t->kernel->core.as.arch->stubs;
}

/* Finds the stub of landing N. Returns false if the architecture lacks that stub. */
static bool stub_of_landing(const struct hv_stub_image *stubs, size_t n, size_t *ret)
{
	switch (n) {
	case LANDING_FUNCTION:
		*ret = stubs->function_off;
		return true;
	case LANDING_STACK:
		*ret = stubs->function_stack_off;
		return *ret;
	case LANDING_GRAPH:
		*ret = stubs->graph_off;
		return *ret;
	case LANDING_PROFILE:
		*ret = stubs->profile_off;
		return *ret;
	default:
		break;
	}
	if (n < LANDING_ACTIONS) {
		*ret = stubs->calls_off + (n - LANDING_CALLS) * stubs->call_len_bytes;
		return stubs->calls_off;
	}
	*ret = stubs->actions_off + (n - LANDING_ACTIONS) * stubs->action_len_bytes;
	return stubs->actions_off;
}

static size_t landing_of_stub(const struct hv_stub_image *stubs, size_t off)
{
	size_t calls_len = HV_NR_CALL_ENTRIES * stubs->call_len_bytes;

	if (off == stubs->function_off)
		return LANDING_FUNCTION;
	if (off == stubs->function_stack_off)
		return LANDING_STACK;
	if (off == stubs->graph_off)
		return LANDING_GRAPH;
	if (off == stubs->profile_off)
		return LANDING_PROFILE;
	if (off >= stubs->calls_off && off < stubs->calls_off + calls_len)
		return LANDING_CALLS + (off - stubs->calls_off) / stubs->call_len_bytes;
	return LANDING_ACTIONS + (off - stubs->actions_off) / stubs->action_len_bytes;
}

/* For landings at a fixed offset in a page: returns the offset of landing N from the start of the
 * range. */
static uint64_t place_off(const struct hv_tracee *t, size_t n)
{
	struct hv_reach reach = hv_reach_of(&t->kernel->core);
	uint64_t first = FIRST_OFF;

	first += (reach.entry_off - (t->range.start.v + first)) % reach.entry_bytes;
	return first + n * reach.entry_bytes;
}

static bool plan_jump(const struct hv_tracee *t, size_t n, struct hv_gva stub,
		      struct hv_hold_write *w)
{
	uint64_t off = place_off(t, n);

	*w = (struct hv_hold_write){.gpa = hv_gpa_add(t->region.gpa, HV_REGION_STUBS_OFF + off),
				    .len_bytes = JUMP_LEN,
				    .is_text = true};
	return off + JUMP_LEN <= END_OFF &&
	       t->kernel->core.as.arch->encode_jump_site(hv_gva_add(t->range.start, off), stub,
							 JUMP_LEN, w->bytes);
}

/* Returns whether there are landings in the second mapping. */
static bool has_second_place(const struct hv_tracee *t)
{
	return t->kernel->core.as.arch->encode_landing && t->landings.start.v != t->landings.end.v;
}

static uint64_t second_off(size_t n)
{
	return FIRST_OFF + n * HV_LANDING_LEN;
}

static bool plan_landing(const struct hv_tracee *t, size_t n, struct hv_gva stub,
			 struct hv_hold_write *writes)
{
	uint64_t off = second_off(n);
	uint8_t code[HV_LANDING_LEN];

	if (!t->kernel->core.as.arch->encode_landing(hv_gva_add(t->landings.start, off), stub,
						     code))
		return false;
	for (size_t i = 0; i < WRITES_PER_ONE; i++) {
		uint64_t at = HV_REGION_STUBS_OFF + off + i * HV_SITE_LEN_MAX;

		writes[i] = (struct hv_hold_write){.gpa = hv_gpa_add(t->region.gpa, at),
						   .len_bytes = HV_SITE_LEN_MAX,
						   .is_text = true};
		memcpy(writes[i].bytes, code + i * HV_SITE_LEN_MAX, HV_SITE_LEN_MAX);
	}
	return true;
}

size_t hv_landings_max(void)
{
	return NR_LANDINGS * WRITES_PER_ONE;
}

struct hv_err *hv_landings_plan(const struct hv_tracee *t, struct hv_gva code,
				struct hv_hold_write *writes, size_t *ret_nr)
{
	bool at_places = hv_reach_of(&t->kernel->core).entry_bytes;
	size_t nr = 0;

	for (size_t n = 0; n < NR_LANDINGS && (at_places || has_second_place(t)); n++) {
		size_t off;
		bool fits;

		if (!stub_of_landing(stubs_of(t), n, &off) || (at_places && n == LANDING_FUNCTION))
			continue;
		if (at_places)
			fits = plan_jump(t, n, hv_gva_add(code, off), &writes[nr]);
		else
			fits = plan_landing(t, n, hv_gva_add(code, off), &writes[nr]);
		if (!fits)
			return hv_err_new(ERANGE, "the region is out of the reach of the landings "
						  "that sites call");
		nr += at_places ? 1 : WRITES_PER_ONE;
	}
	*ret_nr = nr;
	return NULL;
}

struct hv_gva hv_landing_or_stub(const struct hv_tracee *t, struct hv_gva code, size_t off)
{
	const struct hv_stub_image *stubs = stubs_of(t);

	if (!hv_reach_of(&t->kernel->core).entry_bytes || off == stubs->function_off)
		return hv_gva_add(code, off);
	return hv_gva_add(t->range.start, place_off(t, landing_of_stub(stubs, off)));
}

struct hv_gva hv_landing_from(const struct hv_tracee *t, struct hv_gva at, struct hv_gva stub)
{
	struct hv_gva code = hv_gva_add(t->range.start, HV_STUBS_CODE_OFF);
	uint8_t unused[HV_SITE_LEN_MAX];

	if (!has_second_place(t) || t->kernel->core.as.arch->encode_call(at, stub, unused))
		return stub;
	return hv_gva_add(t->landings.start,
			  second_off(landing_of_stub(stubs_of(t), stub.v - code.v)));
}

struct hv_gva hv_landing_leads_to(const struct hv_tracee *t, struct hv_gva target)
{
	struct hv_gva code = hv_gva_add(t->range.start, HV_STUBS_CODE_OFF);
	uint64_t off = target.v - t->landings.start.v - FIRST_OFF;
	size_t stub;

	if (!has_second_place(t) || off % HV_LANDING_LEN || off / HV_LANDING_LEN >= NR_LANDINGS ||
	    !stub_of_landing(stubs_of(t), off / HV_LANDING_LEN, &stub))
		return target;
	return hv_gva_add(code, stub);
}
