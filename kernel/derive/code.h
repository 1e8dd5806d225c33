/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the offsets of members that functions of the guest's kernel use, in hvtrace's copy of their
 * code. Private to kernel/. */
#pragma once

#include "arch/arch.h"
#include "kernel/core/core.h"

#define HV_CODE_CURRENT	 0xff /* instead of the number of an argument: the current task */
#define HV_CODE_OFFS_MAX 32u
#define HV_CODE_OFF_MAX	 0xfffffu /* no structure is larger */

/* Selects uses of members by a function. */
struct hv_code_rule {
	const char *function; /* NULL: no rule */
	uint8_t argument;     /* number of the function's argument, from 0 */
	uint8_t kinds;	      /* 1 << HV_MEMBER_*, or 0: all */
	uint8_t len_bytes;    /* 0: any */
	uint64_t mask;	      /* the constant in the instruction; 0: any */
	/* NULL: the argument points to the structure. Otherwise it points to a task, and this
	 * member of the task points to the structure. It is equal in all rules of a member. */
	const char *through;
};

struct hv_code_offs {
	uint32_t list[HV_CODE_OFFS_MAX]; /* ascending */
	unsigned nr;
	/* The list is incomplete: it is full, or an offset exceeds HV_CODE_OFF_MAX. */
	bool has_more;
	/* Uses without a constant, and uses with one (has_mask of struct hv_member_use). */
	unsigned nr_plain, nr_masked;
};

/* The kernel's pointers to the current task: addresses of per-CPU variables. */
struct hv_code_current {
	uint64_t percpu[2];
	unsigned nr;
};

/* Finds the offsets that match RULE. THROUGH_OFF is the offset of RULE->through. The list stays
 * empty if the kernel lacks the function or its code cannot be followed. */
void hv_code_offs_find(const struct hv_kernel_core *core, const struct hv_code_current *current,
		       const struct hv_code_rule *rule, uint32_t through_off,
		       struct hv_code_offs *ret);
bool hv_code_offs_have(const struct hv_code_offs *offs, uint32_t off);
/* Calls FN for each use of a member by FUNCTION, as arch->follow_members() does. Returns false if
 * the kernel lacks the function. */
bool hv_code_follow(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		    void *ctx);
/* Like hv_code_follow(), with arch->list_uses(), for uses of pointers. */
bool hv_code_list(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		  void *ctx);
/* Like hv_code_list(), also for uses of variables (HV_ROOT_ADDRESS). */
bool hv_code_list_all(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		      void *ctx);
