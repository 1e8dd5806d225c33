/* What tracefs reads from write(2): words one by one, and numbers (trace_get_user, kstrtoul).
 * Leaves to others: what a word means. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* FTRACE_BUFF_MAX: KSYM_SYMBOL_LEN of 6.1 and later, and 4. */
#define HV_TOKEN_SIZE_MAX 670

/* Zero-initialised is empty. */
struct hv_token {
	char text[HV_TOKEN_SIZE_MAX]; /* NUL-terminated while len_bytes is not 0 */
	size_t len_bytes;	      /* 0: no word */
	unsigned unfinished; /* no white space after it yet: the next write goes on with it */
};

/* Takes white space and one word with one delimiter from BUF. *RET_USED is the short count that
 * write(2) returns. EINVAL: a word of SIZE_MAX (at most HV_TOKEN_SIZE_MAX) bytes or more; T is then
 * empty. */
struct hv_err *hv_token_take(struct hv_token *t, size_t size_max, const char *buf, size_t len_bytes,
			     size_t *ret_used) hv_must_use;
void hv_token_clear(struct hv_token *t);

/* The whole of TEXT but for one trailing newline. BASE 0: by the prefix 0x or 0. EINVAL, ERANGE. */
struct hv_err *hv_number_parse(const char *text, unsigned base, uint64_t *ret) hv_must_use;
