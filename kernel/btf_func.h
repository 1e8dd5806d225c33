/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What BTF says of functions: the names and types of their parameters, the type of what they
 * return, and what values of these types are, down to the members of structures that they point to.
 * Type ids are those of one struct hv_btf; all look-ups are bounded, whatever id they are given.
 * Leaves to others: which registers parameters are in. */
#pragma once

#include "kernel/btf.h"

struct hv_btf_func {
	uint32_t proto_id;
	uint32_t nr_params;
	uint32_t return_id; /* 0: void */
};

/* Finds the first function NAME. False: there is none. */
bool hv_btf_func_find(const struct hv_btf *btf, const char *name, struct hv_btf_func *ret);
/* The name of parameter INDEX, which is below nr_params; any bytes, borrowed; "": it has none. */
const char *hv_btf_param(const struct hv_btf *btf, const struct hv_btf_func *func, uint32_t index,
			 uint32_t *ret_id);

enum hv_btf_form {
	HV_BTF_OTHER,
	HV_BTF_VOID,
	HV_BTF_INT, /* bool, too */
	HV_BTF_ENUM,
	HV_BTF_ENUM64,
	HV_BTF_POINTER,
	HV_BTF_ARRAY,
	HV_BTF_COMPOUND, /* a structure or union */
};

struct hv_btf_value {
	enum hv_btf_form form;
	uint32_t id; /* without typedefs and qualifiers */
	uint32_t to; /* the type that a pointer points to, or of an array's elements */
	/* Of an integer. BIT_OFF: where its bits begin, of old compilers' bit-fields; else 0. */
	bool is_signed;
	bool is_letter; /* a byte without a sign; or char, which has one up to 6.1 */
	uint8_t bits, bit_off;
};

/* *RET: what a value of type ID is. False: there is no such type. */
bool hv_btf_value(const struct hv_btf *btf, uint32_t id, struct hv_btf_value *ret);

/* *RET: the first structure NAME, no union. False: there is none. */
bool hv_btf_struct(const struct hv_btf *btf, const char *name, struct hv_btf_value *ret);

struct hv_btf_field {
	uint32_t id;	  /* of its type */
	uint32_t bit_off; /* from the start of the compound */
	uint32_t bit_len; /* 0: no bit-field */
};

/* Finds the member NAME, of LEN bytes, of COMPOUND or of its anonymous parts. False: there is
 * none. */
bool hv_btf_field(const struct hv_btf *btf, const struct hv_btf_value *compound, const char *name,
		  size_t len, struct hv_btf_field *ret);
