/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats the display of `hvtrace top` as lines and as JSON. */
#pragma once

#include "base/text.h"
#include "cli/verbs/top/domain.h"

struct top_view {
	struct top_domain *domains;
	size_t nr_domains;
	struct top_table table; /* rows of all domains, sorted */
	enum top_key key;
	unsigned reversed;
	unsigned rows_max;  /* limit for functions */
	unsigned has_waits; /* show waits for a vCPU */
	unsigned has_programs;
	unsigned programs_max; /* limit for functions of the programs of each domain, in lines */
};

/* A table of domains and, if there are any, one of programs' functions and one of functions. Each
 * line ends with a newline. */
void top_text_lines(const struct top_view *v, struct hv_text *ret);
/* One line with one object. AT_MS: wall clock, ms since the epoch. */
void top_text_json(const struct top_view *v, uint64_t at_ms, struct hv_text *ret);
