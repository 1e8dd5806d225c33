/* A starting kernel's init code: traced until the kernel is about to free it, where the guest can
 * be made to stand there; elsewhere its sites are none. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct hv_guest;
struct hv_kernel;
struct hv_tracee;

/* Before the session of a kernel that is starting: its init sites, if they can be had. */
struct hv_err *hv_init_code_begin(struct hv_guest *guest, struct hv_kernel *kernel) hv_must_use;
/* True when the guest stands where it frees them: every byte of them has been put back, they are
 * sites no more, and the guest goes on. */
bool hv_init_code_end(struct hv_tracee *t);
