/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest kernel's functions that read memory that may be unmapped and return an error if it is
 * (mm/maccess.c). hvtrace's code in the guest reads memory only with these. */
#pragma once

#include "base/addr.h"

struct hv_kernel;

enum hv_nofault {
	HV_NOFAULT_COPY_KERNEL,	  /* (to, from, bytes): 0 or an error */
	HV_NOFAULT_COPY_USER,	  /* same, from user space */
	HV_NOFAULT_STRING_KERNEL, /* (to, from, max bytes): the length or an error */
	HV_NOFAULT_STRING_USER,	  /* same, from user space */
	HV_NR_NOFAULTS
};

const char *hv_nofault_name(enum hv_nofault function);
/* Returns the address at which hvtrace calls FUNCTION, or 0 if the kernel has no such function. If
 * FUNCTION can be traced, this is after its site, so that tracing FUNCTION does not record
 * hvtrace's calls. */
struct hv_gva hv_nofault_address(const struct hv_kernel *k, enum hv_nofault function);
