/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest kernel's functions that read memory that may be unmapped and return an error if it is
 * (mm/maccess.c). hvtrace's code in the guest reads memory only with these. */
#pragma once

#include "base/addr.h"

struct hv_kernel;

enum hv_reader {
	HV_READER_COPY_KERNEL,	 /* (to, from, bytes): 0 or an error */
	HV_READER_COPY_USER,	 /* same, from user space */
	HV_READER_STRING_KERNEL, /* (to, from, max bytes): the length or an error */
	HV_READER_STRING_USER,	 /* same, from user space */
	HV_NR_READERS
};

const char *hv_reader_name(enum hv_reader reader);
/* Returns the address at which hvtrace calls READER, or 0 if the kernel has no such function. If
 * READER can be traced, this is after its site, so that tracing READER does not record hvtrace's
 * calls. */
struct hv_gva hv_reader(const struct hv_kernel *k, enum hv_reader reader);
