/* What the guest's own /proc and /sys would say: text made from its kernel, for programs that look
 * there beside tracefs. Names are made safe for a terminal.
 * Leaves to others: where a program sees it (enter.h). */
#pragma once

#include "base/text.h"
#include "kernel/kernel.h"

/* NAME: "kallsyms", "version", or "cpus" (the list of /sys/devices/system/cpu). ENOENT. */
struct hv_err *proc_text(const struct hv_kernel *k, unsigned nr_cpus, const char *name,
			 struct hv_text *ret) hv_must_use;
