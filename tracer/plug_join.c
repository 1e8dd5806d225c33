/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins the guest's own probes of a tracepoint, and leaves them: what the kernel does when a
 * further probe is added (kernel/tracepoint.c). An array of ours takes the place of the guest's.
 * While the guest has one probe only, the tracepoint's static call leads to it directly, and has to
 * lead to the function that calls all probes (the iterator) before there are two.
 *
 * Each part of a plan is made before the next, and whoever is killed in between leaves a tracepoint
 * that the kernel can go on with: the iterator is right for any array. What is not is a pointer in
 * the static call's key that says "the iterator" while some of its calls lead to a probe: then the
 * kernel would not change them when it must. */
#include <string.h>

#include "tracer/plug_plan.h"
#include "tracer/tracee.h"

/* Whether the kernel makes the static call lead to the first probe. It does so for an array of one,
 * also if that one is its function that does nothing. */
static bool is_direct(const struct hv_tracepoint_state *state)
{
	return state->nr_probes == 1;
}

/* Where the static call leads without us. */
static uint64_t own_target(const struct hv_tracepoint *tp, const struct hv_tracepoint_state *state)
{
	return is_direct(state) ? state->probes[0].func : tp->iterator.v;
}

/* Whether all calls lead to TARGET. */
static bool all_lead_to(const struct hv_call_sites *calls, uint64_t target)
{
	for (size_t i = 0; i < calls->nr; i++)
		if (calls->list[i].target.v != target)
			return false;
	return true;
}

/* Whether LEN_BYTES at AT can be changed by one write. */
static bool is_in_one_page(const struct hv_tracee *t, struct hv_gva at, uint64_t len_bytes)
{
	uint64_t page = t->kernel->core.as.arch->entry_span(1);

	return at.v % page + len_bytes <= page;
}

/* Whether each call can be made to lead to TARGET by one write, so that whoever is killed leaves
 * the one or the other. The linker places some across two pages. */
static bool can_lead(const struct hv_tracee *t, const struct hv_call_sites *calls, uint64_t target)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;

	for (size_t i = 0; i < calls->nr; i++) {
		const struct hv_call_site *site = &calls->list[i];
		uint8_t bytes[HV_SITE_LEN_MAX];

		if (site->target.v != target &&
		    (!is_in_one_page(t, site->at, arch->site_len_bytes) ||
		     !arch->encode_jump(site->at, hv_gva(target), bytes)))
			return false;
	}
	return true;
}

/* Makes all calls lead to TARGET, which they can. */
static struct hv_err *add_calls(const struct hv_tracee *t, const struct hv_call_sites *calls,
				uint64_t target, struct hv_plug_changes *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < calls->nr; i++) {
		const struct hv_call_site *site = &calls->list[i];
		uint8_t bytes[HV_SITE_LEN_MAX];

		if (site->target.v == target)
			continue;
		if (site->is_jump)
			arch->encode_jump(site->at, hv_gva(target), bytes);
		else
			arch->encode_call(site->at, hv_gva(target), bytes);
		err = hv_plug_add(t, site->at, HV_CHANGE_STATIC_CALL, arch->site_len_bytes,
				  site->bytes, bytes, ret);
	}
	return err;
}

/* Whether the static call leads to the iterator for certain. With one probe it does if we have left
 * it there, since a call cannot be changed. */
static bool leads_to_iterator(const struct hv_tracepoint *tp,
			      const struct hv_tracepoint_state *state)
{
	return state->static_call == tp->iterator.v &&
	       (!is_direct(state) ||
		(state->calls.nr && all_lead_to(&state->calls, tp->iterator.v)));
}

static struct hv_err *check_static_call(const struct hv_tracee *t, const struct hv_tracepoint *tp,
					const struct hv_tracepoint_state *state)
{
	if (!state->static_call || leads_to_iterator(tp, state))
		return NULL;
	if (state->static_call != own_target(tp, state))
		return hv_err_new(EBUSY, "its static call leads to 0x%llx",
				  (unsigned long long)state->static_call);
	if (!state->calls.nr || !all_lead_to(&state->calls, state->static_call))
		return hv_err_new(EBUSY, "the guest itself uses its tracepoint, by calls of a form "
					 "that is not known");
	if (!can_lead(t, &state->calls, tp->iterator.v))
		return hv_err_new(EBUSY, "the guest itself uses its tracepoint, by a call that is "
					 "in two pages");
	return NULL;
}

