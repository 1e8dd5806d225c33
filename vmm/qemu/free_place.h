/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds an address for an injected region: guest-physical addresses that nothing in the guest uses
 * or will use, according to the monitor's output. Pure: text and numbers in, values out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct hv_taken { /* [start, end) of guest-physical space */
	uint64_t start;
	uint64_t end;
};

struct hv_taken_list {
	struct hv_taken *list; /* owned */
	size_t nr, cap;
};

void hv_taken_add(struct hv_taken_list *t, uint64_t start, uint64_t end);
void hv_taken_deinit(struct hv_taken_list *t);
#define HV_TAKEN_MAX 65536
/* Adds every range in the output of `info mtree`, of all address spaces and kinds, except those as
 * large as an address space. Returns false if there are more than HV_TAKEN_MAX. */
bool hv_taken_parse(struct hv_taken_list *t, const char *text);

#define HV_PLACE_UNIT (2ull << 20)

/* Chooses the highest address for LEN bytes that is aligned to HV_PLACE_UNIT, above 4 GiB and
 * FLOOR, and in the lower three quarters of the PHYS_BITS address space: firmware puts PCI windows
 * into the last eighth, and AMD has a HyperTransport hole in the last 12 GiB. Returns false if
 * there is no free range. */
bool hv_place_choose(const struct hv_taken_list *taken, unsigned phys_bits, uint64_t floor,
		     uint64_t len_bytes, struct hv_gpa *ret);
