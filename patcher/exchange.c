/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/exchange.h"

#include <string.h>

#include "patcher/change.h"
#include "patcher/probed.h"
#include "patcher/state.h"

/* Overlays on BYTES the bytes that UNDO will restore in CHANGE. */
static void put_own(const struct hv_change *undo, size_t nr_undo, const struct hv_change *change,
		    uint8_t *bytes)
{
	for (size_t i = 0; i < nr_undo; i++)
		for (uint32_t n = 0; n < undo[i].len_bytes; n++) {
			uint64_t off = undo[i].gpa.v + n - change->gpa.v;

			if (off < change->len_bytes)
				bytes[off] = undo[i].to[n];
		}
}

static struct hv_err *refuse_changed(struct hv_patcher *p, const struct hv_change *undo,
				     size_t nr_undo, struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t now[8];
		struct hv_err *err =
			hv_guest_read(p->guest, changes[i].gpa, now, changes[i].len_bytes);

		if (err)
			return err;
		put_own(undo, nr_undo, &changes[i], now);
		if (memcmp(now, changes[i].from, changes[i].len_bytes) != 0)
			changes[i].refused = 1;
	}
	return NULL;
}

static struct hv_err *refuse_under_vcpus(struct hv_patcher *p, struct hv_hold *hold,
					 struct hv_change *changes, size_t nr)
{
	unsigned nr_vcpus = hv_guest_info(p->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	for (size_t i = 0; !err && i < nr; i++)
		for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
			if (hv_change_has_inside(p->as->arch, &changes[i], regs[cpu].ip))
				changes[i].refused = 1;
	return err;
}

static bool any_refused(const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (changes[i].refused)
			return true;
	return false;
}

/* Checks everything before the first write. The results stay valid during the hold. */
static struct hv_err *look_first(struct hv_patcher *p, struct hv_hold *hold, struct hv_change *undo,
				 size_t nr_undo, struct hv_change *changes, size_t nr,
				 bool *ret_refused)
{
	struct hv_err *err = refuse_changed(p, NULL, 0, undo, nr_undo);

	if (!err)
		err = refuse_changed(p, undo, nr_undo, changes, nr);
	if (!err)
		err = refuse_under_vcpus(p, hold, changes, nr);
	if (!err)
		err = hv_probed_refuse(p->as, &p->kprobes, &p->journal, undo, nr_undo);
	if (!err)
		err = hv_probed_refuse(p->as, &p->kprobes, &p->journal, changes, nr);
	*ret_refused = any_refused(undo, nr_undo) || any_refused(changes, nr);
	return err;
}

struct hv_err *hv_patcher_exchange_held(struct hv_patcher *p, struct hv_hold *hold,
					struct hv_change *undo, size_t nr_undo,
					struct hv_change *changes, size_t nr, bool *ret_refused)
{
	struct hv_err *err = look_first(p, hold, undo, nr_undo, changes, nr, ret_refused);

	if (err || *ret_refused)
		return err;
	if (nr_undo)
		err = hv_patcher_apply_held(p, hold, undo, nr_undo);
	if (!err && !any_refused(undo, nr_undo))
		err = hv_patcher_apply_held(p, hold, changes, nr);
	if (!err && (any_refused(undo, nr_undo) || any_refused(changes, nr)))
		err = hv_err_new(EBUSY, "0x%llx: the guest modified these instructions",
				 (unsigned long long)changes[0].gva.v);
	return err;
}
