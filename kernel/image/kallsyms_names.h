/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compressed names of kallsyms: finds them in an image and expands one at a time. kallsyms.h
 * reads addresses. Private to kernel/. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "kernel/image/symbols.h"

#define HV_KALLSYMS_NAME_MAX 512 /* the type comes first; no trailing NUL */
_Static_assert(HV_KALLSYMS_NAME_MAX == HV_SYMBOL_NAME_MAX, "a type takes as much as a NUL");

#define HV_KALLSYMS_SHORT 15 /* most tokens have two or three bytes */
#define HV_KALLSYMS_PLACE (HV_KALLSYMS_SHORT + 1)

/* A token with its length, copied in one step. */
struct hv_kallsyms_token {
	char text[HV_KALLSYMS_SHORT]; /* without a NUL */
	uint8_t len_bytes;	      /* above HV_KALLSYMS_SHORT: the text is stored elsewhere */
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
	const char *token[256]; /* NUL-terminated, points into the image */
	struct hv_kallsyms_token short_token[256];
};

/* Searches IMAGE, the copy of a kernel image that starts at a multiple of 8. Starts at
 * TEXT_END_OFF, because linkers put read-only data after the text. Fails with ENOENT; the message
 * names the missing table. */
struct hv_err *hv_kallsyms_names_find(struct hv_span image, size_t text_end_off,
				      struct hv_kallsyms_names *ret) hv_must_use;

/* Expands the name at *OFF and advances *OFF to the next name. *OFF starts as names_off. The type
 * comes first; no NUL is added. TO has room for HV_KALLSYMS_NAME_ROOM bytes; the bytes after the
 * name are undefined. Returns the length including the type, or 0 if it exceeds
 * HV_KALLSYMS_NAME_MAX or the type is missing. */
#define HV_KALLSYMS_NAME_ROOM (HV_KALLSYMS_NAME_MAX + HV_KALLSYMS_PLACE)
size_t hv_kallsyms_name(const struct hv_kallsyms_names *names, size_t *off, char *to);

/* Returns an upper bound for the total size of all expanded names. */
size_t hv_kallsyms_names_max(const struct hv_kallsyms_names *names);
