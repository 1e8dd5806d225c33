/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files that `hvtrace profile` writes as .folded or .jsonl back into chains. The files are
 * untrusted: the lengths of lines, the depth of chains, the sum of the numbers and the number of
 * nodes are bounded. Pure. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"
#include "profile/chains.h"

#define HV_READ_LINE_MAX  (1u << 20) /* bytes */
#define HV_READ_DEPTH_MAX 1024	     /* frames of a chain */

/* PATH, CHAINS and IS_BEFORE are the caller's; the rest is zero. */
struct hv_read {
	const char *path;	  /* borrowed; names the file in errors */
	struct hv_chains *chains; /* borrowed; two files can share it */
	bool is_before;		  /* counts `before` of the nodes, not `self` */
	struct hv_text rest;	  /* owned; an incomplete line */
	uint64_t sum;		  /* of the numbers of all chains */
	uint64_t nr_lines;
	bool is_timed; /* the numbers are nanoseconds */
	bool is_cut;   /* a chain was not counted, because the chains are full */
};

void hv_read_deinit(struct hv_read *r);
/* Reads the next part of the file. EINVAL: a line is of neither format. E2BIG: a bound was
 * exceeded. */
struct hv_err *hv_read_add(struct hv_read *r, const char *bytes, size_t len_bytes) hv_must_use;
/* Reads the last line if it has no end. */
struct hv_err *hv_read_end(struct hv_read *r) hv_must_use;
