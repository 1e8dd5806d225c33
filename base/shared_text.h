/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Long texts that many open files have: equal texts are one, which is freed with its last owner.
 * Equality is that of all bytes, so a text that was made again after a change is another one.
 * One thread. */
#pragma once

#include <stdint.h>

#include "base/text.h"

#define HV_SHARED_TEXT_MIN (16u << 10)	/* shorter ones are not worth it */
#define HV_SHARED_ALL_MAX  (128u << 20) /* for clients who are not root */

struct hv_shared_texts;

struct hv_shared_text {
	struct hv_shared_texts *all; /* borrowed */
	struct hv_shared_text *next;
	char *data; /* owned */
	size_t len_bytes;
	uint64_t hash;
	unsigned nr_owners;
};

/* Of zeros at first. */
struct hv_shared_texts {
	struct hv_shared_text *first; /* owned */
	size_t len_bytes;	      /* of all */
};

/* Empties TEXT, and returns the shared text with its bytes. The caller owns it as others do:
 * hv_shared_text_drop(). */
const struct hv_shared_text *hv_shared_text_take(struct hv_shared_texts *all, struct hv_text *text);
/* TEXT may be NULL. */
void hv_shared_text_drop(const struct hv_shared_text *text);
