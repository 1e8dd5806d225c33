/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF, the kernel's own type information: offsets of members and values of enumerators. The bytes
 * are untrusted: every id, offset and string is checked, and recursion is limited. The second part
 * describes functions and the form of values. Source: Documentation/bpf/btf.rst. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

struct hv_btf;

/* Copies BYTES. Fails with EINVAL if they are not BTF. For the BTF of a module, whose ids and
 * strings continue those of the kernel, BASE is the kernel's BTF; it must outlive *RET. Otherwise
 * BASE is NULL. Lookups by name only find types of BYTES. */
struct hv_err *hv_btf_new(struct hv_span bytes, const struct hv_btf *base,
			  struct hv_btf **ret) hv_must_use;
/* Takes ownership of BYTES, which were allocated, also if it fails. */
struct hv_err *hv_btf_new_take(uint8_t *bytes, size_t len_bytes, struct hv_btf **ret) hv_must_use;
/* Reads the kernel's BTF without a copy: BYTES must outlive *RET. */
struct hv_err *hv_btf_new_over(struct hv_span bytes, struct hv_btf **ret) hv_must_use;
/* Makes lookups call FN before they read the borrowed BYTES. If it returns false, the lookup finds
 * nothing. Results of hv_btf_member(), hv_btf_size() and hv_btf_enumerator() are kept, so that they
 * need the bytes only once. */
void hv_btf_load_with(struct hv_btf *btf, bool (*fn)(void *ctx), void *ctx);
void hv_btf_free(struct hv_btf *btf);

/* Finds the byte offset and the size of a member by its path, for example ("task_struct",
 * "thread_info.flags"). A path leads through anonymous structs and unions, and through the first
 * element of an array. If several types have the name TYPE, the first one with the member is used.
 * The size of an array includes all its elements. For a bit-field, the offset is the byte that
 * contains the first bit, and the size is the number of bytes that it touches. RET_SIZE may be
 * NULL. Returns false if there is no such type or member. */
bool hv_btf_member(const struct hv_btf *btf, const char *type, const char *path, uint32_t *ret_off,
		   uint32_t *ret_size);
/* Like hv_btf_member(), but in bits. A member that is not a bit-field has all bits of its type. */
bool hv_btf_bits(const struct hv_btf *btf, const char *type, const char *member, uint32_t *ret_off,
		 uint32_t *ret_nr);
bool hv_btf_size(const struct hv_btf *btf, const char *type, uint32_t *ret_size);
/* Finds an enumerator of any enum, including anonymous ones. A 32-bit value is sign-extended only
 * if BTF marks the enum as signed; pahole before 1.24 never does. */
bool hv_btf_enumerator(const struct hv_btf *btf, const char *name, int64_t *ret);
/* Returns the id of a section, such as ".data..percpu", or 0. Scans all types. */
uint32_t hv_btf_section(const struct hv_btf *btf, const char *name);
/* Returns the number of variables of a section, some of which may be invalid. */
uint32_t hv_btf_section_len(const struct hv_btf *btf, uint32_t section);
/* Finds variable INDEX of a section and its offset in the section. *RET_NAME is borrowed. Returns
 * false after the last variable. */
bool hv_btf_variable(const struct hv_btf *btf, uint32_t section, uint32_t index,
		     const char **ret_name, uint32_t *ret_off);
/* The number of types and the length of the string section, without those of BASE. */
size_t hv_btf_nr_types(const struct hv_btf *btf);
size_t hv_btf_strings_bytes(const struct hv_btf *btf);

/* Function types in BTF: names and types of parameters, the return type, and the form of values of
 * these types, including members of structures that they point to. Type ids belong to one struct
 * hv_btf. All lookups are bounded for any id. The architecture knows which registers hold
 * parameters. */
struct hv_btf_func {
	uint32_t proto_id;
	uint32_t nr_params;
	uint32_t return_id; /* 0: void */
};

/* Finds the first function NAME. Returns false if not found. */
bool hv_btf_func_find(const struct hv_btf *btf, const char *name, struct hv_btf_func *ret);
/* Returns the name of the function ID, borrowed, or NULL if type ID is no function. */
const char *hv_btf_func_name(const struct hv_btf *btf, uint32_t id);
/* Returns the name of parameter INDEX, which must be below nr_params. The name is borrowed and may
 * contain any bytes; it is "" for an unnamed parameter. */
const char *hv_btf_param(const struct hv_btf *btf, const struct hv_btf_func *func, uint32_t index,
			 uint32_t *ret_id);

enum hv_btf_form {
	HV_BTF_OTHER,
	HV_BTF_VOID,
	HV_BTF_INT, /* including bool */
	HV_BTF_ENUM,
	HV_BTF_ENUM64,
	HV_BTF_POINTER,
	HV_BTF_ARRAY,
	HV_BTF_COMPOUND, /* a structure or union */
};

struct hv_btf_value {
	enum hv_btf_form form;
	uint32_t id; /* without typedefs and qualifiers */
	uint32_t to; /* the type a pointer points to, or the element type of an array */
	/* For integers. bit_off is the first bit of a bit-field written by an old compiler;
	 * otherwise 0. */
	bool is_signed;
	bool is_letter; /* an unsigned byte, or char, which is signed up to 6.1 */
	uint8_t bits, bit_off;
};

/* Describes values of type ID. Returns false if there is no such type. */
bool hv_btf_value(const struct hv_btf *btf, uint32_t id, struct hv_btf_value *ret);

/* Finds the first structure NAME; ignores unions. Returns false if not found. */
bool hv_btf_struct(const struct hv_btf *btf, const char *name, struct hv_btf_value *ret);

struct hv_btf_field {
	uint32_t id;	  /* of the field's type */
	uint32_t bit_off; /* from the start of the compound */
	uint32_t bit_len; /* 0: not a bit-field */
};

/* Finds the member NAME (LEN bytes) of COMPOUND or of its anonymous members. Returns false if not
 * found. */
bool hv_btf_field(const struct hv_btf *btf, const struct hv_btf_value *compound, const char *name,
		  size_t len, struct hv_btf_field *ret);

/* A type as BTF has it, without resolving typedefs. For programs that show types; the functions
 * above are for lookups. */
struct hv_btf_node {
	unsigned kind;	  /* of enum hv_btf_kind (btf_kinds.h) */
	const char *name; /* borrowed; any bytes; "": it has no name */
	/* the type that a pointer, typedef or qualifier refers to, the elements of an array, or the
	 * value that a function returns; 0: void */
	uint32_t to;
	uint32_t nr;	  /* elements of an array */
	uint32_t size;	  /* in bytes; 0: the kind has no size in BTF */
	bool is_signed;	  /* a number or an enum */
	uint8_t bits;	  /* of a number */
	uint8_t bit_off;  /* of a number that is a bit-field of an old compiler */
	bool is_of_union; /* a forward declaration */
};

/* Returns false if there is no type ID; ID 0 is void, which is no type. */
bool hv_btf_node(const struct hv_btf *btf, uint32_t id, struct hv_btf_node *ret);
/* Returns the id of the first structure or union NAME, or the one that a typedef NAME refers to, or
 * 0. */
uint32_t hv_btf_compound(const struct hv_btf *btf, const char *name);
/* Finds the type and position of member INDEX of the structure or union ID. Returns its name, like
 * hv_btf_node.name, or NULL after the last member. */
const char *hv_btf_part(const struct hv_btf *btf, uint32_t id, uint32_t index,
			struct hv_btf_field *ret);
