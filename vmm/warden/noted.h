/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places in guest memory that the privileged side has written, with their original contents. A
 * place has up to eight bytes; places may overlap. rules.h decides on writes. */
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
	bool had_pointer;		 /* it has contained a pointer to the region */
	bool is_journalled;		 /* BEFORE comes from an earlier session's journal */
	uint8_t bit;			 /* the only bit of the byte that may change */
	uint8_t before[HV_SITE_LEN_MAX]; /* the guest's original bytes */
	uint8_t after[HV_SITE_LEN_MAX];	 /* the last bytes written, unless the write was not made */
	uint8_t was[HV_SITE_LEN_MAX];	 /* the bytes immediately before that write */
};

struct hv_noted {
	struct hv_noted_place *table; /* owned; NULL if empty */
	size_t nr, nr_slots;	      /* nr_slots: a power of two, or 0 */
};

/* Several times the capacity of the journal. */
#define HV_NOTED_MAX (1u << 19)

void hv_noted_deinit(struct hv_noted *p);

/* Returns NULL if no place begins at GPA. */
struct hv_noted_place *hv_noted_find(const struct hv_noted *p, struct hv_gpa gpa);
/* Reserves memory for NR more places, so that places do not move when they are added. */
void hv_noted_reserve(struct hv_noted *p, size_t nr);
/* Returns the place that begins at GPA, or adds one with only gpa and len_bytes (1 to 8) set. The
 * caller keeps the number of places below HV_NOTED_MAX. Moves other places unless memory was
 * reserved. */
struct hv_noted_place *hv_noted_add(struct hv_noted *p, struct hv_gpa gpa, uint32_t len_bytes);
/* Returns the next place after *NEXT, which starts as 0, that overlaps the LEN_BYTES at GPA.
 * Returns NULL at the end. */
struct hv_noted_place *hv_noted_overlapping(const struct hv_noted *p, struct hv_gpa gpa,
					    uint32_t len_bytes, uint64_t *next);
/* Reserves memory, so that many places can be added before the table grows. Drops places for which
 * KEEP returns false, if there are many. Called outside of holds. */
void hv_noted_tidy(struct hv_noted *p, bool (*keep)(const struct hv_noted_place *place));
