/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/types/btf_func.h"

#include <string.h>

#include "kernel/types/btf_types.h"

#define PARAM_BYTES 8	/* struct btf_param */
#define PARAMS_MAX  256 /* twice the number that C compilers must support; BTF allows 65535 */
#define DEPTH_MAX   32

/* The encoding of an integer, after its struct btf_type. */
#define INT_IS_SIGNED  (1u << 24)
#define INT_OFF(data)  ((uint8_t)((data) >> 16))
#define INT_BITS(data) ((uint8_t)(data))

static bool func_of_proto(const struct hv_btf *btf, uint32_t id, struct hv_btf_func *ret)
{
	struct hv_btf_type t;

	if (!hv_btf_type_get(btf, id, &t) || t.kind != KIND_FUNC_PROTO || t.vlen > PARAMS_MAX)
		return false;
	*ret = (struct hv_btf_func){id, t.vlen, t.size_or_type};
	return true;
}

bool hv_btf_func_find(const struct hv_btf *btf, const char *name, struct hv_btf_func *ret)
{
	const struct hv_btf_entry *e = hv_btf_first_type(btf, name);
	struct hv_btf_type t;

	for (; e; e = hv_btf_next_type(btf, e, name))
		if (hv_btf_type_get(btf, e->type_id, &t) && t.kind == KIND_FUNC)
			return func_of_proto(btf, t.size_or_type, ret);
	return false;
}

const char *hv_btf_param(const struct hv_btf *btf, const struct hv_btf_func *func, uint32_t index,
			 uint32_t *ret_id)
{
	struct hv_btf_type t;
	uint32_t name_off = 0;
	size_t off;

	*ret_id = 0;
	if (!hv_btf_type_get(btf, func->proto_id, &t) || index >= t.vlen)
		return "";
	off = t.extra_off + (size_t)PARAM_BYTES * index;
	hv_span_u32(t.in, off, &name_off);
	hv_span_u32(t.in, off + 4, ret_id);
	return hv_btf_string(btf, name_off);
}

static bool is_modifier(enum hv_btf_kind kind)
{
	return kind == KIND_TYPEDEF || kind == KIND_VOLATILE || kind == KIND_CONST ||
	       kind == KIND_RESTRICT || kind == KIND_TYPE_TAG;
}

static enum hv_btf_form form_of(enum hv_btf_kind kind)
{
	switch (kind) {
	case KIND_INT:
		return HV_BTF_INT;
	case KIND_ENUM:
		return HV_BTF_ENUM;
	case KIND_ENUM64:
		return HV_BTF_ENUM64;
	case KIND_PTR:
		return HV_BTF_POINTER;
	case KIND_ARRAY:
		return HV_BTF_ARRAY;
	case KIND_STRUCT:
	case KIND_UNION:
		return HV_BTF_COMPOUND;
	default:
		return HV_BTF_OTHER;
	}
}

bool hv_btf_value(const struct hv_btf *btf, uint32_t id, struct hv_btf_value *ret)
{
	struct hv_btf_type t = {.kind = KIND_VOID};
	uint32_t extra = 0;

	for (unsigned depth = 0; id; depth++, id = t.size_or_type) {
		if (depth == DEPTH_MAX || !hv_btf_type_get(btf, id, &t))
			return false;
		if (!is_modifier(t.kind))
			break;
	}
	if (!id) {
		*ret = (struct hv_btf_value){.form = HV_BTF_VOID};
		return true;
	}
	*ret = (struct hv_btf_value){.form = form_of(t.kind), .id = id};
	hv_span_u32(t.in, t.extra_off, &extra);
	if (ret->form == HV_BTF_POINTER)
		ret->to = t.size_or_type;
	if (ret->form == HV_BTF_ARRAY)
		ret->to = extra;
	if (ret->form == HV_BTF_INT) {
		ret->is_signed = extra & INT_IS_SIGNED;
		ret->bits = INT_BITS(extra);
		ret->bit_off = INT_OFF(extra);
		ret->is_letter =
			ret->bits == 8 &&
			(!ret->is_signed || strcmp(hv_btf_string(btf, t.name_off), "char") == 0);
	}
	return true;
}

bool hv_btf_struct(const struct hv_btf *btf, const char *name, struct hv_btf_value *ret)
{
	const struct hv_btf_entry *e = hv_btf_first_type(btf, name);
	struct hv_btf_type t;

	for (; e; e = hv_btf_next_type(btf, e, name))
		if (hv_btf_type_get(btf, e->type_id, &t) && t.kind == KIND_STRUCT)
			return hv_btf_value(btf, e->type_id, ret);
	return false;
}

bool hv_btf_field(const struct hv_btf *btf, const struct hv_btf_value *compound, const char *name,
		  size_t len, struct hv_btf_field *ret)
{
	struct hv_btf_type t;
	struct hv_btf_part part;

	if (!len || compound->form != HV_BTF_COMPOUND || !hv_btf_type_get(btf, compound->id, &t) ||
	    !hv_btf_find_part(btf, &t, name, len, &part))
		return false;
	*ret = (struct hv_btf_field){part.type_id, part.bit_off, part.bit_len};
	return true;
}
