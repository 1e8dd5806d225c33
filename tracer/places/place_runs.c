/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/places/place_runs.h"

static uint64_t end_of(const struct hv_probe_place *place)
{
	return place->at.v + place->len_bytes;
}

bool hv_place_runs_meet(const struct hv_place_run *a, const struct hv_place_run *b)
{
	return a->head.at.v < end_of(&b->head) && b->head.at.v < end_of(&a->head);
}

bool hv_place_run_records(const struct hv_place_run *run, struct hv_gva at, unsigned slot)
{
	for (unsigned i = 0; i < run->nr_probes; i++)
		if (run->head.at.v + run->probes[i].off == at.v && run->probes[i].slot == slot)
			return true;
	return false;
}

bool hv_place_run_has(const struct hv_place_run *b, const struct hv_place_run *a)
{
	for (unsigned i = 0; i < a->nr_probes; i++)
		if (!hv_place_run_records(b, hv_gva_add(a->head.at, a->probes[i].off),
					  a->probes[i].slot))
			return false;
	return true;
}

/* Returns whether an instruction that HEAD replaces begins at AT. */
static bool begins_in(const struct hv_probe_place *head, struct hv_gva at)
{
	uint64_t off = at.v - head->at.v;

	return off < head->len_bytes && off < HV_DETOUR_INSN_MAX && head->begins >> off & 1;
}

/* Returns the head of the run with PLACE. No run begins before START. */
static const struct hv_probe_place *find_head(const struct hv_probe_place *place, uint64_t start,
					      const struct hv_place_run *now, size_t nr_now)
{
	for (size_t i = 0; i < nr_now; i++)
		if (now[i].head.at.v >= start && begins_in(&now[i].head, place->at))
			return &now[i].head;
	return place;
}

static bool add(struct hv_place_run *run, const struct hv_place_want *want)
{
	if (!begins_in(&run->head, want->place.at) || run->nr_probes == HV_DETOUR_PROBES_MAX)
		return false;
	run->probes[run->nr_probes++] = (struct hv_detour_probe){
		.off = (unsigned)(want->place.at.v - run->head.at.v),
		.slot = want->slot,
	};
	return true;
}

size_t hv_place_runs_plan(struct hv_place_want *wants, size_t nr, const struct hv_place_run *now,
			  size_t nr_now, struct hv_place_run *ret)
{
	uint64_t end = 0; /* end of the last run */
	size_t nr_runs = 0;

	for (size_t i = 0; i < nr; i++) {
		if (wants[i].is_refused)
			continue;
		if (!nr_runs || wants[i].place.at.v >= end) {
			const struct hv_probe_place *head =
				find_head(&wants[i].place, end, now, nr_now);

			ret[nr_runs++] = (struct hv_place_run){.head = *head};
			end = end_of(head);
		}
		wants[i].is_refused = !add(&ret[nr_runs - 1], &wants[i]);
	}
	return nr_runs;
}
