/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/detours_code.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/preempt_sites.h"

#define CHUNK 128 /* blocks that are written in one hold */

/* -- their code -------------------------------------------------------------------------------- */

static size_t stub_off(const struct hv_stub_image *stubs, const struct hv_detour_want *want)
{
	switch (want->kind) {
	case HV_DETOUR_BEGINS:
		return stubs->section_begins_off;
	case HV_DETOUR_ENDS:
		return want->misses_beginning ? stubs->section_ends_unless_missed_off
					      : stubs->section_ends_off;
	case HV_DETOUR_CALL_BEGINS:
		return stubs->idle_ends_off;
	case HV_DETOUR_CALL_ENDS:
		return stubs->idle_begins_off;
	case HV_DETOUR_IRQS_OFF:
		return stubs->irqs_off_off;
	case HV_DETOUR_ARRIVES:
		return stubs->irq_arrives_off;
	case HV_DETOUR_IRQS_ON:
		return want->misses_beginning ? stubs->irqs_on_unless_missed_off
					      : stubs->irqs_on_off;
	case HV_DETOUR_RETURNS:
		return stubs->irqs_on_off;
	case HV_DETOUR_PLACE:
		return stubs->place_off;
	}
	return 0;
}

/* A call or a jump goes on at its target, everything else behind itself. */
static struct hv_gva goes_on(const struct hv_tracee *t, const struct hv_detour_want *want)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva target;

	if (hv_detour_is_call(want->kind) ||
	    (want->kind == HV_DETOUR_RETURNS &&
	     arch->classify_site(want->insn, want->at, &target) == HV_SITE_JUMP))
		return want->calls;
	return hv_gva_add(want->at, want->len_bytes);
}

/* NR: of the first block, in the region. */
static size_t make(const struct hv_tracee *t, const struct hv_detour_want *want, size_t nr,
		   uint8_t *code)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva stubs = hv_gva_add(t->range.start, HV_STUBS_CODE_OFF);
	struct hv_detour d = {
		.kind = want->kind,
		.at = hv_detour_at(t, nr),
		.next = goes_on(t, want),
		.stub = hv_gva_add(stubs, stub_off(&arch->stubs, want)),
		.target = want->calls,
		.insn = want->insn,
		.count = want->count,
		.percpu = t->kernel->layout.preempt_count_percpu,
		.flag = HV_PREEMPT_FLAG,
		.has_caller = want->has_caller,
		.caller_off = want->caller_off,
		.place = want->at,
		.len_bytes = want->len_bytes,
		.nr_probes = want->nr_probes,
	};

	memcpy(d.probes, want->probes, sizeof(d.probes));
	return arch->make_detour(&d, code);
}

_Static_assert(HV_DETOUR_LEN % HV_SITE_LEN_MAX == 0, "whole writes");
#define WRITES (HV_DETOUR_LEN / HV_SITE_LEN_MAX)

static void plan_code(struct hv_gpa at, const uint8_t *code, struct hv_hold_write *writes)
{
	for (size_t i = 0; i < WRITES; i++) {
		writes[i].gpa = hv_gpa_add(at, i * HV_SITE_LEN_MAX);
		writes[i].len_bytes = HV_SITE_LEN_MAX;
		writes[i].is_text = true;
		memcpy(writes[i].bytes, code + i * HV_SITE_LEN_MAX, HV_SITE_LEN_MAX);
	}
}

/* Writes the NR blocks of these NUMBERS. */
static struct hv_err *write_chunk(struct hv_detours *d, const size_t *numbers, size_t nr)
{
	HV_AUTO_FREE struct hv_hold_write *writes = hv_alloc(nr * WRITES * sizeof(*writes));
	struct hv_gpa gpa = hv_gpa_add(d->tracee->region.gpa, HV_REGION_DETOURS_OFF);
	struct hv_err *err;

	for (size_t i = 0; i < nr; i++) {
		size_t number = numbers[i], first = number;
		uint8_t code[HV_DETOUR_LEN_MAX];

		while (!d->list[first].nr)
			first--;
		if (!make(d->tracee, &d->list[first].is, d->first + first, code))
			return hv_err_new(ERANGE, "the detour of 0x%llx cannot be made",
					  (unsigned long long)d->list[first].is.at.v);
		plan_code(hv_gpa_add(gpa, (d->first + number) * HV_DETOUR_LEN),
			  code + (number - first) * HV_DETOUR_LEN, &writes[i * WRITES]);
	}
	err = hv_patcher_write(d->tracee->patcher, writes, nr * WRITES);
	for (size_t i = 0; !err && i < nr; i++)
		d->list[numbers[i]].is_written = true;
	return err;
}

