/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compressed names of kallsyms: finds them in an image, and expands one after the other.
 * Leaves to others: addresses (kallsyms.h). Private to kernel/. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "kernel/symbols.h"

#define HV_KALLSYMS_NAME_MAX 512 /* the type comes first, and no NUL is at the end */
_Static_assert(HV_KALLSYMS_NAME_MAX == HV_SYMBOL_NAME_MAX, "a type takes as much as a NUL");

#define HV_KALLSYMS_SHORT 15 /* most tokens have two or three bytes */
#define HV_KALLSYMS_PLACE (HV_KALLSYMS_SHORT + 1)

/* A token with its length, to be copied at once. */
struct hv_kallsyms_token {
	char text[HV_KALLSYMS_SHORT]; /* without a NUL */
	uint8_t len_bytes;	      /* above HV_KALLSYMS_SHORT: the text is elsewhere */
};
_Static_assert(sizeof(struct hv_kallsyms_token) == HV_KALLSYMS_PLACE, "a token has no padding");

/* Offsets are into the image. */
struct hv_kallsyms_names {
	struct hv_span image; /* borrowed */
	size_t num_syms_off;
	size_t names_off;
	size_t names_end_off;
	size_t token_table_off;
	size_t token_index_off;
	uint32_t nr;
	uint16_t token_len[256];
	const char *token[256]; /* into the image, NUL-terminated there */
	struct hv_kallsyms_token short_token[256];
};

/* Searches IMAGE, the copy of a kernel image that starts at a multiple of 8, first behind
 * TEXT_END_OFF, where linkers put what is only read. Fails with ENOENT; the message tells which
 * table is missing. */
struct hv_err *hv_kallsyms_names_find(struct hv_span image, size_t text_end_off,
				      struct hv_kallsyms_names *ret) hv_must_use;

/* Expands the name at *OFF, which is names_off for the first one, and moves *OFF behind it. The
 * type comes first, and no NUL is added. TO has room for HV_KALLSYMS_NAME_ROOM bytes, of which
 * those behind the name are undefined. Returns the length with the type; 0 when it is above
 * HV_KALLSYMS_NAME_MAX or when there is not even a type. */
#define HV_KALLSYMS_NAME_ROOM (HV_KALLSYMS_NAME_MAX + HV_KALLSYMS_PLACE)
size_t hv_kallsyms_name(const struct hv_kallsyms_names *names, size_t *off, char *to);

/* Returns a number of bytes that all expanded names together do not exceed. */
size_t hv_kallsyms_names_max(const struct hv_kallsyms_names *names);
