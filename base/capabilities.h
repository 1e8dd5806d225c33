/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops capabilities(7). Callers decide which capabilities they still need. */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

#include "base/err.h"

#define HV_CAP(name) (UINT64_C(1) << CAP_##name)

/* Permanently drops all capabilities outside the mask KEEP from the calling thread and the threads
 * it creates later. Programs that they execute gain no capabilities. */
struct hv_err *hv_capabilities_keep(uint64_t keep) hv_must_use;