static struct hv_err *check_on(const struct hv_tracee *t, const struct hv_plug *plug,
			       const struct hv_tracepoint_state *state)
{
	const struct hv_tracepoint *tp = &plug->type->tracepoint;

	if (!state->enabled)
		return hv_err_new(EINVAL, "its tracepoint has probes and is off");
	if (state->is_counted && state->nr_on != state->nr_others_on + 1)
		return hv_err_new(EINVAL, "its tracepoint is on, and the kernel counts %u of %u",
				  state->nr_on, state->nr_others_on + 1);
	for (size_t i = 0; i < state->nr_places; i++) {
		const struct hv_key_place *place = &state->places[i];

		if (!place->jumps)
			return hv_err_new(EINVAL, "its static key is on, and 0x%llx does not jump",
					  (unsigned long long)place->at.v);
		/* If the guest leaves, it is ours to make it a nop. */
		if (!is_in_one_page(t, place->at, place->len_bytes))
			return hv_err_new(EOPNOTSUPP, "0x%llx is in two pages",
					  (unsigned long long)place->at.v);
	}
	return check_static_call(t, tp, state);
}

/* The probes of the guest's array that are not switched off. */
static void take_live(const struct hv_tracepoint_layout *l, const struct hv_tracepoint_state *state,
		      struct hv_plug_array *ret)
{
	for (size_t i = 0; i < state->nr_probes; i++)
		if (state->probes[i].func != l->stub.v)
			ret->probes[ret->nr++] = state->probes[i];
}

/* Ours is the last one and has the lowest priority, so that the copy that the kernel makes of the
 * array has all of them in their order. It is never the first one, whose data a vCPU may have
 * loaded already. */
static void add_ours(const struct hv_tracee *t, const struct hv_plug *plug,
		     struct hv_plug_array *ret)
{
	struct hv_tracepoint_probe probe = {.func = plug->type->probe.v,
					    .data = hv_plug_file(t, plug),
					    .priority = HV_PLUG_PRIORITY};

	for (size_t i = 0; i < ret->nr; i++)
		if ((int32_t)ret->probes[i].priority < (int32_t)probe.priority)
			probe.priority = ret->probes[i].priority;
	ret->probes[ret->nr++] = probe;
}

static struct hv_err *make_array(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout,
				 const struct hv_plug *plug,
				 const struct hv_tracepoint_state *state)
{
	struct hv_plug_array array = {.stands_for = state->funcs};

	if (!hv_plug_array_has_room(layout, state->nr_probes + 1))
		return hv_err_new(EBUSY,
				  "the guest itself uses its tracepoint, with %zu probes, for "
				  "which there is no room",
				  state->nr_probes);
	take_live(layout, state, &array);
	if (!array.nr)
		return hv_err_new(EBUSY, "the guest itself uses its tracepoint");
	add_ours(t, plug, &array);
	return hv_plug_array_put(t, layout, plug->index, &array, plug->array_use);
}

struct hv_err *hv_plug_join_plan(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout,
				 const struct hv_plug *plug,
				 const struct hv_tracepoint_state *state,
				 struct hv_plug_changes *ret)
{
	const struct hv_tracepoint *tp = &plug->type->tracepoint;
	bool is_redirected = state->static_call && !leads_to_iterator(tp, state);
	struct hv_err *err = check_on(t, plug, state);

	if (!err)
		err = make_array(t, layout, plug, state);
	if (!err && is_redirected)
		err = hv_call_sites_check_modules(t->kernel, &layout->calls, tp);
	if (!err && is_redirected)
		err = add_calls(t, &state->calls, tp->iterator.v, ret);
	hv_plug_end_part(ret, 0);
	if (!err && is_redirected)
		err = hv_plug_add_word(t, state->static_call_at, state->static_call, tp->iterator.v,
				       ret);
	hv_plug_end_part(ret, 1);
	if (!err)
		err = hv_plug_add_word(t, tp->funcs, state->funcs,
				       hv_plug_array_funcs(t, layout, plug->index), ret);
	hv_plug_end_part(ret, 2);
	return err;
}

/* Whether the guest's array still has the probes of ARRAY that are not ours. */
static bool has_same(const struct hv_tracee *t, const struct hv_tracepoint_layout *l,
		     const struct hv_tracepoint_state *own, const struct hv_plug_array *array)
{
	size_t n = 0;

	for (size_t i = 0; i < array->nr; i++) {
		if (hv_plug_is_file(t, array->probes[i].data) || array->probes[i].func == l->stub.v)
			continue;
		while (n < own->nr_probes && own->probes[n].func == l->stub.v)
			n++;
		if (n == own->nr_probes || own->probes[n].func != array->probes[i].func ||
		    own->probes[n].data != array->probes[i].data)
			return false;
		n++;
	}
	while (n < own->nr_probes && own->probes[n].func == l->stub.v)
		n++;
	return n == own->nr_probes;
}

