/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table from numbers, which a guest may choose, to pointers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty and valid. */
struct hv_map {
	struct hv_map_entry {
		uint64_t key; /* 0: unused */
		void *value;  /* borrowed */
	} * entries;	      /* owned, at most half of them used */
	size_t nr, cap;
};

void hv_map_deinit(struct hv_map *m);
/* Returns NULL if KEY has no value. */
void *hv_map_find(const struct hv_map *m, uint64_t key);
/* KEY must not have a value yet. Does nothing if KEY is 0, which never has a value. */
void hv_map_add(struct hv_map *m, uint64_t key, void *value);
