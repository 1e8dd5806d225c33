/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map from guest addresses to pointers, for objects already created from the data at an address.
 * Private to kernel/events/. */
#pragma once

#include <stddef.h>

#include "base/addr.h"

/* Zero-initialised is empty and valid. */
struct hv_gva_map {
	struct hv_gva_slot {
		uint64_t at; /* 0: none */
		void *value;
	} * slots; /* owned, hashed, at most half of them used */
	size_t nr, cap;
};

void hv_gva_map_deinit(struct hv_gva_map *m);
/* Returns NULL if AT has no value. */
void *hv_gva_map_find(const struct hv_gva_map *m, struct hv_gva at);
/* AT must not be 0 and must not have a value yet. VALUE is borrowed. */
void hv_gva_map_add(struct hv_gva_map *m, struct hv_gva at, void *value);
