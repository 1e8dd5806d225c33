/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits the memory of the service. The limit is an RLIMIT_DATA: it counts what the service
 * allocates, not the guest's RAM and the region, which it maps shared. What takes memory for a
 * client is refused while there is still enough for the session itself.
 * Leaves to others: buffers, which also keep memory free (tracer/events/host_buffer.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Of the session itself: the guest's symbols, types and modules, tables, answers. A Debian guest
 * takes about 50 MiB. */
#define MEMORY_SESSION_BYTES (UINT64_C(1) << 30)
/* No client gets memory while less than this is left. */
#define MEMORY_KEPT_BYTES    (UINT64_C(256) << 20)

/* Limits this process, for good, to MEMORY_SESSION_BYTES and half of the memory that is free now,
 * for the buffers of all instances. Test builds have no limit (hv_limit_memory()). */
struct hv_err *memory_limit(void) hv_must_use;
/* ENOMEM: less than MEMORY_KEPT_BYTES is left, and the message says what to do. */
struct hv_err *memory_check(void) hv_must_use;
