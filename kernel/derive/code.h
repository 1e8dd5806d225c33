/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets that functions of the guest's kernel use, from their code in hvtrace's copy of the image.
 * Private to kernel/. */
#pragma once

#include "arch/arch.h"
#include "kernel/core/core.h"

#define HV_CODE_CURRENT	 0xff /* instead of the number of an argument: the current task */
#define HV_CODE_OFFS_MAX 32u
#define HV_CODE_OFF_MAX	 0xfffffu /* no structure is larger */

/* Uses of members by a function. */
struct hv_code_rule {
	const char *function; /* NULL: no rule */
	uint8_t argument;     /* the structure is the function's argument, from 0 */
	uint8_t kinds;	      /* 1 << HV_MEMBER_*, or 0: all */
	uint8_t len_bytes;    /* 0: any */
	uint64_t mask;	      /* the constant in the instruction; 0: any */
	/* The structure is what this member of the structure above points to; NULL: itself. */
	const char *through;
};

struct hv_code_offs {
	uint32_t list[HV_CODE_OFFS_MAX]; /* ascending */
	unsigned nr;
	bool has_more; /* than the list has room for, or at offsets above HV_CODE_OFF_MAX */
	/* Reads whose value is used later, and instructions that combine a value, which an earlier
	 * one may have read, with a constant. */
	unsigned nr_plain, nr_masked;
};

/* The kernel's pointers to the current task: addresses of per-CPU variables. */
struct hv_code_current {
	uint64_t percpu[2];
	unsigned nr;
};

/* THROUGH_OFF is the offset of RULE->through. Finds nothing if the kernel has no such function, or if
 * its code is not understood. */
void hv_code_offs_find(const struct hv_kernel_core *core, const struct hv_code_current *current,
		       const struct hv_code_rule *rule, uint32_t through_off,
		       struct hv_code_offs *ret);
bool hv_code_offs_have(const struct hv_code_offs *offs, uint32_t off);
/* Calls FN for each use of a member by FUNCTION, as arch->follow_members() does. Returns false if
 * the kernel lacks the function. */
bool hv_code_follow(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		    void *ctx);
/* Like hv_code_follow(), with arch->list_uses(). */
bool hv_code_list(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		  void *ctx);
