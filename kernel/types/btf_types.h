/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The representation of BTF types, shared by btf.c and btf_func.c; no other file includes this.
 * Ids, offsets and names are untrusted. Source: include/uapi/linux/btf.h. */
#pragma once

#include "kernel/types/btf.h"

/* Same values as BTF_KIND_*. */
enum hv_btf_kind {
	KIND_VOID = 0,
	KIND_INT,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_FUNC_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64,
	NR_KINDS,
};

struct hv_btf_type {
	enum hv_btf_kind kind;
	uint32_t vlen;
	bool kind_flag;
	uint32_t name_off;
	uint32_t size_or_type;
	struct hv_span in; /* the types of the BTF that contains it */
	size_t extra_off;  /* offset in IN of the data after struct btf_type */
};

/* A named type, function or enumerator. The entries of a bucket are chained by ascending type
 * id. */
struct hv_btf_entry {
	uint32_t type_id;
	uint32_t index; /* of the enumerator */
	uint32_t next;	/* entry number + 1; 0 ends the chain */
};

struct hv_btf_names {
	struct hv_btf_entry *entries;
	uint32_t nr;
	uint32_t cap;
	uint32_t *buckets; /* entry number + 1 */
	uint32_t mask;
};

struct hv_btf {
	const uint8_t *bytes;
	uint8_t *copy; /* owned; BYTES point here. NULL: BYTES are borrowed */
	struct hv_span types;
	struct hv_span strings;	   /* not empty, NUL-terminated */
	const struct hv_btf *base; /* borrowed; NULL: not a module's BTF */
	uint32_t *offs; /* offset in types of each own type; ids continue those of BASE */
	uint32_t nr;	/* number of own types */
	struct hv_btf_names type_names;
	struct hv_btf_names enumerators;
};

/* A member of a structure or union. */
struct hv_btf_part {
	uint32_t type_id;
	uint32_t bit_off;
	uint32_t bit_len; /* 0: not a bit-field */
};

/* Returns the string at OFF, or "" if not found. */
const char *hv_btf_string(const struct hv_btf *btf, uint32_t off);
/* Returns false if there is no type ID or it is 0 (void). */
bool hv_btf_type_get(const struct hv_btf *btf, uint32_t id, struct hv_btf_type *ret);
/* Return the first type or function NAME, or the next one after E, by ascending id; NULL if not
 * found. */
const struct hv_btf_entry *hv_btf_first_type(const struct hv_btf *btf, const char *name);
const struct hv_btf_entry *hv_btf_next_type(const struct hv_btf *btf, const struct hv_btf_entry *e,
					    const char *name);
/* Resolves typedefs and qualifiers of ID. Returns false if the result is void or does not exist. */
bool hv_btf_resolve(const struct hv_btf *btf, uint32_t id, struct hv_btf_type *ret);
/* Finds the member NAME (LEN bytes) in T or its anonymous members. Bit offsets count from the start
 * of T. */
bool hv_btf_find_part(const struct hv_btf *btf, const struct hv_btf_type *t, const char *name,
		      size_t len, struct hv_btf_part *ret);
