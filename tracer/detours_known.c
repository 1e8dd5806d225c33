/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which entries of an untrusted journal are instructions that lead to detours. */
#include <string.h>

#include "kernel/kernel_arch.h"
#include "tracer/detours.h"
#include "tracer/tracee.h"

/* Whether BYTES are a jump or a call from or into the kernel's entry code, or an unused alternative
 * in it. */
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

/* Whether BYTES, the whole instruction, count preemption, switch interrupts, call one of the
 * functions around the idle loop, or enter or leave the kernel. */
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

/* Whether TARGET is a detour of places from AT on, where the guest had the instructions at the
 * start of WAS: it executes just these. */
static bool executes(const struct hv_tracee *t, struct hv_gva at, struct hv_gva target,
		     struct hv_span was)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint64_t off = target.v - hv_detours_start(t, HV_CHANGE_PLACE).v;
	struct hv_detour d = {.kind = HV_DETOUR_PLACE, .at = target, .place = at, .insn = was.data};
	uint8_t code[HV_DETOUR_LEN_MAX] = {0};
	size_t left = HV_REGION_NR_PLACES * HV_DETOUR_LEN - off;
	unsigned nr;

	if (!arch->find_movable || off >= HV_REGION_NR_PLACES * HV_DETOUR_LEN ||
	    off % HV_DETOUR_LEN || arch->find_movable(was, at, &d.len_bytes, &nr))
		return false;
	d.next = hv_gva_add(at, d.len_bytes);
	memcpy(code, t->region.host + HV_REGION_STUBS_OFF + (target.v - t->range.start.v),
	       left < sizeof(code) ? left : sizeof(code));
	return arch->is_place_detour(&d, code);
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
	       (e->kind == HV_CHANGE_PLACE
			? executes(t, at, target, (struct hv_span){was, sizeof(was)})
			: is_expected(t, at, (struct hv_span){was, sizeof(was)}));
	memcpy(e->new_bytes, now, e->len_bytes);
	return NULL;
}
