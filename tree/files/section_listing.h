/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows the section kept by a section tracer, as trace does: the header, its start, the calls in
 * it, its end, and the stack there. */
#pragma once

#include "tree/files/files.h"

struct hv_section;

/* Part of a file's state. A zero-initialised listing shows nothing. */
struct hv_section_listing {
	struct hv_section *section;	 /* owns a reference; may be NULL */
	struct hv_graph *graph;		 /* owned; NULL until the first line in graph format */
	size_t next;			 /* next line to show */
	struct hv_symbol_texts *symbols; /* owned; NULL until the first line */
};

/* Starts to show the section that the tracer of F's instance keeps now. Truncating the file drops
 * the section first. A per-vCPU file shows it only if it occurred on that vCPU. */
void hv_section_listing_begin(struct hv_section_listing *l, struct hv_file *f);
void hv_section_listing_deinit(struct hv_section_listing *l);
/* Implements fill() of F, whose state contains L. */
void hv_section_listing_fill(struct hv_section_listing *l, struct hv_file *f);
