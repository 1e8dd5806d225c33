/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites in the init code of a kernel that is starting. They are traced until the kernel frees that
 * code, if the guest can be stopped at that point. Otherwise these functions are not sites. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct hv_guest;
struct hv_kernel;
struct hv_tracee;

/* Call this before attaching to a kernel that is starting. Adds the init sites if they can be
 * traced. */
struct hv_err *hv_init_code_begin(struct hv_guest *guest, struct hv_kernel *kernel) hv_must_use;
/* If the guest has stopped where it frees the init code: restores the bytes of its sites, removes
 * them from the kernel's sites, resumes the guest and returns true. */
bool hv_init_code_end(struct hv_tracee *t);
