/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits the memory of the service with RLIMIT_DATA. The limit counts the service's allocations,
 * but not the guest's RAM and the region, which are shared mappings. Allocations for clients are
 * refused early, while enough memory remains for the session itself. tracer/events/host_buffer.h
 * limits buffers, too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* For the session itself: the guest's symbols, types and modules, tables, answers. A Debian guest
 * needs about 50 MiB while it attaches. */
#define MEMORY_SESSION_BYTES (UINT64_C(1) << 30)
/* Reserve: clients get no memory if less than this is left. */
#define MEMORY_KEPT_BYTES    (UINT64_C(256) << 20)

/* Limits this process permanently to MEMORY_SESSION_BYTES plus, for the buffers of all instances,
 * half of the memory that is free now. Test builds have no limit (hv_limit_memory()). */
struct hv_err *memory_limit(void) hv_must_use;
/* ENOMEM: less than MEMORY_KEPT_BYTES is left; the message includes a remedy. */
struct hv_err *memory_check(void) hv_must_use;
