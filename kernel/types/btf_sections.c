/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables in sections. pahole describes only those in the per-CPU section. */
#include <string.h>

#include "kernel/types/btf_types.h"

#define VARIABLE_BYTES 12u /* struct btf_var_secinfo: type, offset, size */

/* Sections are among the last types. */
uint32_t hv_btf_section(const struct hv_btf *btf, const char *name)
{
	struct hv_btf_type t;
	uint32_t id = btf->nr;

	while (id && !(hv_btf_type_get(btf, id, &t) && t.kind == KIND_DATASEC &&
		       !strcmp(hv_btf_string(btf, t.name_off), name)))
		id--;
	return id;
}

bool hv_btf_variable(const struct hv_btf *btf, uint32_t section, uint32_t index,
		     const char **ret_name, uint32_t *ret_off)
{
	struct hv_btf_type in, variable;
	size_t at;
	uint32_t id;

	if (!hv_btf_type_get(btf, section, &in) || in.kind != KIND_DATASEC || index >= in.vlen)
		return false;
	at = in.extra_off + (size_t)VARIABLE_BYTES * index;
	if (!hv_span_u32(in.in, at, &id) || !hv_span_u32(in.in, at + 4, ret_off) ||
	    !hv_btf_type_get(btf, id, &variable) || variable.kind != KIND_VAR)
		return false;
	*ret_name = hv_btf_string(btf, variable.name_off);
	return true;
}
