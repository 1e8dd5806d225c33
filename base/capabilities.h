/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process gives up of root's rights (capabilities(7)). Leaves to others: which ones a
 * process needs, and when nothing else is needed any more. */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

#include "base/err.h"

#define HV_CAP(name) (UINT64_C(1) << CAP_##name)

/* The calling thread, and those that it makes from now on, keep no capabilities but those of the
 * mask KEEP that it has. Programs that they execute gain none. For good: no call gets them back. */
struct hv_err *hv_capabilities_keep(uint64_t keep) hv_must_use;
