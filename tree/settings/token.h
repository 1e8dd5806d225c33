/* What tracefs reads from write(2): words one by one (trace_get_user), or one name or one number
 * (kstrtoul_from_user).
 * Leaves to others: what they mean. */
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

/* The name that is written: BUF, up to a NUL if it has one, without the white space around it. The
 * caller's to free. */
char *hv_name_written(const char *buf, size_t len_bytes) hv_must_use;

/* All of TEXT but one trailing newline is a number. BASE 0: as its prefix 0x or 0 says. EINVAL,
 * ERANGE. */
struct hv_err *hv_number_parse(const char *text, unsigned base, uint64_t *ret) hv_must_use;
/* The decimal number that is written: all of BUF but one trailing newline. EINVAL, ERANGE. */
struct hv_err *hv_number_written(const char *buf, size_t len_bytes, uint64_t *ret) hv_must_use;
