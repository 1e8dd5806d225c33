/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the name closest to a misspelled word, for "did you mean" hints. The distance is the number
 * of inserted, deleted, replaced and swapped adjacent characters. The caller supplies the names.
 * Pure. */
#pragma once

struct hv_nearest {
	const char *word;
	const char *found; /* borrowed; NULL if no name is close enough */
	unsigned distance; /* of `found` from the word; only a closer name replaces it */
};

/* Borrows WORD. Words with wildcards or fewer than three characters match no name. */
struct hv_nearest hv_nearest_to(const char *word);
/* Compares NAME, which is borrowed. The first of several equally close names wins. A name equal to
 * the word is not a typo, so nothing is found then. */
void hv_nearest_try(struct hv_nearest *n, const char *name);
/* Returns "; did you mean NAME?", or "" if nothing was found. The caller frees it. */
char *hv_nearest_question(const struct hv_nearest *n);
