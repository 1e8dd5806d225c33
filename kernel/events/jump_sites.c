/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/jump_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"

/* Low bits of struct static_key's pointer to its entries (include/linux/jump_label.h):
 * JUMP_TYPE_TRUE and JUMP_TYPE_LINKED. */
#define KEY_LINKED  UINT64_C(2) /* the pointer is to a list with a pointer for each jump table */
#define KEY_POINTER (~UINT64_C(3))

/* Low bits of struct jump_entry's key. */
#define ENTRY_DEFAULT_ON UINT64_C(1)
#define ENTRY_INIT	 UINT64_C(2)
#define ENTRY_KEY	 (~UINT64_C(3))

/* Limit of sites to check for one whose key is off. */
#define LOOKS_MAX 16384u

struct reading {
	const struct hv_jump_layout *l;
	struct hv_gva key;
	struct hv_jump_sites sites;
	size_t cap;
};

struct hv_err *hv_jump_layout_find(const struct hv_kernel *k, struct hv_jump_layout *ret)
{
	static const struct hv_site_table_names names = {
		.start = "__start___jump_table",
		.stop = "__stop___jump_table",
		.entry = "jump_entry",
		.link = "static_key_mod",
		.link_entries = "entries",
		.module_entries = "jump_entries",
		.module_nr = "num_jump_entries",
	};
	struct hv_jump_layout l = {0};
	const struct hv_field key[] = {{"entries", 8, &l.key_entries}};
	const struct hv_field entry[] = {
		{"code", 4, &l.code},
		{"target", 4, &l.target},
		{"key", 8, &l.key},
	};
	uint32_t code_len;
	struct hv_err *err = hv_fields_find(&k->core, "static_key", key, HV_ARRAY_LEN(key));

	if (!err)
		err = hv_fields_find(&k->core, "jump_entry", entry, HV_ARRAY_LEN(entry));
	if (!err)
		err = hv_site_table_find(&k->core, &names, &l.table);
	if (err)
		return err;
	hv_btf_member(k->core.btf, "jump_entry", "code", &l.code, &code_len);
	l.is_relative = code_len == 4;
	*ret = l;
	return NULL;
}

/* ENTRY contains the struct jump_entry at AT. Returns the address of its key. */
static uint64_t parse(const struct hv_jump_layout *l, struct hv_span entry, uint64_t at,
		      struct hv_jump_site *ret)
{
	uint64_t key = hv_copy_u64(entry, l->key);

	*ret = (struct hv_jump_site){
		.code = hv_gva(hv_copy_u64(entry, l->code)),
		.target = hv_gva(hv_copy_u64(entry, l->target)),
		.is_default_on = key & ENTRY_DEFAULT_ON,
		.is_init = key & ENTRY_INIT,
	};
	if (!l->is_relative)
		return key & ENTRY_KEY;
	ret->code = hv_gva(at + l->code + (uint64_t)(int32_t)hv_copy_u32(entry, l->code));
	ret->target = hv_gva(at + l->target + (uint64_t)(int32_t)hv_copy_u32(entry, l->target));
	return at + l->key + (key & ENTRY_KEY);
}

static bool is_of_key(void *ctx, struct hv_span entry, uint64_t at)
{
	const struct reading *r = ctx;
	struct hv_jump_site site;

	return parse(r->l, entry, at, &site) == r->key.v;
}

static void add(void *ctx, struct hv_span entry, uint64_t at)
{
	struct reading *r = ctx;

	r->sites.list = hv_grow(r->sites.list, r->sites.nr, &r->cap, 8, sizeof(*r->sites.list));
	parse(r->l, entry, at, &r->sites.list[r->sites.nr++]);
}

static struct hv_err *read_key(const struct reading *r, struct hv_site_tables *t)
{
	uint64_t entries;
	struct hv_err *err =
		hv_site_tables_word(t, hv_gva_add(r->key, r->l->key_entries), &entries);

	if (err)
		return err;
	if (entries & KEY_LINKED && r->l->table.has_links)
		return hv_site_tables_read_list(t, entries & KEY_POINTER);
	return hv_site_tables_read(t, entries & KEY_POINTER);
}

struct hv_err *hv_jump_sites_read(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				  struct hv_gva key, struct hv_jump_sites *ret)
{
	struct reading r = {.l = layout, .key = key};
	struct hv_site_tables tables = {
		.k = k, .table = &layout->table, .is_of_key = is_of_key, .add = add, .ctx = &r};
	struct hv_err *err = read_key(&r, &tables);

	r.sites.words = tables.words;
	r.sites.nr_words = tables.nr_words;
	if (err) {
		hv_jump_sites_deinit(&r.sites);
		return hv_err_in(err, "static key 0x%llx", (unsigned long long)key.v);
	}
	*ret = r.sites;
	return NULL;
}

/* Sets *RET to whether SITE contains a nop of LEN_BYTES. */
static struct hv_err *is_nop(const struct hv_kernel *k, const struct hv_jump_site *site,
			     size_t len_bytes, uint8_t code[8], bool *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	bool jumps = true;
	struct hv_err *err = NULL;

	*ret = false;
	if (site->is_init || site->is_default_on)
		return NULL;
	err = hv_read(&k->core.as, site->code, code, arch->site_len_bytes);
	if (!err)
		*ret = arch->classify_jump_site(code, site->code, site->target, &jumps) ==
			       len_bytes &&
		       !jumps;
	return err;
}

struct hv_err *hv_jump_nop_find(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				size_t len_bytes, uint8_t ret[8])
{
	uint8_t bytes[HV_SITE_ENTRY_MAX], code[8] = {0};
	struct hv_span entry = {bytes, layout->table.entry_len_bytes};
	struct hv_gva at, end;
	struct hv_err *err = hv_core_need(&k->core, layout->table.start, &at);
	bool found = false;

	if (!err)
		err = hv_core_need(&k->core, layout->table.stop, &end);
	for (size_t i = 0; !err && !found && i < LOOKS_MAX && at.v < end.v; i++) {
		struct hv_jump_site site;

		err = hv_read(&k->core.as, at, bytes, entry.len_bytes);
		if (err)
			break;
		parse(layout, entry, at.v, &site);
		err = is_nop(k, &site, len_bytes, code, &found);
		at = hv_gva_add(at, entry.len_bytes);
	}
	if (!err && !found)
		err = hv_err_new(EUCLEAN, "no static key of the kernel is off");
	if (!err)
		memcpy(ret, code, sizeof(code));
	return err;
}

void hv_jump_sites_deinit(struct hv_jump_sites *s)
{
	free(s->list);
	free(s->words);
	*s = (struct hv_jump_sites){0};
}
