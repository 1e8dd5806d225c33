/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/detours.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/kernel_arch.h"
#include "kernel/preempt_sites.h"
#include "kernel/tasks.h"
#include "patcher/probed.h"
#include "tracer/tracee.h"

#define CHUNK	  128 /* detours that are written in one hold */
#define TRIES_MAX 100 /* holds, to replace instructions that no task is inside of */

const char *const hv_idle_functions[2] = {"tick_nohz_idle_enter", "tick_nohz_idle_exit"};

struct hv_detours {
	struct hv_tracee *tracee; /* borrowed */
	enum hv_change_kind kind;
	size_t first, max;	     /* numbers, in the region */
	struct hv_detour_want *list; /* owned; by the number of the detour */
	size_t nr;
	size_t nr_written; /* have their code in the region */
};

/* The number in the region of the first detour of KIND. */
static size_t first_of(enum hv_change_kind kind)
{
	return kind == HV_CHANGE_PLACE ? HV_REGION_NR_DETOURS - HV_REGION_NR_PLACES : 0;
}

struct hv_detours *hv_detours_new(struct hv_tracee *t, enum hv_change_kind kind)
{
	struct hv_detours *d = hv_alloc(sizeof(*d));

	d->tracee = t;
	d->kind = kind;
	d->first = first_of(kind);
	d->max = kind == HV_CHANGE_PLACE ? HV_REGION_NR_PLACES
					 : HV_REGION_NR_DETOURS - HV_REGION_NR_PLACES;
	return d;
}

void hv_detours_free(struct hv_detours *d)
{
	if (!d)
		return;
	free(d->list);
	free(d);
}

struct hv_gva hv_detours_start(const struct hv_tracee *t, enum hv_change_kind kind)
{
	return hv_gva_add(t->range.start, HV_REGION_DETOURS_OFF - HV_REGION_STUBS_OFF +
						  first_of(kind) * HV_DETOUR_LEN);
}

/* NR: in the region. */
static struct hv_gva detour_at(const struct hv_tracee *t, size_t nr)
{
	return hv_gva_add(t->range.start,
			  HV_REGION_DETOURS_OFF - HV_REGION_STUBS_OFF + nr * HV_DETOUR_LEN);
}

bool hv_detours_find(const struct hv_detours *d, uint32_t place, struct hv_gva *ret)
{
	uint32_t off = place - (uint32_t)detour_at(d->tracee, d->first).v;

	if (off / HV_DETOUR_LEN >= d->nr)
		return false;
	*ret = d->list[off / HV_DETOUR_LEN].at;
	return true;
}

static bool is_call(enum hv_detour_kind kind)
{
	return kind == HV_DETOUR_CALL_BEGINS || kind == HV_DETOUR_CALL_ENDS ||
	       kind == HV_DETOUR_ARRIVES;
}

/* Whether what is replaced is an instruction and the nops behind it, or several instructions. A
 * task may have been interrupted between them, and would go on inside the jump. */
static bool has_parts(const struct hv_detour_want *want)
{
	return want->kind == HV_DETOUR_IRQS_OFF || want->kind == HV_DETOUR_IRQS_ON ||
	       want->nr_insns > 1;
}

/* -- their code -------------------------------------------------------------------------------- */

