/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which changes of whole instructions the guest's own kprobes forbid. A kprobe has copied the
 * instruction at its address: it executes the copy and goes on behind it, and it puts back the
 * first byte when it goes. So
 *
 * - what it has copied is not replaced while it is registered, nor what is so near behind it that
 *   the kernel may have copied it, too, to put a jump there (an optimized kprobe);
 * - what it has copied of ours is not put back.
 *
 * Leaves to others: where they are (kernel/own_probes.h). */
#pragma once

#include "kernel/own_probes.h"
#include "patcher/patcher.h"

struct hv_journal;

/* How far a kprobe may copy: MAX_OPTIMIZED_LENGTH of arch/x86/include/asm/kprobes.h. */
#define HV_PROBED_COPIED_MAX 20

/* For the patcher, in a hold. Sets REFUSED. Fails with EALREADY while the guest registers or
 * removes one. */
struct hv_err *hv_probed_refuse(const struct hv_address_space *as,
				const struct hv_own_probes_layout *layout,
				const struct hv_journal *j, struct hv_change *changes,
				size_t nr) hv_must_use;

/* Whether *ERR is such an EALREADY and the caller is to try again in another hold, after a pause
 * that has passed then; *ERR is freed. NR_TRIES starts with 0; after some seconds *ERR becomes an
 * EBUSY. */
bool hv_probed_waits(struct hv_err **err, unsigned *nr_tries);
