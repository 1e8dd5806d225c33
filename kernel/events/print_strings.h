/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of the guest to which records of events have only a pointer: the formats of its
 * trace_printk(), and the strings of tracepoint_string(). The file printk_formats lists them for
 * programs that read such records. Everything is read from guest memory and is hostile. */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "kernel/events/store.h"

struct hv_kernel;

struct hv_print_string {
	struct hv_gva at;
	const char *string; /* of any bytes */
};

struct hv_print_strings {
	struct hv_print_string *list; /* owned, in the order of the guest's printk_formats */
	size_t nr;
	struct hv_store store;
};

/* A kernel that lacks the symbols of its lists has no strings. */
struct hv_err *hv_print_strings_read(const struct hv_kernel *k,
				     struct hv_print_strings *ret) hv_must_use;
void hv_print_strings_deinit(struct hv_print_strings *s);
