/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares equal long texts among many open files. A text is freed when its last owner drops it.
 * Callers do not share texts shorter than HV_SHARED_TEXT_MIN. One thread. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

#define HV_SHARED_TEXT_MIN (16u << 10)	/* shorter texts are not shared */
#define HV_SHARED_ALL_MAX  (128u << 20) /* limit of len_bytes for clients other than root */

struct hv_shared_texts;

struct hv_shared_text {
	struct hv_shared_texts *all; /* borrowed */
	struct hv_shared_text *next;
	char *data; /* owned */
	size_t len_bytes;
	uint64_t hash;
	unsigned nr_owners;
};

/* Starts zeroed. */
struct hv_shared_texts {
	struct hv_shared_text *first; /* owned */
	size_t len_bytes;	      /* of all shared texts */
};

/* Empties TEXT and returns a shared text with its contents. Release it with
 * hv_shared_text_drop(). */
const struct hv_shared_text *hv_shared_text_take(struct hv_shared_texts *all, struct hv_text *text);
/* Like hv_shared_text_take(), for clients other than root. Frees TEXT and fails with ENOMEM if ALL
 * would have more than HV_SHARED_ALL_MAX. */
struct hv_err *hv_shared_text_take_limited(struct hv_shared_texts *all, struct hv_text *text,
					   const struct hv_shared_text **ret) hv_must_use;
/* TEXT can be NULL. */
void hv_shared_text_drop(const struct hv_shared_text *text);
