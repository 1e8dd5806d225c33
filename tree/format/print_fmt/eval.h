/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates a compiled print_fmt for one entry. Every pointer into the entry is checked when it is
 * dereferenced. Like the kernel's helpers (struct trace_seq *p), functions write into a scratch
 * text and return pointers into it. value.h does arithmetic, printk.h and pointer.h print
 * conversions. Private to tree/format/print_fmt/. */
#pragma once

#include "tree/format/print_fmt/program.h"

struct hv_print_eval {
	const struct hv_print_fmt *fmt;
	struct hv_span entry;
	const struct hv_print_env *env;
	struct hv_print_out scratch;
	struct hv_print_value locals[HV_PRINT_LOCALS_MAX];
};

/* Functions that return a bool return false if the value is unknown, and then leave results
 * unchanged. */

/* eval.c */

bool hv_print_eval_node(struct hv_print_eval *e, uint32_t at, struct hv_print_value *ret);
/* Sets *RET to the bytes that V points to, up to the end of the entry or text. Returns false if V
 * points to guest memory or out of bounds. */
bool hv_print_eval_bytes(const struct hv_print_eval *e, struct hv_print_value v,
			 struct hv_span *ret);
/* Reads the number at the beginning of BYTES. */
bool hv_print_eval_read(struct hv_span bytes, struct hv_print_type type,
			struct hv_print_value *ret);
const char *hv_print_eval_string(const struct hv_print_eval *e, uint32_t at);
