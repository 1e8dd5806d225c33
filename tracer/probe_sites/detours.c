/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/probe_sites/detours.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/arch/kernel_arch.h"
#include "kernel/tasks/tasks.h"
#include "patcher/patcher.h"
#include "patcher/probed.h"
#include "tracer/guest/tracee.h"
#include "tracer/probe_sites/detours_code.h"

#define CHUNK	      128 /* changes per hold */
#define TRIES_MAX     100 /* holds to wait until no task is inside the replaced instructions */
#define EXCHANGES_MAX 10  /* like TRIES_MAX, if the present detours can stay */
#define WAIT_NS	      (5L * 1000 * 1000) /* how long the guest runs between two of these holds */

const char *const hv_idle_functions[2] = {"tick_nohz_idle_enter", "tick_nohz_idle_exit"};

/* The region's number of the first detour of KIND. */
static size_t first_of(enum hv_change_kind kind)
{
	return kind == HV_CHANGE_PROBE_SITE ? HV_REGION_NR_DETOURS - HV_REGION_PROBE_SITES : 0;
}

struct hv_detours *hv_detours_new(struct hv_tracee *t, enum hv_change_kind kind)
{
	struct hv_detours *d = hv_alloc(sizeof(*d));

	d->tracee = t;
	t->detours[kind == HV_CHANGE_PROBE_SITE] = d;
	d->kind = kind;
	d->first = first_of(kind);
	d->max = kind == HV_CHANGE_PROBE_SITE ? HV_REGION_PROBE_SITES
					      : HV_REGION_NR_DETOURS - HV_REGION_PROBE_SITES;
	return d;
}

void hv_detours_free(struct hv_detours *d)
{
	if (!d)
		return;
	d->tracee->detours[d->kind == HV_CHANGE_PROBE_SITE] = NULL;
	free(d->list);
	free(d);
}

/* Returns the guest address of the first detour of KIND. */
static struct hv_gva detours_start(const struct hv_tracee *t, enum hv_change_kind kind)
{
	return hv_gva_add(t->range.start, HV_REGION_DETOURS_OFF - HV_REGION_TRAMPOLINES_OFF +
						  first_of(kind) * HV_DETOUR_LEN);
}

bool hv_detours_find(const struct hv_detours *d, uint32_t low_bits, struct hv_gva *ret)
{
	uint32_t off = low_bits - (uint32_t)hv_detour_at(d->tracee, d->first).v;

	if (off / HV_DETOUR_LEN >= d->nr)
		return false;
	*ret = d->list[off / HV_DETOUR_LEN].is.at;
	return true;
}

/* Returns whether several instructions are replaced: an instruction and the nops after it, or more.
 * A task interrupted between them would continue inside the jump. */
static bool has_parts(const struct hv_detour_want *want)
{
	return want->kind == HV_DETOUR_IRQS_OFF || want->kind == HV_DETOUR_IRQS_ON ||
	       (want->nr_insns > 1 && !want->leads_already);
}

/* -- the guest's text -------------------------------------------------------------------------- */

/* If the probe site leads to another detour, for other probes, replaces the jump to that. */
static bool take_present(const struct hv_tracee *t, struct hv_change *change)
{
	uint8_t old[8], now[HV_DETOUR_PATCH_MAX];
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_gva target;

	if (!hv_patcher_old_bytes(t->patcher, change->gpa, old) ||
	    memcmp(old, change->from, change->len_bytes) != 0)
		return false;
	err = hv_guest_read(t->guest, change->gpa, now, change->len_bytes);
	if (err ||
	    t->kernel->core.as.arch->classify_site(now, change->gva, &target) != HV_SITE_JUMP ||
	    !hv_gva_in(target, t->range))
		return false;
	memcpy(change->from, now, change->len_bytes);
	return true;
}

