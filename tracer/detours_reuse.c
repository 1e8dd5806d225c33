/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks of detours of places may have other code: those to which nothing in the guest leads,
 * and in which no task is or will return. Nothing leads to a detour when its place was put back, or
 * leads to another one. Whoever was in it then may still be: it was interrupted, or has called the
 * stub, which may sleep where it reads memory. All of them have an address of the block on a stack
 * or are the vCPU's own. A kprobe of the guest's own may have copied the jump of a place, so while
 * one is there, its detours stay, and as long as somebody has an address in the place: who is in
 * the handler of a breakpoint goes on to the copy, also when the kprobe is gone. (A kernel
 * before 5.13 may be stepping through the copy then, and have no such address: a kprobe that goes
 * in the same moment in which the table is full is not seen there.) Once nobody is in a block,
 * nobody comes into it, so no hold is needed from this look on until its code is written. */
#include <stdlib.h>

#include "kernel/tasks.h"
#include "patcher/probed.h"
#include "tracer/detours_code.h"

struct looking {
	const struct hv_detours *detours;
	struct place *places; /* owned; sorted by address */
	bool *in_use;	      /* owned; of each block */
	bool is_clear;	      /* false: it cannot be told who is where */
};

static void looking_deinit(struct looking *l)
{
	free(l->places);
	free(l->in_use);
}

/* The index of the first place behind ADDRESS. */
static size_t first_behind(const struct looking *l, uint64_t address)
{
	size_t low = 0, high = l->detours->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->places[middle].at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void note_in_place(struct looking *l, uint64_t address)
{
	for (size_t i = first_behind(l, address); i-- > 0;) {
		uint64_t off = address - l->places[i].at;

		if (off > HV_DETOUR_INSN_MAX)
			break;
		if (off <= l->detours->list[l->places[i].nr].is.len_bytes)
			l->in_use[l->places[i].nr] = true;
	}
}

/* From the first place to the last one. */
static struct hv_gva_range places_of(const struct looking *l)
{
	size_t nr = l->detours->nr, first = first_behind(l, 0); /* free blocks have none */

	if (first == nr)
		return (struct hv_gva_range){0};
	return (struct hv_gva_range){{l->places[first].at},
				     {l->places[nr - 1].at + HV_DETOUR_INSN_MAX + 1}};
}

static void note(struct looking *l, uint64_t address)
{
	const struct hv_detours *d = l->detours;
	uint64_t nr = (address - hv_detour_at(d->tracee, d->first).v) / HV_DETOUR_LEN;

	if (nr < d->nr)
		l->in_use[nr] = true;
	note_in_place(l, address);
}

/* For hv_stacks_scan(): every word is known afterwards. */
static bool note_word(void *ctx, struct hv_gva at, uint64_t word)
{
	(void)at;
	note(ctx, word);
	return true;
}

/* What the guest has at a place now may be a breakpoint of its own: what was written counts, too.
 */
static struct hv_err *note_jumps(struct looking *l)
{
	const struct hv_tracee *t = l->detours->tracee;
	const struct hv_arch *arch = t->kernel->core.as.arch;
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(t->patcher, l->detours->kind, &undo);
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++) {
		uint8_t now[HV_DETOUR_PATCH_MAX];
		struct hv_gva target;

		if (arch->classify_site(undo[i].from, undo[i].gva, &target) == HV_SITE_JUMP)
			note(l, target.v);
		err = hv_guest_read(t->guest, undo[i].gpa, now, undo[i].len_bytes);
		if (!err && arch->classify_site(now, undo[i].gva, &target) == HV_SITE_JUMP)
			note(l, target.v);
	}
	return err;
}

/* *RET false: kprobes come or go just now. */
static struct hv_err *note_probed(struct looking *l, bool *ret)
{
	const struct hv_detours *d = l->detours;
	const struct hv_tracee *t = d->tracee;
	struct hv_own_probes probes = {0};
	struct hv_err *err =
		hv_own_probes_read(&t->kernel->core.as, hv_patcher_kprobes(t->patcher), &probes);

	*ret = !err && !probes.are_locked;
	for (size_t i = 0; *ret && i < d->nr; i++) {
		const struct hv_detour_want *is = &d->list[i].is;

		l->in_use[i] |= hv_own_probes_any(
			&probes, (struct hv_gva_range){hv_gva(is->at.v - HV_PROBED_COPIED_MAX),
						       hv_gva_add(is->at, is->len_bytes)});
	}
	hv_own_probes_deinit(&probes);
	return err;
}

static struct hv_err *look(struct hv_hold *hold, void *ctx)
{
	struct looking *l = ctx;
	struct hv_tracee *t = l->detours->tracee;
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_gva start = hv_detour_at(t, l->detours->first);
	const struct hv_scan_for wanted = {
		.range = {start, hv_gva_add(start, l->detours->nr * HV_DETOUR_LEN)},
		.also = places_of(l),
		.how = HV_SCAN_CALLS,
		.is_known = note_word,
		.ctx = l,
	};
	size_t nr_unknown = 0;
	bool is_told = false;
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	for (unsigned cpu = 0; !err && cpu < nr_vcpus; cpu++)
		note(l, regs[cpu].ip.v);
	if (!err)
		err = hv_stacks_scan(t->kernel, &wanted, regs, nr_vcpus, &nr_unknown, NULL);
	if (!err)
		err = note_jumps(l);
	if (!err)
		err = note_probed(l, &is_told);
	l->is_clear = !err && !nr_unknown && is_told;
	hv_err_free(err);
	return NULL;
}

/* Frees the detour that begins at block NR, if none of its blocks is in use. Returns how many
 * blocks became free. */
static size_t free_detour(struct hv_detours *d, const struct looking *l, size_t nr)
{
	size_t end = nr + d->list[nr].nr;

	for (size_t i = nr; i < end; i++)
		if (l->in_use[i] || d->list[i].is_free)
			return 0;
	for (size_t i = nr; i < end; i++)
		d->list[i] = (struct block){.nr = 1, .is_free = true};
	return end - nr;
}

void hv_detours_look_again(struct hv_detours *d)
{
	d->none_free = false;
}

struct hv_err *hv_detours_free_unused(struct hv_detours *d)
{
	hv_cleanup(looking_deinit) struct looking l = {.detours = d};
	size_t nr_freed = 0;
	bool sleeps = false;
	struct hv_err *err;

	if (d->kind != HV_CHANGE_PLACE || d->none_free)
		return NULL;
	err = hv_guest_sleeps(d->tracee->guest, &sleeps);
	if (err || sleeps)
		return err;
	l.places = hv_detours_places(d);
	l.in_use = hv_alloc((d->nr + 1) * sizeof(*l.in_use));
	err = hv_patcher_held(d->tracee->patcher, look, &l);
	for (size_t nr = 0, next; !err && l.is_clear && nr < d->nr; nr = next) {
		next = nr + d->list[nr].nr;
		nr_freed += free_detour(d, &l, nr);
	}
	d->none_free = nr_freed == 0;
	return err;
}
