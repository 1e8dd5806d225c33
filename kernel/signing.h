/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the kernel signs the return addresses on its stacks (sign of struct hv_arch). The CPU does
 * not tell, so it is found by trying: the key of each task is in the guest's memory, and the right
 * way makes of a return address, with its task's key, the word that is on the stack. Leaves to
 * others: finding frame records (records.h). */
#pragma once

#include "kernel/records.h"

struct hv_signing {
	enum {
		HV_SIGNING_NONE,    /* return addresses are as they are */
		HV_SIGNING_UNKNOWN, /* they are signed, and none of the ways is right */
		HV_SIGNING_KNOWN,
	} state;
	unsigned way; /* of struct hv_arch */
};

/* From RECORDS, which were read in this hold. */
struct hv_signing hv_signing_find(const struct hv_kernel *k,
				  const struct hv_frame_records *records);

/* What a function of TASK that was entered with the stack pointer SLOT saves when it is to return
 * to ADDRESS. False: S is not known, or the task's key cannot be read. */
bool hv_signing_sign(const struct hv_kernel *k, const struct hv_signing *s, struct hv_gva task,
		     struct hv_gva slot, uint64_t address, uint64_t *ret);
