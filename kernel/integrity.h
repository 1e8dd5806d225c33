/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules of the guest that compare the kernel's text with what it was, and answer a difference by
 * a warning, by killing tasks or by a panic. A module that hides itself is not found. */
#pragma once

#include "kernel/modules.h"

/* Returns the first such module of M, which has been recognised by its name or by what it defines.
 * NULL: there is none. */
const struct hv_module *hv_integrity_checker(const struct hv_modules *m);

/* EPERM with HV_ERR_NEEDS_FORCE; the message names the module. NULL: there is no such module in M.
 */
struct hv_err *hv_integrity_refusal(const struct hv_modules *m) hv_must_use;
