/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses writes to tracefs files: word by word (trace_get_user), a single name, or a number
 * (kstrtoul_from_user). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* FTRACE_BUFF_MAX: KSYM_SYMBOL_LEN of 6.1 and later, plus 4. */
#define HV_TOKEN_SIZE_MAX 670

/* Zero-initialised is empty. */
struct hv_token {
	char text[HV_TOKEN_SIZE_MAX]; /* NUL-terminated while len_bytes is not 0 */
	size_t len_bytes;	      /* 0: no word */
	unsigned unfinished;	      /* no white space yet: the next write continues the word */
};

/* Takes leading white space, one word and one delimiter from BUF. *RET_USED is the short count that
 * write(2) returns. EINVAL: the word has SIZE_MAX bytes or more (SIZE_MAX is at most
 * HV_TOKEN_SIZE_MAX); T is then empty. */
struct hv_err *hv_token_take(struct hv_token *t, size_t size_max, const char *buf, size_t len_bytes,
			     size_t *ret_used) hv_must_use;
void hv_token_clear(struct hv_token *t);

/* Returns the written name: BUF up to a NUL, without surrounding white space. The caller frees
 * it. */
char *hv_name_written(const char *buf, size_t len_bytes) hv_must_use;

/* Parses TEXT as a number, optionally followed by one newline. BASE 0: the prefix 0x or 0 selects
 * the base. EINVAL, ERANGE. */
struct hv_err *hv_number_parse(const char *text, unsigned base, uint64_t *ret) hv_must_use;
/* Parses BUF as a decimal number, optionally followed by one newline. EINVAL, ERANGE. */
struct hv_err *hv_number_written(const char *buf, size_t len_bytes, uint64_t *ret) hv_must_use;
