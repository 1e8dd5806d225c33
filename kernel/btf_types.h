/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the readers of BTF share (btf.c, btf_func.c): its types as they are in the bytes. Nobody
 * else includes this. Ids, offsets and names are hostile. Source: include/uapi/linux/btf.h. */
#pragma once

#include "kernel/btf.h"

/* As BTF_KIND_* are numbered. */
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
	struct hv_span in; /* the types of the BTF that has it */
	size_t extra_off;  /* of what follows struct btf_type, in IN */
};

/* A named type, function or enumerator. The entries of a bucket are chained in the order of type
 * ids. */
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
	uint8_t *copy; /* owned: BYTES; NULL: they are borrowed */
	struct hv_span types;
	struct hv_span strings;	   /* not empty, NUL-terminated */
	const struct hv_btf *base; /* borrowed; NULL: it is no module's */
	uint32_t *offs;		   /* in types, of its own types; ids go on after those of BASE */
	uint32_t nr;		   /* of its own types */
	struct hv_btf_names type_names;
	struct hv_btf_names enumerators;
};

/* Of structures and unions. */
struct hv_btf_part {
	uint32_t type_id;
	uint32_t bit_off;
	uint32_t bit_len; /* 0: no bit-field */
};

/* The string at OFF; "" if there is none. */
const char *hv_btf_string(const struct hv_btf *btf, uint32_t off);
/* False: there is no type ID; void, 0, is none. */
bool hv_btf_type_get(const struct hv_btf *btf, uint32_t id, struct hv_btf_type *ret);
/* The first of the types and functions of the name NAME, or the next one after E, in the order of
 * ids. NULL: there is none. */
const struct hv_btf_entry *hv_btf_first_type(const struct hv_btf *btf, const char *name);
const struct hv_btf_entry *hv_btf_next_type(const struct hv_btf *btf, const struct hv_btf_entry *e,
					    const char *name);
/* Follows typedefs and qualifiers from ID to the type behind them. False: there is none, or it is
 * void. */
bool hv_btf_resolve(const struct hv_btf *btf, uint32_t id, struct hv_btf_type *ret);
/* Finds the member NAME, of LEN bytes, in T or its anonymous parts, from whose start its bits are
 * counted. */
bool hv_btf_find_part(const struct hv_btf *btf, const struct hv_btf_type *t, const char *name,
		      size_t len, struct hv_btf_part *ret);
