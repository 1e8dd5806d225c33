/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/fields.h"

static struct hv_err *no_member(const struct hv_kernel_core *core, const char *type,
				const char *path)
{
	if (core->types.from != HV_TYPES_DERIVED)
		return hv_err_new(ENOENT, "BTF: no member %s in struct %s", path, type);
	return hv_err_mark(hv_err_new(ENOENT,
				      "kernel without BTF: cannot find member %s of struct %s",
				      path, type),
			   HV_ERR_NEEDS_BTF);
}

struct hv_err *hv_fields_find(const struct hv_kernel_core *core, const char *type,
			      const struct hv_field *fields, size_t nr)
{
	if (!core->btf)
		return hv_err_new(ENOENT, "kernel without BTF: cannot find struct %s", type);
	for (size_t i = 0; i < nr; i++) {
		uint32_t len;

		if (!hv_btf_member(core->btf, type, fields[i].path, fields[i].off, &len))
			return no_member(core, type, fields[i].path);
		if (len < fields[i].len_bytes)
			return hv_err_new(ENOENT,
					  "BTF: member %s of struct %s has %u bytes instead of %u",
					  fields[i].path, type, len, fields[i].len_bytes);
	}
	return NULL;
}

struct hv_err *hv_member_find_any(const struct hv_kernel_core *core, const char *type,
				  const char *const *paths, size_t nr, uint32_t *ret_off)
{
	for (size_t i = 0; i < nr; i++)
		if (hv_btf_member(core->btf, type, paths[i], ret_off, NULL))
			return NULL;
	return no_member(core, type, paths[0]);
}

struct hv_err *hv_mutex_owner_find(const struct hv_kernel_core *core, uint32_t *ret_off)
{
	static const char *const owners[] = {"owner", "rtmutex.owner", "lock.owner"};

	return hv_member_find_any(core, "mutex", owners, HV_ARRAY_LEN(owners), ret_off);
}

struct hv_err *hv_struct_size_find(const struct hv_kernel_core *core, const char *type,
				   uint32_t max_bytes, uint32_t *ret)
{
	uint32_t len = 0;

	hv_btf_size(core->btf, type, &len);
	if (!len || len > max_bytes)
		return hv_err_new(ENOENT, "BTF: struct %s has %u bytes instead of 1 to %u", type,
				  len, max_bytes);
	*ret = len;
	return NULL;
}

struct hv_err *hv_enumerator_find(const struct hv_kernel_core *core, const char *name, int64_t *ret)
{
	if (hv_btf_enumerator(core->btf, name, ret))
		return NULL;
	if (core->types.from != HV_TYPES_DERIVED)
		return hv_err_new(ENOENT, "BTF: no enumerator %s", name);
	return hv_err_mark(
		hv_err_new(ENOENT, "kernel without BTF: cannot find enumerator %s", name),
		HV_ERR_NEEDS_BTF);
}

bool hv_cpu_in(const struct hv_kernel_core *core, const char *mask, unsigned cpu)
{
	struct hv_gva at;
	struct hv_err *err;
	uint8_t byte;

	if (!hv_core_symbol(core, mask, &at))
		return true;
	err = hv_read(&core->as, hv_gva_add(at, cpu / 8), &byte, 1);
	if (err) {
		hv_err_free(err);
		return false;
	}
	return byte & 1u << cpu % 8;
}

bool hv_circle_step(struct hv_circle *c, uint64_t addr)
{
	if (c->limit && addr == c->mark)
		return true;
	if (c->steps == c->limit) {
		c->mark = addr;
		c->steps = 0;
		c->limit = c->limit ? c->limit * 2 : 1;
	}
	c->steps++;
	return false;
}

uint64_t hv_copy_u64(struct hv_span copy, uint32_t off)
{
	uint64_t v = 0;

	hv_span_u64(copy, off, &v);
	return v;
}

uint32_t hv_copy_u32(struct hv_span copy, uint32_t off)
{
	uint32_t v = 0;

	hv_span_u32(copy, off, &v);
	return v;
}