/* Returns false if AT is not mapped, if the detour is out of reach, or if AT does not lead to a
 * detour as WANT requires. */
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
	if (!hv_detour_is_call(want->kind))
		len = arch->encode_detour_jump(want->len_bytes, want->at,
					       hv_detour_at(t, d->first + number), ret->to);
	else if (!arch->encode_call(want->at, hv_detour_at(t, d->first + number), ret->to))
		return false;
	memcpy(ret->from, want->insn, len);
	ret->len_bytes = (uint32_t)len;
	if (d->kind == HV_CHANGE_PROBE_SITE && !take_present(t, ret) && want->leads_already)
		return false;
	return len && m.len_bytes >= len;
}

/* Changes of several instructions, made in one hold. */
struct parts {
	struct hv_tracee *tracee;
	struct hv_change *changes; /* sorted by physical address */
	size_t nr;
	/* They overlap earlier changes, UNDO, which are undone first. Makes all changes or none. */
	bool is_exchange;
	struct hv_change *undo;
	size_t nr_undo;
	bool is_refused;  /* nothing was changed */
	uint64_t *inside; /* sorted; the address of each instruction after the first */
	size_t nr_inside;
	bool is_used; /* a task would continue inside a change */
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* For hv_stacks_scan(): returns whether to ignore WORD. */
static bool is_outside(void *ctx, struct hv_gva at, uint64_t word)
{
	const struct parts *p = ctx;

	(void)at;
	return !bsearch(&word, p->inside, p->nr_inside, sizeof(word), by_value);
}

/* Returns whether WORD is in a detour of D that continues inside a change. */
static bool is_in_one(const struct parts *p, const struct hv_detours *d, uint64_t word)
{
	uint64_t back, nr;

	if (!d)
		return false;
	nr = (word - hv_detour_at(d->tracee, d->first).v) / HV_DETOUR_LEN;
	if (nr >= d->nr)
		return false;
	while (!d->list[nr].nr)
		nr--;
	back = d->list[nr].is.at.v + d->list[nr].is.len_bytes;
	return bsearch(&back, p->inside, p->nr_inside, sizeof(back), by_value);
}

/* For hv_stacks_scan(): returns whether to ignore WORD because it is in no detour that continues
 * inside a change. A detour whose probe site was restored also counts, because a task may still be
 * in it. */
static bool goes_on_outside(void *ctx, struct hv_gva at, uint64_t word)
{
	const struct parts *p = ctx;

	(void)at;
	return !is_in_one(p, p->tracee->detours[0], word) &&
	       !is_in_one(p, p->tracee->detours[1], word);
}

static bool any_goes_on_inside(const struct parts *p)
{
	for (unsigned kind = 0; kind < HV_ARRAY_LEN(p->tracee->detours); kind++) {
		const struct hv_detours *d = p->tracee->detours[kind];

		for (size_t i = 0; d && i < d->nr; i++)
			if (is_in_one(p, d, hv_detour_at(d->tracee, d->first + i).v))
				return true;
	}
	return false;
}

/* Adds the words on stacks and the vCPUs that WANTED matches. */
static struct hv_err *look_for(struct parts *p, const struct hv_scan_for *wanted,
			       const struct hv_vcpu_regs *regs)
{
	unsigned nr_vcpus = hv_guest_info(p->tracee->guest)->nr_vcpus;
	size_t nr_found = 0;
	struct hv_err *err =
		hv_stacks_scan(p->tracee->kernel, wanted, regs, nr_vcpus, &nr_found, NULL);

	for (unsigned cpu = 0; !err && cpu < nr_vcpus; cpu++)
		nr_found += !wanted->is_known(p, regs[cpu].ip, regs[cpu].ip.v);
	p->is_used |= nr_found != 0;
	return err;
}

/* Checks whether a task would continue inside the replaced instructions: it was interrupted there,
 * or will return there from a detour. */
static struct hv_err *look_inside(struct parts *p, const struct hv_vcpu_regs *regs)
{
	const struct hv_arch *arch = p->tracee->kernel->core.as.arch;
	const struct hv_scan_for inside = {.range = arch->free_range.end.v ? arch->free_range
									   : arch->image_range,
					   .how = HV_SCAN_CALLS,
					   .is_known = is_outside,
					   .ctx = p};
	const struct hv_scan_for detours = {.range = p->tracee->range,
					    .how = HV_SCAN_INTERRUPTED,
					    .is_known = goes_on_outside,
					    .ctx = p};
	struct hv_err *err = look_for(p, &inside, regs);

