/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of instructions that take the place of others which they overlap. A change is never
 * written over another one: what is there is put back first, in the same hold.
 * Leaves to others: which (tracer/detours.h). */
#pragma once

#include "patcher/patcher.h"

/* For use inside hv_patcher_held(), as hv_patcher_apply_held(). Puts back UNDO, of
 * hv_patcher_undo_plan(), and then makes CHANGES, whose FROM is what is there without UNDO.
 * *RET_REFUSED: the guest's bytes are others, or its kprobes forbid one, or a vCPU is inside one;
 * then nothing was changed. On errors UNDO may be put back. EALREADY: nothing was changed. */
struct hv_err *hv_patcher_exchange_held(struct hv_patcher *p, struct hv_hold *hold,
					struct hv_change *undo, size_t nr_undo,
					struct hv_change *changes, size_t nr,
					bool *ret_refused) hv_must_use;
