/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refuses changes that conflict with the guest's own kprobes.
 *
 * A kprobe copies the instruction at its address, executes the copy, continues after the original,
 * and restores the first byte when it is removed. Therefore:
 *
 *   - An instruction that a registered kprobe has copied must not be replaced. The same holds for
 *     the instructions shortly after it, which an optimized kprobe copies to make room for a jump.
 *   - One of our instructions that a kprobe has copied must not be restored.
 *
 * kernel/code/own_kprobes.h finds the kprobes. */
#pragma once

#include "kernel/code/own_kprobes.h"
#include "patcher/patcher.h"

struct hv_journal;

/* Maximum length that a kprobe copies: MAX_OPTIMIZED_LENGTH in arch/x86/include/asm/kprobes.h. */
#define HV_PROBED_COPIED_MAX 20

/* Sets `refused` in conflicting changes. Call it in a hold. Fails with EALREADY while the guest is
 * registering or removing a kprobe. */
struct hv_err *hv_probed_refuse(const struct hv_address_space *as,
				const struct hv_own_kprobes_layout *layout,
				const struct hv_journal *j, struct hv_change *changes,
				size_t nr) hv_must_use;

/* Returns true if *ERR is that EALREADY and the caller should retry in a new hold. Frees *ERR and
 * sleeps first. *NR_TRIES starts at 0; after about 10 seconds, *ERR becomes EBUSY and the result is
 * false. */
bool hv_probed_waits(struct hv_err **err, unsigned *nr_tries);
