/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest strings that event records only point to: the formats of trace_printk() and the strings of
 * tracepoint_string(). The file printk_formats lists them for programs that read such records. All
 * data comes from guest memory and is untrusted. */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "kernel/events/store.h"

struct hv_kernel;

struct hv_print_string {
	struct hv_gva at;
	const char *string; /* may contain any bytes */
};

struct hv_print_strings {
	struct hv_print_string *list; /* owned, in the order of the guest's printk_formats */
	size_t nr;
	struct hv_store store;
};

/* Returns no strings if the kernel lacks the symbols of its lists. */
struct hv_err *hv_print_strings_read(const struct hv_kernel *k,
				     struct hv_print_strings *ret) hv_must_use;
void hv_print_strings_deinit(struct hv_print_strings *s);