struct hv_err *hv_detours_write(struct hv_detours *d)
{
	size_t numbers[CHUNK], nr = 0;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < d->nr; i++) {
		if (!d->list[i].is_free && !d->list[i].is_written)
			numbers[nr++] = i;
		if (nr < CHUNK)
			continue;
		err = write_chunk(d, numbers, nr);
		nr = 0;
	}
	return err || !nr ? err : write_chunk(d, numbers, nr);
}

/* -- which instruction has which detour -------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

struct place *hv_detours_places(const struct hv_detours *d)
{
	struct place *places = hv_alloc((d->nr + 1) * sizeof(*places));

	for (size_t i = 0; i < d->nr; i++)
		places[i] = (struct place){d->list[i].is.at.v, i};
	qsort(places, d->nr, sizeof(*places), by_address);
	return places;
}

/* Whether the detour for WAS is right for WANT, at the same address: a module that was unloaded may
 * have left its place to another one. */
static bool is_same(const struct hv_detour_want *was, const struct hv_detour_want *want)
{
	return was->kind == want->kind && was->len_bytes == want->len_bytes &&
	       was->calls.v == want->calls.v && was->has_caller == want->has_caller &&
	       was->misses_beginning == want->misses_beginning &&
	       was->caller_off == want->caller_off && was->nr_probes == want->nr_probes &&
	       memcmp(was->probes, want->probes, sizeof(was->probes)) == 0 &&
	       memcmp(was->insn, want->insn, want->len_bytes) == 0;
}

/* The detour of PLACES that is right for WANT; NULL: none is. An address may have several. */
static const struct place *find_same(const struct hv_detours *d, const struct place *places,
				     size_t nr, const struct hv_detour_want *want)
{
	const struct place key = {.at = want->at.v};
	const struct place *found = nr ? bsearch(&key, places, nr, sizeof(key), by_address) : NULL;

	while (found && found > places && found[-1].at == key.at)
		found--;
	for (; found && found < places + nr && found->at == key.at; found++)
		if (d->list[found->nr].nr && !d->list[found->nr].is_free &&
		    is_same(&d->list[found->nr].is, want))
			return found;
	return NULL;
}

/* Where NR blocks in a row are free; SIZE_MAX: nowhere. */
static size_t find_free(const struct hv_detours *d, size_t nr)
{
	size_t nr_found = 0;

	for (size_t i = 0; i < d->nr; i++) {
		nr_found = d->list[i].is_free ? nr_found + 1 : 0;
		if (nr_found == nr)
			return i + 1 - nr;
	}
	return SIZE_MAX;
}

/* Adds a detour. Returns its number; SIZE_MAX: it cannot be made, or there is no room, which
 * *NR_WITHOUT then counts. */
static size_t add_detour(struct hv_detours *d, const struct hv_detour_want *want,
			 size_t *nr_without)
{
	uint8_t code[HV_DETOUR_LEN_MAX];
	size_t number = d->nr, nr_blocks = make(d->tracee, want, d->first, code);

	if (nr_blocks > d->max - number) {
		number = find_free(d, nr_blocks);
		*nr_without += number == SIZE_MAX;
	}
	if (!nr_blocks || number == SIZE_MAX || !make(d->tracee, want, d->first + number, code))
		return SIZE_MAX;
	if (number == d->nr) {
		d->nr += nr_blocks;
		d->list = hv_realloc_array(d->list, d->nr, sizeof(*d->list));
	}
	for (size_t i = 0; i < nr_blocks; i++)
		d->list[number + i] = (struct block){.is = *want};
	d->list[number].nr = (unsigned)nr_blocks;
	return number;
}

size_t hv_detours_choose(struct hv_detours *d, const struct hv_detour_want *wants, size_t nr,
			 size_t *numbers)
{
	HV_AUTO_FREE struct place *places = hv_detours_places(d);
	size_t nr_places = d->nr, nr_without = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct place *found = find_same(d, places, nr_places, &wants[i]);

		numbers[i] = found ? found->nr : add_detour(d, &wants[i], &nr_without);
	}
	return nr_without;
}
