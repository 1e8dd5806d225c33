/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/leaves.h"

#include <string.h>

#include "base/grow.h"

void hv_leaves_deinit(struct hv_leaves *l)
{
	free(l->list);
	*l = (struct hv_leaves){0};
}

/* Returns the index of the first leaf that ends after AT. */
static size_t first_after(const struct hv_leaves *l, struct hv_gva at)
{
	size_t low = 0, high = l->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at.v - l->list[middle].gva.v < l->list[middle].len_bytes ||
		    at.v < l->list[middle].gva.v)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct hv_leaf *hv_leaves_at(const struct hv_leaves *l, struct hv_gva at)
{
	size_t i = first_after(l, at);

	return i < l->nr && at.v >= l->list[i].gva.v ? &l->list[i] : NULL;
}

static void remove_number(struct hv_leaves *l, size_t i)
{
	memmove(l->list + i, l->list + i + 1, (l->nr - i - 1) * sizeof(*l->list));
	l->nr--;
}

void hv_leaves_remove(struct hv_leaves *l, struct hv_gva gva)
{
	size_t i = first_after(l, gva);

	if (i < l->nr && gva.v >= l->list[i].gva.v)
		remove_number(l, i);
}

void hv_leaves_add(struct hv_leaves *l, const struct hv_leaf *leaf)
{
	size_t i = first_after(l, leaf->gva);

	if (i < l->nr && l->list[i].gva.v < leaf->gva.v)
		remove_number(l, i);
	while (i < l->nr && l->list[i].gva.v - leaf->gva.v < leaf->len_bytes)
		remove_number(l, i);
	l->list = hv_grow(l->list, l->nr, &l->cap, 64, sizeof(*l->list));
	memmove(l->list + i + 1, l->list + i, (l->nr - i) * sizeof(*l->list));
	l->list[i] = *leaf;
	l->nr++;
}
