/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The init code of a kernel that is starting. It is traced until the kernel is about to free it, if
 * the guest can be stopped there. Otherwise its functions are not sites. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct hv_guest;
struct hv_kernel;
struct hv_tracee;

/* Called before the session of a kernel that is starting. Adds the init sites if they can be
 * traced. */
struct hv_err *hv_init_code_begin(struct hv_guest *guest, struct hv_kernel *kernel) hv_must_use;
/* True when the guest is stopped where it frees them: every byte of them was put back, they are not
 * sites any more, and the guest runs on. */
bool hv_init_code_end(struct hv_tracee *t);