static size_t stub_off(const struct hv_stub_image *stubs, enum hv_detour_kind kind)
{
	switch (kind) {
	case HV_DETOUR_BEGINS:
		return stubs->section_begins_off;
	case HV_DETOUR_ENDS:
		return stubs->section_ends_off;
	case HV_DETOUR_CALL_BEGINS:
		return stubs->idle_ends_off;
	case HV_DETOUR_CALL_ENDS:
		return stubs->idle_begins_off;
	case HV_DETOUR_IRQS_OFF:
		return stubs->irqs_off_off;
	case HV_DETOUR_ARRIVES:
		return stubs->irq_arrives_off;
	case HV_DETOUR_IRQS_ON:
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

	if (is_call(want->kind) ||
	    (want->kind == HV_DETOUR_RETURNS &&
	     arch->classify_site(want->insn, want->at, &target) == HV_SITE_JUMP))
		return want->calls;
	return hv_gva_add(want->at, want->len_bytes);
}

static bool make(const struct hv_tracee *t, const struct hv_detour_want *want, size_t nr,
		 uint8_t *code)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva stubs = hv_gva_add(t->range.start, HV_STUBS_CODE_OFF);
	const struct hv_detour d = {
		.kind = want->kind,
		.at = detour_at(t, nr),
		.next = goes_on(t, want),
		.stub = hv_gva_add(stubs, stub_off(&arch->stubs, want->kind)),
		.target = want->calls,
		.insn = want->insn,
		.count = want->count,
		.percpu = t->kernel->layout.preempt_count_percpu,
		.flag = HV_PREEMPT_FLAG,
		.has_caller = want->has_caller,
		.caller_off = want->caller_off,
		.place = want->at,
		.len_bytes = want->len_bytes,
		.slot = want->slot,
	};

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

/* Writes the code of the next NR. */
static struct hv_err *write_chunk(struct hv_detours *d, size_t nr)
{
	HV_AUTO_FREE struct hv_hold_write *writes = hv_alloc(nr * WRITES * sizeof(*writes));
	struct hv_gpa gpa = hv_gpa_add(d->tracee->region.gpa, HV_REGION_DETOURS_OFF);

	for (size_t i = 0; i < nr; i++) {
		size_t number = d->nr_written + i;
		uint8_t code[HV_DETOUR_LEN];

		if (!make(d->tracee, &d->list[number], d->first + number, code))
			return hv_err_new(ERANGE, "the detour of 0x%llx cannot be made",
					  (unsigned long long)d->list[number].at.v);
		plan_code(hv_gpa_add(gpa, (d->first + number) * HV_DETOUR_LEN), code,
			  &writes[i * WRITES]);
	}
	return hv_patcher_write(d->tracee->patcher, writes, nr * WRITES);
}

/* Writes the code of all that have none yet. */
static struct hv_err *write_code(struct hv_detours *d)
{
	while (d->nr_written < d->nr) {
		size_t left = d->nr - d->nr_written, nr = left < CHUNK ? left : CHUNK;
		struct hv_err *err = write_chunk(d, nr);

		if (err)
			return err;
		d->nr_written += nr;
	}
	return NULL;
}

/* -- which instruction has which detour -------------------------------------------------------- */

/* A detour and the place in the guest that it is for. */
struct place {
	uint64_t at;
	size_t nr;
};

static int by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static struct place *sorted_places(const struct hv_detours *d)
{
	struct place *places = hv_alloc((d->nr + 1) * sizeof(*places));

	for (size_t i = 0; i < d->nr; i++)
		places[i] = (struct place){d->list[i].at.v, i};
	qsort(places, d->nr, sizeof(*places), by_address);
	return places;
}

/* Whether the detour for WAS is right for WANT, at the same address: a module that was unloaded may
 * have left its place to another one. */
static bool is_same(const struct hv_detour_want *was, const struct hv_detour_want *want)
{
	return was->kind == want->kind && was->len_bytes == want->len_bytes &&
	       was->calls.v == want->calls.v && was->has_caller == want->has_caller &&
	       was->caller_off == want->caller_off && was->slot == want->slot &&
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
		if (is_same(&d->list[found->nr], want))
			return found;
	return NULL;
}

/* Chooses the number of the detour for each of WANTS; SIZE_MAX: there is no room. New ones are
 * added behind the others. */
static void choose(struct hv_detours *d, const struct hv_detour_want *wants, size_t nr,
		   size_t *numbers)
{
	HV_AUTO_FREE struct place *places = sorted_places(d);
	size_t nr_places = d->nr;

	d->list = hv_realloc_array(d->list, d->nr + nr, sizeof(*d->list));
	for (size_t i = 0; i < nr; i++) {
		const struct place *found = find_same(d, places, nr_places, &wants[i]);

		if (found) {
			numbers[i] = found->nr;
		} else if (d->nr < d->max) {
			numbers[i] = d->nr;
			d->list[d->nr++] = wants[i];
		} else {
			numbers[i] = SIZE_MAX;
		}
	}
}

/* -- the guest's text -------------------------------------------------------------------------- */

/* A place may lead to another detour, for another slot: then it is what is replaced. */
static void take_present(const struct hv_tracee *t, struct hv_change *change)
{
	uint8_t old[8], now[HV_DETOUR_PATCH_MAX];
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_gva target;

	if (!hv_patcher_old_bytes(t->patcher, change->gpa, old) ||
	    memcmp(old, change->from, change->len_bytes) != 0)
		return;
	err = hv_guest_read(t->guest, change->gpa, now, change->len_bytes);
	if (!err &&
	    t->kernel->core.as.arch->classify_site(now, change->gva, &target) == HV_SITE_JUMP &&
	    hv_gva_in(target, t->range))
		memcpy(change->from, now, change->len_bytes);
}

/* False: it is not mapped, or the detour is out of reach. */
static bool plan(const struct hv_detours *d, const struct hv_detour_want *want, size_t number,
		 struct hv_change *ret)
{
	const struct hv_tracee *t = d->tracee;
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(&t->kernel->core.as, want->at, &m);
	size_t len = arch->site_len_bytes;

	if (err || !m.present || number == SIZE_MAX)
		return false;
	*ret = (struct hv_change){.gva = want->at, .gpa = m.gpa, .kind = d->kind};
	if (!is_call(want->kind))
		len = arch->encode_detour_jump(want->len_bytes, want->at,
					       detour_at(t, d->first + number), ret->to);
	else if (!arch->encode_call(want->at, detour_at(t, d->first + number), ret->to))
		return false;
	memcpy(ret->from, want->insn, len);
	ret->len_bytes = (uint32_t)len;
	if (d->kind == HV_CHANGE_PLACE)
		take_present(t, ret);
	return len && m.len_bytes >= len;
}

/* Changes of instructions with their nops, which are made in one hold. */
struct parts {
	struct hv_tracee *tracee;
	struct hv_change *changes; /* sorted by physical address */
	size_t nr;
	uint64_t *inside; /* sorted: every address of an instruction behind the first one's */
	size_t nr_inside;
	bool is_used; /* some task would go on inside one */
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* For hv_stacks_scan(): whether WORD does not count. */
static bool is_outside(void *ctx, struct hv_gva at, uint64_t word)
{
	const struct parts *p = ctx;

	(void)at;
	return !bsearch(&word, p->inside, p->nr_inside, sizeof(word), by_value);
}

static struct hv_err *replace_parts(struct hv_hold *hold, void *ctx)
{
	struct parts *p = ctx;
	struct hv_tracee *t = p->tracee;
	const struct hv_scan_for wanted = {.range = t->kernel->core.as.arch->image_window,
					   .how = HV_SCAN_CALLS,
					   .is_known = is_outside,
					   .ctx = p};
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	size_t nr_found = 0;
	struct hv_err *err = hv_hold_registers(hold, regs);

	if (!err)
		err = hv_stacks_scan(t->kernel, &wanted, regs, nr_vcpus, &nr_found, NULL);
	for (unsigned cpu = 0; !err && cpu < nr_vcpus; cpu++)
		nr_found += !is_outside(p, regs[cpu].ip, regs[cpu].ip.v);
	p->is_used = nr_found;
	if (err || nr_found)
		return err;
	return hv_patcher_apply_held(t->patcher, hold, p->changes, p->nr);
}

static struct hv_err *apply_parts(struct hv_tracee *t, struct hv_change *changes, size_t nr)
{
	struct parts p = {.tracee = t, .changes = changes, .nr = nr};
	unsigned nr_waits = 0;
	struct hv_err *err = NULL;

	p.inside = hv_alloc((nr * HV_DETOUR_PATCH_MAX + 1) * sizeof(*p.inside));
	for (size_t i = 0; i < nr; i++)
		for (uint32_t off = 1; off < changes[i].len_bytes; off++)
			p.inside[p.nr_inside++] = changes[i].gva.v + off;
	qsort(p.inside, p.nr_inside, sizeof(*p.inside), by_value);
	for (unsigned try = 0; !err && try < TRIES_MAX; try++) {
		do
			err = hv_patcher_held(t->patcher, replace_parts, &p);
		while (hv_probed_waits(&err, &nr_waits));
		if (!p.is_used)
			break;
	}
	free(p.inside);
	if (!err && p.is_used)
		err = hv_err_new(EBUSY, "a task was interrupted inside an instruction that is to be"
					" replaced with its nops");
	return err;
}

static int by_gpa(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_change *)a)->gpa.v, y = ((const struct hv_change *)b)->gpa.v;

	return x < y ? -1 : x > y;
}

