/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/places.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/probe_place.h"
#include "tracer/actions.h"
#include "tracer/detours.h"
#include "tracer/tracee.h"

struct hv_places {
	struct hv_tracee *tracee;      /* borrowed */
	struct hv_actions *actions;    /* borrowed */
	struct hv_detours *detours;    /* owned */
	struct hv_detour_want *wanted; /* owned: what leads to detours, or is refused */
	size_t nr;
};

struct hv_places *hv_places_new(struct hv_tracee *t, struct hv_actions *a)
{
	struct hv_places *p = hv_alloc(sizeof(*p));

	p->tracee = t;
	p->actions = a;
	p->detours = hv_detours_new(t, HV_CHANGE_PLACE);
	return p;
}

void hv_places_free(struct hv_places *p)
{
	if (!p)
		return;
	hv_detours_free(p->detours);
	free(p->wanted);
	free(p);
}

/* -- what is possible -------------------------------------------------------------------------- */

/* Adds what the text had where changes of KIND are. */
static size_t add_own(const struct hv_tracee *t, enum hv_change_kind kind,
		      struct hv_own_bytes **list, size_t nr)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr_undo = hv_patcher_undo_plan(t->patcher, kind, &undo);

	*list = hv_realloc_array(*list, nr + nr_undo + 1, sizeof(**list));
	for (size_t i = 0; i < nr_undo; i++) {
		struct hv_own_bytes *own = &(*list)[nr++];

		*own = (struct hv_own_bytes){.at = undo[i].gva, .len_bytes = undo[i].len_bytes};
		memcpy(own->bytes, undo[i].to, undo[i].len_bytes);
	}
	return nr;
}

/* What is replaced of an instruction may be less than all of it. */
static bool overlaps(const struct hv_own_bytes *own, const struct hv_probe_place *place)
{
	return own->at.v < place->at.v + place->len_bytes &&
	       place->at.v < own->at.v + HV_DETOUR_INSN_MAX && own->at.v != place->at.v;
}

struct hv_err *hv_places_find(const struct hv_places *p, struct hv_gva at,
			      struct hv_probe_place *ret)
{
	HV_AUTO_FREE struct hv_own_bytes *own = NULL;
	size_t nr_places = add_own(p->tracee, HV_CHANGE_PLACE, &own, 0);
	size_t nr = add_own(p->tracee, HV_CHANGE_DETOUR, &own, nr_places);

	return hv_probe_place_read(p->tracee->kernel, at, own, nr, ret);
}

/* Two jumps must not be written over one another, even if the bytes would allow it. */
static bool is_free(const struct hv_places *p, const struct hv_probe_place *place)
{
	HV_AUTO_FREE struct hv_own_bytes *own = NULL;
	size_t nr_places = add_own(p->tracee, HV_CHANGE_PLACE, &own, 0);
	size_t nr = add_own(p->tracee, HV_CHANGE_DETOUR, &own, nr_places);

	for (size_t i = 0; i < nr; i++)
		if (overlaps(&own[i], place) || (i >= nr_places && own[i].at.v == place->at.v))
			return false;
	return true;
}

/* -- what is on -------------------------------------------------------------------------------- */

static bool is_wanted(void *ctx, struct hv_gva at)
{
	const struct hv_places *p = ctx;

	for (size_t i = 0; i < p->nr; i++)
		if (p->wanted[i].at.v == at.v && !p->wanted[i].is_refused)
			return true;
	return false;
}

static bool is_near(const struct hv_detour_want *a, const struct hv_probe_place *b)
{
	return a->at.v < b->at.v + b->len_bytes && b->at.v < a->at.v + a->len_bytes;
}

/* The first of two that overlap counts. */
static bool is_beside_all(const struct hv_places *p, const struct hv_probe_place *place)
{
	for (size_t i = 0; i < p->nr; i++)
		if (!p->wanted[i].is_refused && is_near(&p->wanted[i], place))
			return false;
	return true;
}

static struct hv_err *add_want(struct hv_places *p, size_t number)
{
	struct hv_probe_place place;
	struct hv_detour_want want = {.kind = HV_DETOUR_PLACE};
	struct hv_err *err = hv_actions_place(p->actions, number, &place, &want.slot);

	if (err)
		return err;
	want.at = place.at;
	want.len_bytes = place.len_bytes;
	want.nr_insns = place.nr;
	memcpy(want.insn, place.insns, sizeof(want.insn));
	want.is_refused = !is_beside_all(p, &place) || !is_free(p, &place);
	p->wanted[p->nr++] = want;
	return NULL;
}

/* Places are few: each is replaced by itself, so that one which cannot be does not matter to the
 * others. */
struct hv_err *hv_places_begin(struct hv_places *p)
{
	size_t nr = hv_actions_nr_places(p->actions);
	struct hv_err *err = NULL;

	free(p->wanted);
	p->wanted = hv_alloc((nr + 1) * sizeof(*p->wanted));
	p->nr = 0;
	for (size_t i = 0; !err && i < nr; i++)
		err = add_want(p, i);
	for (size_t i = 0; !err && i < p->nr; i++) {
		size_t nr_refused;

		if (!p->wanted[i].is_refused)
			err = hv_detours_patch(p->detours, &p->wanted[i], 1, &nr_refused);
	}
	if (err) {
		p->nr = 0;
		hv_err_keep_first(&err, hv_places_end(p));
	}
	return err;
}

struct hv_err *hv_places_end(struct hv_places *p)
{
	size_t unused;
	struct hv_err *err = hv_detours_put_back(p->tracee, HV_CHANGE_PLACE, is_wanted, p, &unused);

	if (!err || err->code != EBUSY)
		return err;
	hv_err_free(err);
	return NULL;
}

bool hv_places_has(const struct hv_places *p, struct hv_gva at)
{
	return is_wanted((void *)p, at);
}
