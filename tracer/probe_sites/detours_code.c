/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/probe_sites/detours_code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "kernel/code/section_sites.h"
#include "kernel/tasks/tasks.h"
#include "patcher/probed.h"

#define CHUNK 128 /* blocks written in one hold */

/* -- code of detours --------------------------------------------------------------------------- */

static size_t trampoline_off(const struct hv_trampoline_image *trampolines,
			     const struct hv_detour_want *want)
{
	switch (want->kind) {
	case HV_DETOUR_BEGINS:
		return trampolines->section_begins_off;
	case HV_DETOUR_ENDS:
		return want->misses_beginning ? trampolines->section_ends_unless_missed_off
					      : trampolines->section_ends_off;
	case HV_DETOUR_CALL_BEGINS:
		return trampolines->idle_ends_off;
	case HV_DETOUR_CALL_ENDS:
		return trampolines->idle_begins_off;
	case HV_DETOUR_IRQS_OFF:
		return trampolines->irqs_off_off;
	case HV_DETOUR_ARRIVES:
		return trampolines->irq_arrives_off;
	case HV_DETOUR_IRQS_ON:
		return want->misses_beginning ? trampolines->irqs_on_unless_missed_off
					      : trampolines->irqs_on_off;
	case HV_DETOUR_RETURNS:
		return trampolines->irqs_on_off;
	case HV_DETOUR_PROBE_SITE:
		return trampolines->probe_site_off;
	case HV_DETOUR_ENTRY:
		return trampolines->chain_function_off;
	}
	return 0;
}

/* After a call or jump, execution continues at the target; after any other instruction, at the next
 * one. */
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

