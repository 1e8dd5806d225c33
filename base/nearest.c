/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/nearest.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define WORD_LEN_MIN   3
#define WORD_LEN_MAX   63
#define LEN_PER_CHANGE 3 /* one typo per three characters */
#define CHANGES_MAX    3 /* maximum number of typos in a word */

struct hv_nearest hv_nearest_to(const char *word)
{
	size_t len = strlen(word);
	size_t changes = len / LEN_PER_CHANGE;

	if (len < WORD_LEN_MIN || len > WORD_LEN_MAX || word[strcspn(word, "*?[")])
		return (struct hv_nearest){.word = word};
	changes = changes < CHANGES_MAX ? changes : CHANGES_MAX;
	return (struct hv_nearest){.word = word, .distance = (unsigned)changes + 1};
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Computes the optimal string alignment distance with three rows of its table. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][WORD_LEN_MAX + CHANGES_MAX + 2] = {{0}};
	unsigned *older = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *free_row = older;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = least(last[j], row[j - 1]) + 1;
			row[j] = least(row[j], last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], older[j - 2] + 1);
		}
		older = last;
		last = row;
		row = free_row;
	}
	return last[b_len];
}

void hv_nearest_try(struct hv_nearest *n, const char *name)
{
	size_t len = strlen(n->word);
	size_t name_len = strnlen(name, WORD_LEN_MAX + CHANGES_MAX + 1);
	size_t apart = name_len < len ? len - name_len : name_len - len;
	unsigned changes;

	if (apart >= n->distance)
		return;
	changes = distance(n->word, len, name, name_len);
	if (changes >= n->distance)
		return;
	n->found = changes ? name : NULL;
	n->distance = changes;
}

char *hv_nearest_question(const struct hv_nearest *n)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	if (n->found) {
		hv_text_add(&text, "; did you mean ");
		hv_text_add_guest(&text, n->found, WORD_LEN_MAX);
		hv_text_add(&text, "?");
	}
	return hv_text_take(&text);
}
