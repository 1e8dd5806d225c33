/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest modules that check the kernel's text for changes and react with a warning, by killing tasks
 * or by a panic. Does not find modules that hide themselves. */
#pragma once

#include "kernel/sites/modules.h"

/* Returns the first such module in M, recognised by its name or its symbols, or NULL. */
const struct hv_module *hv_integrity_checker(const struct hv_modules *m);

/* Fails with EPERM and HV_ERR_NEEDS_FORCE if M contains such a module; the message names it. */
struct hv_err *hv_integrity_refusal(const struct hv_modules *m) hv_must_use;
