/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces patched instructions by a different set of patches that overlaps them. A patch is never
 * written over another one: the original bytes are restored first, in the same hold.
 *
 * tracer/places/detours.h chooses the changes. */
#pragma once

#include "patcher/patcher.h"

/* Restores UNDO, from hv_patcher_undo_plan(), and then applies CHANGES, whose FROM must be the
 * bytes after the restore. Use it inside hv_patcher_held(), like hv_patcher_apply_held().
 *
 * *RET_REFUSED is set, and nothing is changed, if the guest's bytes differ, its kprobes forbid a
 * change, or a vCPU is inside one. EALREADY means that nothing was changed. After other errors,
 * UNDO may have been restored. */
struct hv_err *hv_patcher_exchange_held(struct hv_patcher *p, struct hv_hold *hold,
					struct hv_change *undo, size_t nr_undo,
					struct hv_change *changes, size_t nr,
					bool *ret_refused) hv_must_use;
