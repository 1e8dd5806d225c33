/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows the section that a tracer of sections has kept, as trace does: the header, where it began,
 * the calls in it, where it ended, and the stack there. */
#pragma once

#include "tree/files/files.h"

struct hv_section;

/* Part of a file's state. A zero-initialised listing shows nothing. */
struct hv_section_listing {
	struct hv_section *section;	 /* has a reference; NULL: none */
	struct hv_graph *graph;		 /* owned; NULL until a line is shown as a graph's */
	size_t next;			 /* the line to be shown next */
	struct hv_symbol_texts *symbols; /* owned; NULL until the first line */
};

/* Begins to show the section that the tracer of F's instance keeps now. Truncating forgets it
 * first. A vCPU's own file shows it if it is of that vCPU. */
void hv_section_listing_begin(struct hv_section_listing *l, struct hv_file *f);
void hv_section_listing_deinit(struct hv_section_listing *l);
/* The operation fill() of F, whose state contains L. */
void hv_section_listing_fill(struct hv_section_listing *l, struct hv_file *f);
