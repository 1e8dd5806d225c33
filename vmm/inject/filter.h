/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a seccomp filter decides about a system call, without making the call. A filter is a program
 * of classic BPF that the VMM chose. Pure: a program and a call in, an action out.
 *
 * The result is only definite if every kernel would decide the same. Otherwise it is unknown, and
 * the call must not be made. proof.h reads the filters of a thread. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HV_FILTER_INSNS_MAX 4096 /* BPF_MAXINSNS */

struct hv_filter {
	const struct sock_filter *insns;
	size_t nr;
};

struct hv_filter_call {
	struct seccomp_data data;
	uint32_t unknown_args; /* bit N: data.args[N] can be any value */
};

/* Returns false if the action depends on an unknown argument or on the kernel's version, or if the
 * kernel would not accept the program. *RET is the action with its data (SECCOMP_RET_...). */
bool hv_filter_decide(const struct hv_filter *f, const struct hv_filter_call *call, uint32_t *ret);

/* Whether the kernel makes a call with this ACTION. */
bool hv_filter_action_allows(uint32_t action);
/* Returns a word for ACTION ("trap"). */
const char *hv_filter_action_name(uint32_t action);
