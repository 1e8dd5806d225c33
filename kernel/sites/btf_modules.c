/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: kernel/bpf/btf.c (struct btf_module, struct btf). The kernel may have changed the BTF
 * that a module was built with (btf_relocate()): ids and strings in the kernel's copy continue the
 * kernel's own. */
#include "kernel/sites/btf_modules.h"

#include <string.h>

#include "base/cancel.h"
#include "kernel/core/fields.h"

/* The largest modules have some 2 MiB. */
#define BTF_MODULE_BYTES_MAX (16u << 20)
#define MODULES_MAX	     4096
#define STRUCT_MAX	     4096u

struct btf_layout {
	uint32_t list, module, btf; /* struct btf_module */
	uint32_t len_bytes;
	uint32_t data, data_size, start_id, start_str; /* struct btf */
	uint32_t btf_len_bytes;
};

/* Returns false for kernels without BTF of modules. */
static bool find_layout(const struct hv_kernel_core *core, struct btf_layout *l)
{
	const struct hv_field of_list[] = {
		{"list.next", 8, &l->list},
		{"module", 8, &l->module},
		{"btf", 8, &l->btf},
	};
	const struct hv_field of_btf[] = {
		{"data", 8, &l->data},
		{"data_size", 4, &l->data_size},
		{"start_id", 4, &l->start_id},
		{"start_str_off", 4, &l->start_str},
	};
	struct hv_err *err = hv_fields_find(core, "btf_module", of_list, HV_ARRAY_LEN(of_list));

	if (!err)
		err = hv_fields_find(core, "btf", of_btf, HV_ARRAY_LEN(of_btf));
	if (err) {
		hv_err_free(err);
		return false;
	}
	return hv_btf_size(core->btf, "btf_module", &l->len_bytes) && l->len_bytes <= STRUCT_MAX &&
	       hv_btf_size(core->btf, "btf", &l->btf_len_bytes) && l->btf_len_bytes <= STRUCT_MAX;
}

/* Returns the address of MODULE's struct btf, or 0. */
static struct hv_err *find_in_list(const struct hv_kernel_core *core, const struct btf_layout *l,
				   struct hv_gva head, struct hv_gva module, struct hv_gva *ret)
{
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(l->len_bytes);
	struct hv_span copy = {bytes, l->len_bytes};
	struct hv_circle circle = {0};
	uint64_t at;
	struct hv_err *err = hv_read_u64(&core->as, head, &at);

	*ret = hv_gva(0);
	for (size_t nr = 0; !err && at != head.v; at = hv_copy_u64(copy, l->list)) {
		if (nr++ == MODULES_MAX || hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "btf_modules: the list does not end");
		err = hv_cancel_check();
		if (!err)
			err = hv_read(&core->as, hv_gva(at - l->list), bytes, l->len_bytes);
		if (err || hv_copy_u64(copy, l->module) != module.v)
			continue;
		*ret = hv_gva(hv_copy_u64(copy, l->btf));
		return NULL;
	}
	return err;
}

/* Reads the BTF that COPY, a struct btf, describes, and checks that its ids and strings continue
 * the kernel's. */
static struct hv_err *read_bytes(const struct hv_kernel_core *core, const struct btf_layout *l,
				 struct hv_span copy, struct hv_btf **ret)
{
	HV_AUTO_FREE uint8_t *bytes = NULL;
	uint32_t len = hv_copy_u32(copy, l->data_size), id = hv_copy_u32(copy, l->start_id);
	uint32_t str = hv_copy_u32(copy, l->start_str);
	struct hv_err *err;

	if (id != hv_btf_nr_types(core->btf) + 1 || str != hv_btf_strings_bytes(core->btf))
		return hv_err_new(EINVAL,
				  "it starts at type %u and string %u, but the kernel's BTF ends "
				  "at %zu and %zu",
				  id, str, hv_btf_nr_types(core->btf) + 1,
				  hv_btf_strings_bytes(core->btf));
	if (len > BTF_MODULE_BYTES_MAX)
		return hv_err_new(EINVAL, "%u bytes are too many", len);
	bytes = hv_alloc(len);
	err = hv_read(&core->as, hv_gva(hv_copy_u64(copy, l->data)), bytes, len);
	return err ? err : hv_btf_new((struct hv_span){bytes, len}, core->btf, ret);
}

/* Returns whether MODULE still has the struct btf at AT, with the contents COPY. If not, its BTF
 * may have been freed during the read. */
static bool is_still(const struct hv_kernel_core *core, const struct btf_layout *l,
		     struct hv_gva head, struct hv_gva module, struct hv_gva at,
		     struct hv_span copy)
{
	HV_AUTO_FREE uint8_t *now = hv_alloc(copy.len_bytes);
	struct hv_gva found = {0};
	struct hv_err *err = hv_read(&core->as, at, now, copy.len_bytes);
	struct hv_span again = {now, copy.len_bytes};

	if (!err)
		err = find_in_list(core, l, head, module, &found);
	if (err) {
		hv_err_free(err);
		return false;
	}
	return found.v == at.v && hv_copy_u64(again, l->data) == hv_copy_u64(copy, l->data) &&
	       hv_copy_u32(again, l->data_size) == hv_copy_u32(copy, l->data_size);
}

struct hv_err *hv_btf_of_module(const struct hv_kernel_core *core, struct hv_gva module,
				struct hv_btf **ret)
{
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct btf_layout l = {0};
	struct hv_btf *btf = NULL;
	struct hv_gva head, at;
	struct hv_span copy;
	struct hv_err *err;

	if (!core->btf || !hv_core_symbol(core, "btf_modules", &head) || !find_layout(core, &l)) {
		*ret = NULL;
		return NULL;
	}
	bytes = hv_alloc(l.btf_len_bytes);
	copy = (struct hv_span){bytes, l.btf_len_bytes};
	err = find_in_list(core, &l, head, module, &at);
	if (!err && !at.v) {
		*ret = NULL;
		return NULL;
	}
	if (!err)
		err = hv_read(&core->as, at, bytes, l.btf_len_bytes);
	if (!err)
		err = read_bytes(core, &l, copy, &btf);
	if (!err && !is_still(core, &l, head, module, at, copy)) {
		hv_btf_free(btf);
		err = hv_err_new(EAGAIN, "it was removed while it was read");
	}
	if (err)
		return hv_err_in(err, "BTF of a module");
	*ret = btf;
	return NULL;
}