	if (!err && !p->is_used && any_goes_on_inside(p))
		err = look_for(p, &detours, regs);
	return err;
}

static struct hv_err *replace_parts(struct hv_hold *hold, void *ctx)
{
	struct parts *p = ctx;
	struct hv_tracee *t = p->tracee;
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	p->is_used = false;
	if (!err)
		err = look_inside(p, regs);
	if (err || p->is_used)
		return err;
	if (p->is_exchange)
		return hv_patcher_exchange_held(t->patcher, hold, p->undo, p->nr_undo, p->changes,
						p->nr, &p->is_refused);
	return hv_patcher_apply_held(t->patcher, hold, p->changes, p->nr);
}

static struct hv_err *apply_parts(struct parts *p)
{
	unsigned nr_waits = 0;
	struct hv_err *err = NULL;

	p->inside = hv_alloc((p->nr * HV_DETOUR_PATCH_MAX + 1) * sizeof(*p->inside));
	for (size_t i = 0; i < p->nr; i++)
		for (uint32_t off = 1; off < p->changes[i].len_bytes; off++)
			p->inside[p->nr_inside++] = p->changes[i].gva.v + off;
	qsort(p->inside, p->nr_inside, sizeof(*p->inside), by_value);
	for (unsigned try = 0, max = p->is_exchange ? EXCHANGES_MAX : TRIES_MAX; !err && try < max;
	     try++) {
		if (try)
			nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		do
			err = hv_patcher_held(p->tracee->patcher, replace_parts, p);
		while (hv_probed_waits(&err, &nr_waits));
		if (!p->is_used)
			break;
	}
	free(hv_take(p->inside));
	p->is_used = p->is_used && !err;
	if (p->is_used)
		err = hv_err_new(EBUSY, "a task was interrupted inside an instruction that is to be"
					" replaced with its nops");
	return err;
}

static int by_gpa(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_change *)a)->gpa.v, y = ((const struct hv_change *)b)->gpa.v;

	return x < y ? -1 : x > y;
}

/* The changes to undo, while all others stay. */
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

/* Makes the first NR_WHOLE changes, then the changes of several instructions. */
static struct hv_err *apply(const struct hv_detours *d, struct hv_change *changes, size_t nr_whole,
			    size_t nr)
{
	struct hv_tracee *t = d->tracee;
	struct hv_err *err = hv_patcher_apply(t->patcher, changes, nr_whole);
	struct others others = {changes, nr};

	qsort(changes + nr_whole, nr - nr_whole, sizeof(*changes), by_gpa);
	for (size_t done = nr_whole; !err && done < nr;) {
		size_t n = nr - done < CHUNK ? nr - done : CHUNK;
		struct parts p = {.tracee = t, .changes = changes + done, .nr = n};

		err = apply_parts(&p);
		done += n;
	}
	if (err) {
		size_t nr_put_back;

		hv_patcher_set_stops(t->patcher, NULL, NULL);
		hv_err_keep_first(
			&err, hv_detours_put_back(t, d->kind, is_of_others, &others, &nr_put_back));
	}
	return err;
}

/* Plans the WANTS that replace several instructions (PARTS), or the others. */
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

/* Marks refused changes in WANTS. Returns the number of refused wants. */
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

/* Chooses the detours of WANTS and writes new ones. If a hold is impossible now, or too short to
 * find free detours, wants without room are refused, as when none is free. */
static struct hv_err *make_room_and_write(struct hv_detours *d, const struct hv_detour_want *wants,
					  size_t nr, size_t *numbers)
{
	struct hv_err *err;

	if (hv_detours_choose(d, wants, nr, numbers) && d->kind == HV_CHANGE_PROBE_SITE) {
		err = hv_detours_free_unused(d);
		if (err && err->code != EBUSY && err->code != ETIMEDOUT)
			return err;
		if (!err)
			hv_detours_choose(d, wants, nr, numbers);
		hv_err_free(err);
	}
	return hv_detours_write(d);
}

