/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of the guest's /proc and /sys, made from its kernel, for programs that read them besides
 * tracefs. Names are made safe for a terminal.
 * Leaves to others: where a program sees it (enter.h). */
#pragma once

#include "base/text.h"
#include "kernel/kernel.h"

/* NAME: "kallsyms", "version", or "cpus" (the list of /sys/devices/system/cpu). ENOENT. */
struct hv_err *proc_text(const struct hv_kernel *k, unsigned nr_cpus, const char *name,
			 struct hv_text *ret) hv_must_use;
