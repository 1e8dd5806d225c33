/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Globs of the function filters, parsed as the kernel parses them (filter_parse_regex,
 * glob_match). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum hv_glob_kind {
	HV_GLOB_FULL,	   /* name */
	HV_GLOB_PREFIX,	   /* name* */
	HV_GLOB_SUFFIX,	   /* *name */
	HV_GLOB_SUBSTRING, /* *name* */
	HV_GLOB_SHELL,	   /* anything with an inner '*', '?', '[' or '\' */
	HV_GLOB_INDEX,	   /* begins with a digit; matches no name (filter.h) */
};

struct hv_glob {
	enum hv_glob_kind kind;
	bool negated;	    /* had a leading '!' */
	const char *search; /* points into the parsed text */
	size_t len_bytes;   /* length of SEARCH */
};

/* Modifies TEXT, which must outlive the glob. Every text is a valid glob. */
struct hv_glob hv_glob_parse(char *text);
/* Returns whether NAME matches. Ignores NEGATED. */
bool hv_glob_match(const struct hv_glob *glob, const char *name);