/* Changes, and whether they are to stay while all others are put back. */
struct others {
	const struct hv_change *changes;
	size_t nr;
};

static bool is_of_others(void *ctx, struct hv_gva at)
{
	const struct others *o = ctx;

	for (size_t i = 0; i < o->nr; i++)
		if (o->changes[i].gva.v == at.v)
			return false;
	return true;
}

/* Makes the first NR_WHOLE changes, then those of instructions with others behind them. */
static struct hv_err *apply(struct hv_tracee *t, enum hv_change_kind kind,
			    struct hv_change *changes, size_t nr_whole, size_t nr)
{
	struct hv_err *err = hv_patcher_apply(t->patcher, changes, nr_whole);
	struct others others = {changes, nr};

	qsort(changes + nr_whole, nr - nr_whole, sizeof(*changes), by_gpa);
	for (size_t done = nr_whole; !err && done < nr;) {
		size_t n = nr - done < CHUNK ? nr - done : CHUNK;

		err = apply_parts(t, changes + done, n);
		done += n;
	}
	if (err) {
		size_t nr_put_back;

		hv_err_keep_first(
			&err, hv_detours_put_back(t, kind, is_of_others, &others, &nr_put_back));
	}
	return err;
}

/* Adds the changes of those of WANTS that have parts, or of the others. */
static size_t plan_all(const struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
		       const size_t *numbers, unsigned parts, struct hv_change *ret)
{
	size_t nr_changes = 0;

	for (size_t i = 0; i < nr; i++) {
		if (has_parts(&wants[i]) != parts)
			continue;
		wants[i].is_refused = !plan(d, &wants[i], numbers[i], &ret[nr_changes]);
		nr_changes += !wants[i].is_refused;
	}
	return nr_changes;
}

