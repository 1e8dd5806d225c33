/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to a KVM guest by injection (docs/internals/inject.md): threads of the VMM are stopped for
 * a hold and made to execute system calls, which create the region and read registers. Guest RAM is
 * accessed as without injection. vmm.h abstracts the VMM. Internal to vmm/. */
#pragma once

#include "vmm/inject/vmm.h"

/* Changes nothing. Takes ownership of VMM's self on success only. On error this guest cannot be
 * accessed by injection, and the message gives the reason. */
struct hv_err *hv_inject_guest(const struct hv_vmm *vmm, struct hv_guest **ret) hv_must_use;
/* Marks the refusal WHY with HV_ERR_NEEDS_MONITOR and returns it. WHY may be NULL. */
struct hv_err *hv_inject_not_possible(struct hv_err *why) hv_must_use;
/* Whether the VMM has a region that hvtrace made. */
bool hv_inject_has_region(const struct hv_vmm *vmm);
