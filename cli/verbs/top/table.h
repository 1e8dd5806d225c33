/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that `hvtrace top` shows: what became of their counts in an interval, and in which
 * order they are shown. Pure.
 * Leaves to others: where the counts are from (cli/profile.h), the text (top_text.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/profile.h"

#define TOP_COUNTS_MAX (1u << 16) /* functions of a domain that are surely counted */

struct top_count {
	char name[PROFILE_NAME_MAX + 1];
	uint64_t hits;
	double time_us;
};

/* Zero-initialised it is empty and valid. */
struct top_counts {
	struct top_count *list; /* owned; after top_counts_join() sorted by name */
	size_t nr, room;
	bool is_full; /* no more are counted */
};
void top_counts_deinit(struct top_counts *c);
void top_counts_clear(struct top_counts *c); /* empties it and keeps the memory */
/* Adds the counts of a function on a vCPU. More bytes of NAME than PROFILE_NAME_MAX are left out.
 */
void top_counts_add(struct top_counts *c, const char *name, uint64_t hits, double time_us);
/* Makes one count of those of a name. */
void top_counts_join(struct top_counts *c);

enum top_key { TOP_BY_TIME, TOP_BY_HITS, TOP_BY_AVERAGE, TOP_BY_NAME, TOP_BY_DOMAIN };
/* False: NAME ("time", "hits", "average", "name", "domain") is not a key. */
bool top_key_parse(const char *name, enum top_key *ret);
const char *top_key_name(enum top_key key);

struct top_row {
	size_t domain; /* its number */
	const char *name;
	uint64_t hits; /* in the interval; at least 1, or TIME_US is more than 0 */
	double time_us;
};
double top_row_average_us(const struct top_row *row);

/* Zero-initialised it is empty and valid. */
struct top_table {
	struct top_row *rows; /* owned; their names are of the counts NOW */
	size_t nr;
};
void top_table_deinit(struct top_table *t);
void top_table_clear(struct top_table *t);
/* Adds the functions of DOMAIN whose counts have changed. Both counts are joined; NOW outlives the
 * rows. A count that is less than before began anew meanwhile. */
void top_table_add(struct top_table *t, size_t domain, const struct top_counts *before,
		   const struct top_counts *now);
/* The largest first; names and domains from A on. REVERSED is 0 or 1: the other way. Rows that are
 * equal in KEY are in the order of domains and names. */
void top_table_sort(struct top_table *t, enum top_key key, unsigned reversed);