struct hv_err *hv_detours_patch(struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
				size_t *ret_refused)
{
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((nr + 1) * sizeof(*changes));
	HV_AUTO_FREE size_t *numbers = hv_alloc((nr + 1) * sizeof(*numbers));
	size_t nr_whole, nr_changes;
	struct hv_own_kprobes_layout unused;
	struct hv_err *err = hv_own_kprobes_find(&d->tracee->kernel->core, &unused);

	if (err)
		return err;
	err = make_room_and_write(d, wants, nr, numbers);
	if (err)
		return err;
	nr_whole = plan_all(d, wants, nr, numbers, 0, changes);
	nr_changes = nr_whole + plan_all(d, wants, nr, numbers, 1, changes + nr_whole);
	err = apply(d, changes, nr_whole, nr_changes);
	if (err)
		return err;
	*ret_refused = note_refused(wants, nr, changes, nr_changes);
	return NULL;
}

/* Plans to restore the instructions at GONE. */
static size_t plan_gone(const struct hv_detours *d, const struct hv_gva *gone, size_t nr_gone,
			struct hv_change **ret)
{
	size_t nr = 0, nr_all = hv_patcher_undo_plan(d->tracee->patcher, d->kind, ret);

	for (size_t i = 0; i < nr_all; i++)
		for (size_t n = 0; n < nr_gone; n++)
			if ((*ret)[i].gva.v == gone[n].v) {
				(*ret)[nr++] = (*ret)[i];
				break;
			}
	return nr;
}

/* Makes the new changes of P and undoes the earlier ones. On errors undoes the new ones, too. */
static struct hv_err *exchange(struct parts *p, enum hv_change_kind kind)
{
	struct others others = {p->changes, p->nr}, gone = {p->undo, p->nr_undo};
	struct hv_err *err = apply_parts(p);
	size_t nr_put_back;

	if (p->is_used) {
		hv_err_free(hv_take(err));
		p->is_refused = true;
	}
	if (!err)
		return NULL;
	hv_patcher_set_stops(p->tracee->patcher, NULL, NULL);
	hv_err_keep_first(
		&err, hv_detours_put_back(p->tracee, kind, is_of_others, &others, &nr_put_back));
	hv_err_keep_first(&err,
			  hv_detours_put_back(p->tracee, kind, is_of_others, &gone, &nr_put_back));
	return err;
}

struct hv_err *hv_detours_exchange(struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
				   const struct hv_gva *gone, size_t nr_gone, bool *ret_refused)
{
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((nr + 1) * sizeof(*changes));
	HV_AUTO_FREE struct hv_change *undo = NULL;
	HV_AUTO_FREE size_t *numbers = hv_alloc((nr + 1) * sizeof(*numbers));
	struct parts p = {.tracee = d->tracee, .changes = changes, .nr = nr, .is_exchange = true};
	struct hv_err *err;

	err = make_room_and_write(d, wants, nr, numbers);
	for (size_t i = 0; !err && i < nr; i++)
		p.is_refused |= !plan(d, &wants[i], numbers[i], &changes[i]);
	if (!err && !p.is_refused) {
		p.nr_undo = plan_gone(d, gone, nr_gone, &undo);
		p.undo = undo;
		qsort(changes, nr, sizeof(*changes), by_gpa);
		err = exchange(&p, d->kind);
	}
	if (!err)
		*ret_refused = p.is_refused;
	return err;
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
					  "0x%llx: the guest has its own kprobe, on or off, on an "
					  "instruction that leads to a detour",
					  (unsigned long long)undo[i].gva.v);
	return NULL;
}

/* -- journals ---------------------------------------------------------------------------------- */

/* Checks which entries of an untrusted journal are instructions that lead to detours. */

/* Returns whether BYTES are a jump or a call from or into the kernel's entry code, or an unused
 * alternative in it. */
