/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates a compiled print_fmt for one entry. Every pointer into the entry is checked when
 * something is read through it. The kernel's helpers write into a scratch text (struct trace_seq
 * *p) and return pointers into it, and the functions here do the same.
 * Private to tree/format/print_fmt/.
 * Leaves to others: arithmetic (value.h), what a conversion prints (printk.h, pointer.h). */
#pragma once

#include "tree/format/print_fmt/program.h"

struct hv_print_eval {
	const struct hv_print_fmt *fmt;
	struct hv_span entry;
	const struct hv_print_env *env;
	struct hv_print_out scratch;
	struct hv_print_value locals[HV_PRINT_LOCALS_MAX];
};

/* Functions that return a bool return false if the value is not known, and then leave results
 * untouched. */

/* eval.c */

bool hv_print_eval_node(struct hv_print_eval *e, uint32_t at, struct hv_print_value *ret);
/* Finds the bytes from the place on that V points to. False: that is in the guest's memory, or
 * outside of the entry or text. */
bool hv_print_eval_bytes(const struct hv_print_eval *e, struct hv_print_value v,
			 struct hv_span *ret);
/* Reads the number at the beginning of BYTES. */
bool hv_print_eval_read(struct hv_span bytes, struct hv_print_type type,
			struct hv_print_value *ret);
const char *hv_print_eval_string(const struct hv_print_eval *e, uint32_t at);
