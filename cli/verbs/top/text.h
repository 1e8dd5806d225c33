/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `hvtrace top` shows, as lines and as JSON.
 * Leaves to others: where it goes. */
#pragma once

#include "base/text.h"
#include "cli/verbs/top/domain.h"

struct top_view {
	struct top_domain *domains;
	size_t nr_domains;
	struct top_table table; /* of all of them, sorted */
	enum top_key key;
	unsigned reversed;
	unsigned rows_max;  /* functions that are shown */
	unsigned has_waits; /* for a vCPU, are wanted */
};

/* A table of domains, and, if there is any, one of functions. Each line ends with a newline. */
void top_text_lines(const struct top_view *v, struct hv_text *ret);
/* One line with one object. AT_MS: the time, since 1970. */
void top_text_json(const struct top_view *v, uint64_t at_ms, struct hv_text *ret);