static int by_gva(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_change *)a)->gva.v, y = ((const struct hv_change *)b)->gva.v;

	return x < y ? -1 : x > y;
}

/* Notes in WANTS which of the changes were refused. Returns the number of wants that were. */
static size_t note_refused(struct hv_detour_want *wants, size_t nr, struct hv_change *changes,
			   size_t nr_changes)
{
	size_t nr_refused = 0;

	qsort(changes, nr_changes, sizeof(*changes), by_gva);
	for (size_t i = 0; i < nr; i++) {
		const struct hv_change key = {.gva = wants[i].at}, *change = NULL;

		if (nr_changes)
			change = bsearch(&key, changes, nr_changes, sizeof(key), by_gva);
		wants[i].is_refused |= change && change->refused;
		nr_refused += wants[i].is_refused;
	}
	return nr_refused;
}

struct hv_err *hv_detours_patch(struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
				size_t *ret_refused)
{
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((nr + 1) * sizeof(*changes));
	HV_AUTO_FREE size_t *numbers = hv_alloc((nr + 1) * sizeof(*numbers));
	size_t nr_whole, nr_changes;
	struct hv_own_probes_layout unused;
	struct hv_err *err = hv_own_probes_find(&d->tracee->kernel->core, &unused);

	if (err)
		return err;
	choose(d, wants, nr, numbers);
	err = write_code(d);
	if (err)
		return err;
	nr_whole = plan_all(d, wants, nr, numbers, 0, changes);
	nr_changes = nr_whole + plan_all(d, wants, nr, numbers, 1, changes + nr_whole);
	err = apply(d->tracee, d->kind, changes, nr_whole, nr_changes);
	if (err)
		return err;
	*ret_refused = note_refused(wants, nr, changes, nr_changes);
	return NULL;
}

struct hv_err *hv_detours_put_back(struct hv_tracee *t, enum hv_change_kind kind, hv_keeps_fn keeps,
				   void *ctx, size_t *ret_nr)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	struct hv_err *err;
	size_t nr_all, nr = 0;

	hv_patcher_forget_gone(t->patcher);
	nr_all = hv_patcher_undo_plan(t->patcher, kind, &undo);
	for (size_t i = 0; i < nr_all; i++)
		if (!keeps || !keeps(ctx, undo[i].gva))
			undo[nr++] = undo[i];
	*ret_nr = 0;
	if (!nr)
		return NULL;
	err = hv_patcher_apply(t->patcher, undo, nr);
	if (err)
		return err;
	*ret_nr = nr_all - hv_patcher_nr_patched(t->patcher, kind);
	for (size_t i = 0; i < nr; i++)
		if (undo[i].refused)
			return hv_err_new(EBUSY,
					  "0x%llx: the guest has a kprobe of its own, on or off, on"
					  " an instruction that leads to a detour",
					  (unsigned long long)undo[i].gva.v);
	return NULL;
}
