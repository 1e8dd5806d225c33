/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of pprof: a message Profile of its protobuf schema (proto/profile.proto), compressed with
 * gzip. The outermost groups of a chain become labels of its samples: the innermost one of
 * them "task", the others "group". Other groups become functions. A file of the guest is a mapping with its path and build id, in which the addresses of
 * locations are offsets in the file. Pure. */
#pragma once

#include "base/text.h"
#include "profile/chains.h"

struct hv_pprof_file {
	const char *path, *build_id; /* borrowed, untrusted; "": unknown */
	uint64_t len_bytes;
};

struct hv_pprof {
	const struct hv_pprof_file *files; /* borrowed; the first one has the number 1 in frames */
	size_t nr_files;
	unsigned nr_groups; /* the outermost groups of a chain that are labels */
	uint64_t begin_ns;  /* since 1970 */
	uint64_t duration_ns;
};

/* All frames of C must have names. Begins no sample when the uncompressed message has MAX_BYTES;
 * returns false if this omits any. */
bool hv_pprof_write(const struct hv_chains *c, const struct hv_pprof *p, size_t max_bytes,
		    struct hv_text *out);
