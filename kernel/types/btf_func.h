/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function types in BTF: names and types of parameters, the return type, and the form of values of
 * these types, including members of structures that they point to. Type ids belong to one struct
 * hv_btf. All lookups are bounded for any id. The architecture knows which registers hold
 * parameters. */
#pragma once

#include "kernel/types/btf.h"

struct hv_btf_func {
	uint32_t proto_id;
	uint32_t nr_params;
	uint32_t return_id; /* 0: void */
};

/* Finds the first function NAME. Returns false if not found. */
bool hv_btf_func_find(const struct hv_btf *btf, const char *name, struct hv_btf_func *ret);
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
