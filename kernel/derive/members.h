/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of a structure. Two sources restrict the offset: known functions that use the
 * member, and values in memory. If one offset remains, it is the member's, and the sources that
 * agree are its proofs. A function that uses none of the offsets is ignored. Private to kernel/. */
#pragma once

#include "kernel/derive/code.h"
#include "kernel/derive/samples.h"
#include "kernel/types/facts.h"

#define HV_MEMBER_RULES 5

struct hv_member {
	const char *member;
	uint8_t len_bytes; /* also the alignment, up to 8 */
	const char *of;	   /* as in struct hv_fact */
	/* Returns whether the member may be at OFF. NULL: memory shows nothing. */
	bool (*fits)(const void *ctx, uint32_t off);
	/* The member is not at the offset of this one, which precedes it in the list. */
	const char *except;
	/* Functions that use the member. Rules for one function must be adjacent. */
	struct hv_code_rule code[HV_MEMBER_RULES];
};

struct hv_deriving {
	const struct hv_kernel_core *core;
	const struct hv_samples *samples;
	struct hv_code_current current;
	struct hv_facts facts;
};

/* Adds the members of TYPE that are found to D->facts. Calls FITS with CTX, for offsets below
 * STRUCT_BYTES. */
void hv_members_derive(struct hv_deriving *d, const char *type, const struct hv_member *list,
		       size_t nr, const void *ctx, uint32_t struct_bytes);
