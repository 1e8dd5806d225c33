/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the guest's kernel that read memory which may not be there, and then return an
 * error (mm/maccess.c). Code of ours in the guest reads memory by these only. */
#pragma once

#include "base/addr.h"

struct hv_kernel;

enum hv_reader {
	HV_READER_COPY_KERNEL,	 /* (to, from, bytes): 0, or an error */
	HV_READER_COPY_USER,	 /* likewise, of user space */
	HV_READER_STRING_KERNEL, /* (to, from, at most so many bytes): how many, or an error */
	HV_READER_STRING_USER,	 /* likewise, of user space */
	HV_NR_READERS
};

const char *hv_reader_name(enum hv_reader reader);
/* Where READER is called: behind its site if it can be traced, so that a call of ours is no call of
 * it for whoever traces it. 0: this kernel has no such function. */
struct hv_gva hv_reader(const struct hv_kernel *k, enum hv_reader reader);
