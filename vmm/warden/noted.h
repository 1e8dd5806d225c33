/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places in guest memory that the privileged side has written, and what it read there first. A
 * place is up to eight bytes; places may overlap.
 * Leaves to others: what may be written at a place (rules.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/addr.h"

struct hv_noted_place {
	struct hv_gpa gpa;
	struct hv_gva gva;
	uint8_t len_bytes;		 /* 0: an unused entry of the table */
	bool had_pointer;		 /* a pointer to the region was written here */
	bool is_journalled;		 /* an earlier session's journal claims BEFORE */
	uint8_t bit;			 /* the only bit of the byte that may change */
	uint8_t before[HV_SITE_LEN_MAX]; /* what the guest had there */
	uint8_t after[HV_SITE_LEN_MAX];	 /* what was written last, unless it was not made */
	uint8_t was[HV_SITE_LEN_MAX];	 /* what was there right before */
};

struct hv_noted {
	struct hv_noted_place *table; /* owned; NULL while there are none */
	size_t nr, nr_slots;	      /* nr_slots: a power of two, or 0 */
};

/* Several times what the journal has room for. */
#define HV_NOTED_MAX (1u << 19)

void hv_noted_deinit(struct hv_noted *p);

/* NULL: none begins at GPA. */
struct hv_noted_place *hv_noted_find(const struct hv_noted *p, struct hv_gpa gpa);
/* Makes room for NR places more, so that no place moves when they are added. */
void hv_noted_reserve(struct hv_noted *p, size_t nr);
/* The place that begins at GPA, of a new one only gpa and LEN_BYTES, which is 1 to 8, are set. The
 * caller keeps the number of places below HV_NOTED_MAX. Moves other places if no room was made. */
struct hv_noted_place *hv_noted_add(struct hv_noted *p, struct hv_gpa gpa, uint32_t len_bytes);
/* The next place after *NEXT, which begins with 0, that overlaps the LEN_BYTES at GPA. NULL: there
 * are no more. */
struct hv_noted_place *hv_noted_overlapping(const struct hv_noted *p, struct hv_gpa gpa,
					    uint32_t len_bytes, uint64_t *next);
/* Makes room, so that many places can be added before the table grows. Drops places that KEEP
 * refuses if there are many. Called outside of holds. */
void hv_noted_tidy(struct hv_noted *p, bool (*keep)(const struct hv_noted_place *place));
