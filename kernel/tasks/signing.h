/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the kernel signs return addresses on its stacks (sign of struct hv_arch). No register shows
 * the algorithm, so it is found by trial: each task's key is in guest memory, and the right
 * algorithm turns a return address into the signed word on the stack. records.h finds frame
 * records. */
#pragma once

#include "kernel/tasks/records.h"

struct hv_signing {
	enum {
		HV_SIGNING_NONE,    /* return addresses are not signed */
		HV_SIGNING_UNKNOWN, /* they are signed, but no known algorithm matches */
		HV_SIGNING_KNOWN,
	} state;
	unsigned way; /* index of the algorithm in struct hv_arch */
};

/* Finds the algorithm. RECORDS were read in the current hold. */
struct hv_signing hv_signing_find(const struct hv_kernel *k,
				  const struct hv_frame_records *records);

/* Returns the word that a function of TASK, entered with the stack pointer SLOT, saves in order to
 * return to ADDRESS. Returns false if S is unknown or the task's key cannot be read. */
bool hv_signing_sign(const struct hv_kernel *k, const struct hv_signing *s, struct hv_gva task,
		     struct hv_gva slot, uint64_t address, uint64_t *ret);
