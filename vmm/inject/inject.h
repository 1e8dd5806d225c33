/* A KVM machine whose VMM is made to do what we cannot (docs/inject.md): memory, registers and
 * holds by its own hands, guest RAM as the monitor way reaches it. Internal to vmm/. */
#pragma once

#include "vmm/qemu/machine.h"

/* Takes M on success only. ENOTSUP and others: not this way, with the reason. Changes nothing. */
struct hv_err *hv_inject_guest(struct hv_machine *m, struct hv_guest **ret) hv_must_use;
/* The refusal WHY, marked HV_ERR_NEEDS_MONITOR. Takes WHY, which may be NULL. */
struct hv_err *hv_inject_not_possible(struct hv_err *why) hv_must_use;
/* Whether the VMM has memory that an hvtrace made. */
bool hv_inject_has_region(const struct hv_machine *m);
