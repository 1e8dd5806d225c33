/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A KVM guest that is reached by injection (docs/internals/inject.md): threads of the VMM are
 * stopped for a hold and made to execute system calls, which make the region and read registers.
 * Guest RAM is reached as without injection. Leaves to others: the VMM's own ways (vmm.h). Internal
 * to vmm/. */
#pragma once

#include "vmm/inject/vmm.h"

/* Takes what is VMM's self on success only, and changes nothing. Errors: this guest cannot be
 * reached by injection, and why. */
struct hv_err *hv_inject_guest(const struct hv_vmm *vmm, struct hv_guest **ret) hv_must_use;
/* Marks the refusal WHY with HV_ERR_NEEDS_MONITOR. Takes WHY, which may be NULL. */
struct hv_err *hv_inject_not_possible(struct hv_err *why) hv_must_use;
/* Whether the VMM has a region that hvtrace made. */
bool hv_inject_has_region(const struct hv_vmm *vmm);