static bool is_of_entry(const struct hv_tracee *t, struct hv_gva at, struct hv_span bytes)
{
	const struct hv_kernel_core *core = &t->kernel->core;
	const char *const *bounds = hv_kernel_arch_of(core)->entry.bounds;
	struct hv_gva_range entry;
	struct hv_gva target = {0};
	struct hv_way_back way;

	if (!hv_core_symbol(core, bounds[0], &entry.start) ||
	    !hv_core_symbol(core, bounds[1], &entry.end))
		return false;
	if (core->as.arch->classify_site(bytes.data, at, &target) == HV_SITE_CALL)
		return hv_gva_in(at, entry) && hv_gva_in(target, t->kernel->text);
	way = core->as.arch->classify_way_back(bytes, at);
	if (way.kind == HV_WAY_BACK_NOP)
		return hv_gva_in(at, entry);
	return way.kind != HV_WAY_BACK_NONE && way.off == 0 && hv_gva_in(way.target, entry);
}

/* Returns whether BYTES, a whole instruction, count preemption, switch interrupts, call a function
 * around the idle loop, or enter or leave the kernel. */
static bool is_expected(const struct hv_tracee *t, struct hv_gva at, struct hv_span bytes)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	enum hv_irq_effect effect;
	struct hv_count_insn count;
	struct hv_gva target, function;

	if (arch->classify_count(bytes, at, t->kernel->layout.preempt_count_percpu, &count) ||
	    arch->classify_irqs(bytes, &effect) >= arch->site_len_bytes ||
	    is_of_entry(t, at, bytes))
		return true;
	if (arch->classify_site(bytes.data, at, &target) != HV_SITE_CALL)
		return false;
	for (size_t i = 0; i < HV_ARRAY_LEN(hv_idle_functions); i++)
		if (hv_kernel_symbol(t->kernel, hv_idle_functions[i], &function) &&
		    function.v == target.v)
			return true;
	return false;
}

/* Returns whether TARGET is the detour of a probe site at AT and executes exactly the guest's
 * original instructions at the start of WAS. */
static bool executes(const struct hv_tracee *t, struct hv_gva at, struct hv_gva target,
		     struct hv_span was)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint64_t off = target.v - detours_start(t, HV_CHANGE_PROBE_SITE).v;
	struct hv_detour d = {
		.kind = HV_DETOUR_PROBE_SITE, .at = target, .probe_site = at, .insn = was.data};
	uint8_t code[HV_DETOUR_LEN_MAX] = {0};
	size_t left = HV_REGION_PROBE_SITES * HV_DETOUR_LEN - off;
	unsigned nr;

	if (!arch->find_movable || off >= HV_REGION_PROBE_SITES * HV_DETOUR_LEN ||
	    off % HV_DETOUR_LEN || arch->find_movable(was, at, &d.len_bytes, &nr))
		return false;
	d.next = hv_gva_add(at, d.len_bytes);
	memcpy(code, t->region.host + HV_REGION_TRAMPOLINES_OFF + (target.v - t->range.start.v),
	       left < sizeof(code) ? left : sizeof(code));
	return arch->is_probe_detour(&d, code);
}

struct hv_err *hv_detours_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e, bool *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva at = hv_gva(e->gva), target = {0};
	uint8_t now[HV_DETOUR_INSN_MAX], was[HV_DETOUR_INSN_MAX];
	struct hv_mapping m;
	struct hv_err *err;
	enum hv_site_kind kind;

	*ret = false;
	if (e->len_bytes < arch->site_len_bytes || e->len_bytes > sizeof(e->old_bytes))
		return NULL;
	err = hv_walk(&t->kernel->core.as, at, &m);
	if (err || !m.present || !m.executable || m.gpa.v != e->gpa)
		return err;
	err = hv_guest_read(t->guest, m.gpa, now, sizeof(now));
	if (err)
		return err;
	hv_tracee_look_under_breakpoint(t, e, now);
	memcpy(was, now, sizeof(was));
	memcpy(was, e->old_bytes, e->len_bytes);
	kind = arch->classify_site(now, at, &target);
	*ret = (kind == HV_SITE_CALL || kind == HV_SITE_JUMP) && hv_gva_in(target, t->range) &&
	       (e->kind == HV_CHANGE_PROBE_SITE
			? executes(t, at, target, (struct hv_span){was, sizeof(was)})
			: is_expected(t, at, (struct hv_span){was, sizeof(was)}));
	memcpy(e->new_bytes, now, e->len_bytes);
	return NULL;
}
