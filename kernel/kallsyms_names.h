/* The compressed names of kallsyms in an image: where they are, one after the other.
 * Leaves to others: addresses (kallsyms.h). Private to kernel/. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

/* scripts/kallsyms.c: KSYM_NAME_LEN is 512 since 6.1, 128 before; the type comes on top. */
#define HV_KALLSYMS_NAME_MAX 1024

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
};

/* Looks through IMAGE, the copy of a kernel image that lies at a multiple of 8. ENOENT says which
 * table was missing. */
struct hv_err *hv_kallsyms_names_find(struct hv_span image,
				      struct hv_kallsyms_names *ret) hv_must_use;

/* The name at *OFF (names_off for the first), expanded with its type in front; moves *OFF behind
 * it. TO: room for HV_KALLSYMS_NAME_MAX, or NULL to measure only; no NUL is added. Returns the
 * length with the type; 0 when it is longer than that or has not even a type. */
size_t hv_kallsyms_name(const struct hv_kallsyms_names *names, size_t *off, char *to);
