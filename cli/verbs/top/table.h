/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that `hvtrace top` shows: the changes of their counters in an interval, and their
 * order. cli/metrics/profile.h reads the counters; top/text.h formats them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/metrics/profile.h"

#define TOP_COUNTS_MAX (1u << 16) /* at least this many functions of a domain are counted */

struct top_count {
	char name[PROFILE_NAME_MAX + 1];
	uint64_t hits;
	double time_us;
};

/* Zero-initialised is empty and valid. */
struct top_counts {
	struct top_count *list; /* owned; sorted by name after top_counts_join() */
	size_t nr, room;
	bool is_full; /* no further functions are counted */
};
void top_counts_deinit(struct top_counts *c);
void top_counts_clear(struct top_counts *c); /* empties it and keeps the memory */
/* Adds the counters of a function on one vCPU. Truncates NAME to PROFILE_NAME_MAX bytes. */
void top_counts_add(struct top_counts *c, const char *name, uint64_t hits, double time_us);
/* Merges the counters of equal names. */
void top_counts_join(struct top_counts *c);

enum top_key { TOP_BY_TIME, TOP_BY_HITS, TOP_BY_AVERAGE, TOP_BY_NAME, TOP_BY_DOMAIN };
/* Parses "time", "hits", "average", "name" or "domain". Returns false for other names. */
bool top_key_parse(const char *name, enum top_key *ret);
const char *top_key_name(enum top_key key);

struct top_row {
	size_t domain; /* its index */
	const char *name;
	uint64_t hits; /* in the interval; at least 1, or time_us is above 0 */
	double time_us;
};
double top_row_average_us(const struct top_row *row);

/* Zero-initialised is empty and valid. */
struct top_table {
	struct top_row *rows; /* owned; the names belong to the counts NOW */
	size_t nr;
};
void top_table_deinit(struct top_table *t);
void top_table_clear(struct top_table *t);
/* Adds the functions of DOMAIN whose counters changed. Both counts must be joined; NOW must outlive
 * the rows. A counter that is lower than before was reset in between. */
void top_table_add(struct top_table *t, size_t domain, const struct top_counts *before,
		   const struct top_counts *now);
/* Sorts by KEY, largest first, but names and domains alphabetically. REVERSED (0 or 1) reverses the
 * order. Rows with equal KEY are sorted by domain and name. */
void top_table_sort(struct top_table *t, enum top_key key, unsigned reversed);
