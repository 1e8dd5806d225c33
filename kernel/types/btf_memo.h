/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results of lookups in BTF that are kept, because the bytes may have to be read again for each
 * lookup. Bounded, because names can come from clients. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hv_btf_lookup {
	HV_BTF_LOOKUP_MEMBER,
	HV_BTF_LOOKUP_SIZE,
	HV_BTF_LOOKUP_ENUMERATOR,
};

struct hv_btf_result {
	bool is_found;
	uint32_t off, size; /* of a member, or the size of a type */
	int64_t value;	    /* of an enumerator */
};

struct hv_btf_memo;

struct hv_btf_memo *hv_btf_memo_new(void);
void hv_btf_memo_free(struct hv_btf_memo *memo);
/* NAME is the name of the type or enumerator, and PATH that of the member, or "". Returns NULL if no
 * result is kept, or if MEMO is NULL. The result is borrowed. */
const struct hv_btf_result *hv_btf_memo_find(const struct hv_btf_memo *memo,
					     enum hv_btf_lookup kind, const char *name,
					     const char *path);
/* Keeps RESULT. No result may be kept for these names yet. Does nothing if there are too many
 * results, or if the names are long. */
void hv_btf_memo_keep(struct hv_btf_memo *memo, enum hv_btf_lookup kind, const char *name,
		      const char *path, const struct hv_btf_result *result);