/* NR is the region's number of the first block. */
static size_t make(const struct hv_tracee *t, const struct hv_detour_want *want, size_t nr,
		   uint8_t *code)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva trampolines = hv_gva_add(t->range.start, HV_TRAMPOLINES_CODE_OFF);
	struct hv_detour d = {
		.kind = want->kind,
		.at = hv_detour_at(t, nr),
		.next = goes_on(t, want),
		.trampoline = hv_gva_add(trampolines, trampoline_off(&arch->trampolines, want)),
		.target = want->calls,
		.insn = want->insn,
		.count = want->count,
		.percpu = t->kernel->layout.preempt_count_percpu,
		.flag = HV_PREEMPT_FLAG,
		.has_caller = want->has_caller,
		.caller_off = want->caller_off,
		.probe_site = want->at,
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

/* Writes the blocks in NUMBERS. */
static struct hv_err *write_chunk(struct hv_detours *d, const size_t *numbers, size_t nr)
{
	HV_AUTO_FREE struct hv_hold_write *writes = hv_alloc(nr * WRITES * sizeof(*writes));
	struct hv_gpa gpa = hv_gpa_add(d->tracee->region.gpa, HV_REGION_DETOURS_OFF);
	struct hv_err *err;

	for (size_t i = 0; i < nr; i++) {
		size_t number = numbers[i], first = number, nr_blocks;
		uint8_t code[HV_DETOUR_LEN_MAX];

		while (!d->list[first].nr)
			first--;
		nr_blocks = make(d->tracee, &d->list[first].is, d->first + first, code);
		assert(nr_blocks); /* add_detour() has built the same code */
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

/* -- choosing detours -------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct block_site *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Returns the probe sites of all blocks, sorted by address. The caller owns them. */
static struct block_site *detours_sites(const struct hv_detours *d)
{
	struct block_site *sites = hv_alloc((d->nr + 1) * sizeof(*sites));

	for (size_t i = 0; i < d->nr; i++)
		sites[i] = (struct block_site){d->list[i].is.at.v, i};
	qsort(sites, d->nr, sizeof(*sites), by_address);
	return sites;
}

/* Returns whether the detour WAS is suitable for WANT at the same address. It may belong to an
 * unloaded module, at whose address there is a new one. */
static bool is_same(const struct hv_detour_want *was, const struct hv_detour_want *want)
{
	return was->kind == want->kind && was->len_bytes == want->len_bytes &&
	       was->calls.v == want->calls.v && was->has_caller == want->has_caller &&
	       was->misses_beginning == want->misses_beginning &&
	       was->caller_off == want->caller_off && was->nr_probes == want->nr_probes &&
	       memcmp(was->probes, want->probes, sizeof(was->probes)) == 0 &&
	       memcmp(was->insn, want->insn, want->len_bytes) == 0;
}

/* Returns the detour in SITES that is suitable for WANT, or NULL. An address can have several
 * detours. */
static const struct block_site *find_same(const struct hv_detours *d,
					  const struct block_site *sites, size_t nr,
					  const struct hv_detour_want *want)
{
	const struct block_site key = {.at = want->at.v};
	const struct block_site *found =
		nr ? bsearch(&key, sites, nr, sizeof(key), by_address) : NULL;

	while (found && found > sites && found[-1].at == key.at)
		found--;
	for (; found && found < sites + nr && found->at == key.at; found++)
		if (d->list[found->nr].nr && !d->list[found->nr].is_free &&
		    is_same(&d->list[found->nr].is, want))
			return found;
	return NULL;
}

/* Returns the first of NR consecutive free blocks, or SIZE_MAX. */
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

/* Adds a detour and returns its number. Returns SIZE_MAX if it cannot be built, or if there is no
 * room, which *NR_WITHOUT counts. */
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
	HV_AUTO_FREE struct block_site *sites = detours_sites(d);
	size_t nr_sites = d->nr, nr_without = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct block_site *found = find_same(d, sites, nr_sites, &wants[i]);

		numbers[i] = found ? found->nr : add_detour(d, &wants[i], &nr_without);
	}
	return nr_without;
}

/* -- freeing detours --------------------------------------------------------------------------- */

/* Finds the blocks of probe site detours that can be overwritten: no jump in the guest leads to
 * them, and no task is in them or will return to them.
 *
 * No jump leads to a detour after its probe site was restored or leads to another detour. A task
 * may still be inside because it was interrupted there, or because it called the trampoline, which
 * can sleep when it reads memory. Such a task has an address of the block on its stack or in the
 * registers of its vCPU.
 *
 * A kprobe of the guest may have copied the jump of a probe site. So the detours of a probe site
 * stay while it has a kprobe, and while any task has an address in the probe site: a task in a
 * breakpoint handler continues at the copy even after the kprobe is gone. (A kernel before 5.13 may
 * be single-stepping the copy, without such an address. A kprobe removed at the very moment when
 * the table is full is missed on such a kernel.)
 *
 * A block without tasks gets no new ones. So no hold is needed from this check until the block's
 * code is written. */

struct looking {
	const struct hv_detours *detours;
	struct block_site *sites; /* owned; sorted by address */
	bool *in_use;		  /* owned; one per block */
	bool is_clear;		  /* false: the position of a task is unknown */
};

static void looking_deinit(struct looking *l)
{
	free(l->sites);
	free(l->in_use);
}

/* Returns the index of the first probe site after ADDRESS. */
static size_t first_behind(const struct looking *l, uint64_t address)
{
	return HV_BISECT(i, l->detours->nr, l->sites[i].at <= address);
}

static void note_in_site(struct looking *l, uint64_t address)
{
	for (size_t i = first_behind(l, address); i-- > 0;) {
		uint64_t off = address - l->sites[i].at;

		if (off > HV_DETOUR_INSN_MAX)
			break;
		if (off <= l->detours->list[l->sites[i].nr].is.len_bytes)
			l->in_use[l->sites[i].nr] = true;
	}
}

static struct hv_gva_range range_of_sites(const struct looking *l)
{
	size_t nr = l->detours->nr, first = first_behind(l, 0); /* free blocks have no probe site */

	if (first == nr)
		return (struct hv_gva_range){0};
	return (struct hv_gva_range){{l->sites[first].at},
				     {l->sites[nr - 1].at + HV_DETOUR_INSN_MAX + 1}};
}

static void note(struct looking *l, uint64_t address)
{
	const struct hv_detours *d = l->detours;
	uint64_t nr = (address - hv_detour_at(d->tracee, d->first).v) / HV_DETOUR_LEN;

	if (nr < d->nr)
		l->in_use[nr] = true;
	note_in_site(l, address);
}

/* For hv_stacks_scan(): notes WORD and ignores it. */
static bool note_word(void *ctx, struct hv_gva at, uint64_t word)
{
	(void)at;
	note(ctx, word);
	return true;
}

/* The guest may have a breakpoint at a probe site now, so the bytes that were written count too. */
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

/* *RET is false if kprobes are being added or removed. */
static struct hv_err *note_probed(struct looking *l, bool *ret)
{
	const struct hv_detours *d = l->detours;
	const struct hv_tracee *t = d->tracee;
	struct hv_own_kprobes probes = {0};
	struct hv_err *err =
		hv_own_kprobes_read(&t->kernel->core.as, hv_patcher_kprobes(t->patcher), &probes);

	*ret = !err && !probes.are_locked;
	for (size_t i = 0; *ret && i < d->nr; i++) {
		const struct hv_detour_want *is = &d->list[i].is;

		l->in_use[i] |= hv_own_kprobes_any(
			&probes, (struct hv_gva_range){hv_gva(is->at.v - HV_PROBED_COPIED_MAX),
						       hv_gva_add(is->at, is->len_bytes)});
	}
	hv_own_kprobes_deinit(&probes);
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
		.also = range_of_sites(l),
		.how = HV_SCAN_CALLS,
		.is_known = note_word,
		.ctx = l,
	};
	size_t nr_unknown = 0;
	bool is_reported = false;
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	for (unsigned cpu = 0; !err && cpu < nr_vcpus; cpu++)
		note(l, regs[cpu].ip.v);
	if (!err)
		err = hv_stacks_scan(t->kernel, &wanted, regs, nr_vcpus, &nr_unknown, NULL);
	if (!err)
		err = note_jumps(l);
	if (!err)
		err = note_probed(l, &is_reported);
	l->is_clear = !err && !nr_unknown && is_reported;
	hv_err_free(err);
	return NULL;
}

/* Frees the detour that starts at block NR if none of its blocks is in use. Returns how many blocks
 * became free. */
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

	if (d->kind != HV_CHANGE_PROBE_SITE || d->none_free)
		return NULL;
	err = hv_guest_sleeps(d->tracee->guest, &sleeps);
	if (err || sleeps)
		return err;
	l.sites = detours_sites(d);
	l.in_use = hv_alloc((d->nr + 1) * sizeof(*l.in_use));
	err = hv_patcher_held(d->tracee->patcher, look, &l);
	for (size_t nr = 0, next; !err && l.is_clear && nr < d->nr; nr = next) {
		next = nr + d->list[nr].nr;
		nr_freed += free_detour(d, &l, nr);
	}
	d->none_free = nr_freed == 0;
	return err;
}
