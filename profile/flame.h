/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree that a profile shows: the chains of chains.h by name, so that addresses of one function
 * are one node; and the texts made from it. Names come from the guest: each writer escapes them for
 * its format. Pure. */
#pragma once

#include "base/text.h"
#include "profile/chains.h"

struct hv_flame_node {
	const char *name; /* borrowed from the chains; NULL: the root */
	enum hv_chain_kind kind;
	uint64_t self, total;	      /* TOTAL: also of its descendants */
	uint32_t parent, child, next; /* CHILD: the first one; NEXT: its sibling; 0: none */
	uint32_t depth;		      /* of the root: 0 */
	double growth;		      /* of its share, if the flame compares; -1 to 1 */
};

/* Zero-initialised is empty. */
struct hv_flame {
	struct hv_flame_node
		*nodes; /* owned; the first one is the root; parents precede children */
	size_t nr;
	enum hv_chain_unit unit; /* of the nodes: the texts name it */
	bool compares;		 /* made by profile/diff.h */
};

/* C must outlive RET. All frames must have names. Children are sorted by their total, the largest
 * first. */
void hv_flame_make(const struct hv_chains *c, struct hv_flame *ret);
void hv_flame_deinit(struct hv_flame *f);

/* A tree for a terminal: nodes with at least MIN_PPM of the total, in parts per million. */
void hv_flame_text(const struct hv_flame *f, uint64_t min_ppm, struct hv_text *out);
/* The functions with the largest SELF, at most MAX. */
void hv_flame_hottest(const struct hv_flame *f, size_t max, struct hv_text *out);
/* These begin no line or frame after OUT has MAX_BYTES, because a guest chooses the number and the
 * length of chains. They return false if this omits any. */

/* A line for each chain: its names with ';' between them, and the number of samples or of
 * microseconds. Functions of the kernel end with "_[k]". */
bool hv_flame_folded(const struct hv_flame *f, size_t max_bytes, struct hv_text *out);
/* Appends NODE's name as folded lines have it. */
void hv_flame_add_folded(struct hv_text *out, const struct hv_flame_node *node);
/* A JSON object per line for each chain. */
bool hv_flame_jsonl(const struct hv_flame *f, size_t max_bytes, struct hv_text *out);
/* A picture with a program that zooms and searches. It refers to no other file. TITLE is UTF-8 text
 * from the user. If F compares, functions whose share grew are red, and those whose share shrank are
 * blue. */
bool hv_flame_svg(const struct hv_flame *f, const char *title, size_t max_bytes,
		  struct hv_text *out);

/* -- samples one by one ----------------------------------------------------------------------- */

struct hv_flame_sample {
	uint64_t time_ns;
	uint32_t node; /* of the chains */
	uint32_t pid;
	uint16_t cpu;
};

/* Appends a sample as `perf script` prints it. COMM is the task's name. */
void hv_flame_perf(const struct hv_chains *c, const struct hv_flame_sample *s, const char *comm,
		   struct hv_text *out);
