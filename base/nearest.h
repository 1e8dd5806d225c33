/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the name that somebody may have meant who wrote another word: the one that the fewest
 * changes make of it. A change is a character more, less or another, or two that are exchanged.
 * Leaves to others: which names there are. Pure. */
#pragma once

struct hv_nearest {
	const char *word;
	const char *found; /* borrowed; NULL: no name is near enough */
	unsigned distance; /* changes; names with as many or more are not near enough */
};

/* WORD is borrowed. To none that has a wildcard, or fewer than three characters, is a name near. */
struct hv_nearest hv_nearest_to(const char *word);
/* Compares NAME, which is borrowed. Of two that are equally near the first one is found. If
 * NAME is the word itself, it is no typo, and none is found. */
void hv_nearest_try(struct hv_nearest *n, const char *name);
/* Returns "; did you mean NAME?", or "" if there is none. The caller frees it. */
char *hv_nearest_question(const struct hv_nearest *n);