/* Reads the guest's array that ARRAY stands for. It is the guest's memory as long as the guest has
 * not put another array in the place of ours. */
static struct hv_err *read_own(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			       const struct hv_plug_array *array, struct hv_tracepoint_state *ret)
{
	struct hv_err *err = NULL;

	if (!array->stands_for || hv_gva_in(hv_gva(array->stands_for), t->range))
		err = hv_err_new(EINVAL, "the array of the guest's probes is lost");
	if (!err)
		err = hv_tracepoint_probes_at(t->kernel, layout, array->stands_for, ret);
	if (!err && !has_same(t, layout, ret, array)) {
		hv_tracepoint_state_deinit(ret);
		err = hv_err_new(EINVAL, "the array of the guest's probes at 0x%llx has others now",
				 (unsigned long long)array->stands_for);
	}
	return err;
}

/* Whether a call of CALLS is noted as changed by us. */
static bool has_changed_any(const struct hv_tracee *t, const struct hv_call_sites *calls)
{
	for (size_t i = 0; i < calls->nr; i++) {
		uint8_t before[8];
		struct hv_mapping m;
		HV_AUTO_ERR struct hv_err *err =
			hv_walk(&t->kernel->core.as, calls->list[i].at, &m);

		if (!err && m.present && hv_patcher_old_bytes(t->patcher, m.gpa, before))
			return true;
	}
	return false;
}

struct hv_err *hv_plug_leave_plan(const struct hv_tracee *t,
				  const struct hv_tracepoint_layout *layout,
				  const struct hv_tracepoint *tp,
				  const struct hv_tracepoint_state *state,
				  const struct hv_plug_array *array, struct hv_plug_changes *ret)
{
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state own = {0};
	struct hv_err *err = read_own(t, layout, array, &own);
	uint64_t target = 0;

	if (!err)
		err = hv_plug_add_word(t, tp->funcs, state->funcs, own.funcs, ret);
	if (err)
		return err;
	hv_plug_end_part(ret, 0);
	target = own_target(tp, &own);
	/* The iterator is right, too: a call that came with a module may not let it be changed, or
	 * an earlier session left it there. */
	if (!state->static_call || !has_changed_any(t, &state->calls) ||
	    !can_lead(t, &state->calls, target))
		return NULL;
	if (state->static_call != target)
		err = hv_plug_add_word(t, state->static_call_at, state->static_call, target, ret);
	hv_plug_end_part(ret, 1);
	if (!err)
		err = add_calls(t, &state->calls, target, ret);
	hv_plug_end_part(ret, 2);
	return err;
}

struct hv_err *hv_plug_calls_plan(const struct hv_tracee *t, const struct hv_tracepoint *tp,
				  const struct hv_tracepoint_state *state,
				  struct hv_plug_changes *ret)
{
	uint64_t target = own_target(tp, state);
	struct hv_err *err = NULL;

	if (!state->static_call || !has_changed_any(t, &state->calls) ||
	    !can_lead(t, &state->calls, target))
		return NULL;
	if (state->static_call != target)
		err = hv_plug_add_word(t, state->static_call_at, state->static_call, target, ret);
	hv_plug_end_part(ret, 0);
	if (!err)
		err = add_calls(t, &state->calls, target, ret);
	hv_plug_end_part(ret, 1);
	return err;
}

struct hv_err *hv_plug_no_probe_plan(const struct hv_tracee *t, const struct hv_tracepoint *tp,
				     const struct hv_tracepoint_state *state,
				     struct hv_plug_changes *ret)
{
	bool leads = state->calls.nr && all_lead_to(&state->calls, state->static_call) &&
		     can_lead(t, &state->calls, tp->iterator.v);
	struct hv_err *err = NULL;

	/* The calls come first, since the warden knows by them what the key may lead to. */
	if (leads)
		err = add_calls(t, &state->calls, tp->iterator.v, ret);
	hv_plug_end_part(ret, 2);
	if (!err && leads && state->static_call != tp->iterator.v)
		err = hv_plug_add_word(t, state->static_call_at, state->static_call, tp->iterator.v,
				       ret);
	hv_plug_end_part(ret, 3);
	return err;
}
