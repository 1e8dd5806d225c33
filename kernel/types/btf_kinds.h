/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of types in BTF. Source: include/uapi/linux/btf.h. */
#pragma once

/* Same values as BTF_KIND_*. */
enum hv_btf_kind {
	HV_BTF_KIND_VOID = 0,
	HV_BTF_KIND_INT,
	HV_BTF_KIND_PTR,
	HV_BTF_KIND_ARRAY,
	HV_BTF_KIND_STRUCT,
	HV_BTF_KIND_UNION,
	HV_BTF_KIND_ENUM,
	HV_BTF_KIND_FWD,
	HV_BTF_KIND_TYPEDEF,
	HV_BTF_KIND_VOLATILE,
	HV_BTF_KIND_CONST,
	HV_BTF_KIND_RESTRICT,
	HV_BTF_KIND_FUNC,
	HV_BTF_KIND_FUNC_PROTO,
	HV_BTF_KIND_VAR,
	HV_BTF_KIND_DATASEC,
	HV_BTF_KIND_FLOAT,
	HV_BTF_KIND_DECL_TAG,
	HV_BTF_KIND_TYPE_TAG,
	HV_BTF_KIND_ENUM64,
	HV_NR_BTF_KINDS,
};

/* A flag beside the kind: the upper 8 bits of the offsets of a structure's members are lengths of
 * bit-fields; an enum is signed; a forward declaration is of a union. */
#define HV_BTF_KIND_FLAG (1u << 31)
