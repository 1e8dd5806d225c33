/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/jump_sites.h"

#include <stdlib.h>

#include "base/grow.h"
#include "kernel/fields.h"
#include "kernel/kernel.h"

/* Low bits of struct static_key's pointer to its entries (include/linux/jump_label.h):
 * JUMP_TYPE_TRUE and JUMP_TYPE_LINKED. */
#define KEY_LINKED  UINT64_C(2) /* it points to a list of such pointers, one for each jump table */
#define KEY_POINTER (~UINT64_C(3))

/* Low bits of struct jump_entry's key. */
#define ENTRY_DEFAULT_ON UINT64_C(1)
#define ENTRY_INIT	 UINT64_C(2)
#define ENTRY_KEY	 (~UINT64_C(3))

/* Bounds of what a guest can claim. */
#define SITES_MAX  65536u
#define TABLES_MAX 4096u
#define ENTRY_MAX  64u /* bytes */

struct reading {
	const struct hv_kernel *k;
	const struct hv_jump_layout *l;
	struct hv_gva key;
	struct hv_jump_sites sites;
	size_t cap;
};

static struct hv_err *find_modules(const struct hv_kernel_core *core, struct hv_jump_layout *l)
{
	const struct hv_field link[] = {
		{"next", 8, &l->link_next},
		{"entries", 8, &l->link_entries},
	};
	const struct hv_field module[] = {
		{"jump_entries", 8, &l->module_entries},
		{"num_jump_entries", 4, &l->module_nr},
	};
	struct hv_gva at;
	struct hv_err *err;

	if (!hv_core_symbol(core, "modules", &at))
		return NULL;
	err = hv_fields_find(core, "static_key_mod", link, HV_ARRAY_LEN(link));
	if (!err)
		err = hv_fields_find(core, "module", module, HV_ARRAY_LEN(module));
	if (!err && (!hv_btf_size(core->btf, "static_key_mod", &l->link_len_bytes) ||
		     l->link_len_bytes > ENTRY_MAX))
		err = hv_err_new(ENOENT, "btf: struct static_key_mod has no sensible size");
	return err;
}

static struct hv_err *find_layout(const struct hv_kernel_core *core, struct hv_jump_layout *l)
{
	const struct hv_field key[] = {{"entries", 8, &l->key_entries}};
	const struct hv_field entry[] = {
		{"code", 4, &l->code},
		{"target", 4, &l->target},
		{"key", 8, &l->key},
	};
	uint32_t code_len;
	struct hv_err *err = hv_fields_find(core, "static_key", key, HV_ARRAY_LEN(key));

	if (!err)
		err = hv_fields_find(core, "jump_entry", entry, HV_ARRAY_LEN(entry));
	if (err)
		return err;
	if (!hv_btf_size(core->btf, "jump_entry", &l->entry_len_bytes) ||
	    l->entry_len_bytes > ENTRY_MAX || !l->entry_len_bytes)
		return hv_err_new(ENOENT, "btf: struct jump_entry has no sensible size");
	hv_btf_member(core->btf, "jump_entry", "code", &l->code, &code_len);
	l->is_relative = code_len == 4;
	return find_modules(core, l);
}

/* Reads a pointer that leads to sites. */
static struct hv_err *read_word(struct reading *r, struct hv_gva at, uint64_t *ret)
{
	struct hv_jump_sites *s = &r->sites;
	struct hv_err *err = hv_read_u64(&r->k->core.as, at, ret);

	if (err)
		return err;
	s->words = hv_realloc_array(s->words, s->nr_words + 1, sizeof(*s->words));
	s->words[s->nr_words++] = (struct hv_word){at, *ret, UINT64_MAX};
	return NULL;
}

static struct hv_err *add(struct reading *r, const struct hv_jump_site *site)
{
	if (r->sites.nr == SITES_MAX)
		return hv_err_new(E2BIG, "no end after %u of them", SITES_MAX);
	r->sites.list = hv_grow(r->sites.list, r->sites.nr, &r->cap, 8, sizeof(*r->sites.list));
	r->sites.list[r->sites.nr++] = *site;
	return NULL;
}

/* ENTRY: the bytes of the struct jump_entry at AT. Returns the address of its key. */
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

/* Adds the entries of the key from AT on. A table is sorted by keys: they end at an entry of
 * another key, or at the table's END. */
static struct hv_err *read_entries(struct reading *r, uint64_t at, uint64_t end)
{
	uint8_t bytes[ENTRY_MAX];
	struct hv_span entry = {bytes, r->l->entry_len_bytes};
	struct hv_err *err = NULL;

	for (; !err && at < end; at += entry.len_bytes) {
		struct hv_jump_site site;

		err = hv_read(&r->k->core.as, hv_gva(at), bytes, entry.len_bytes);
		if (err || parse(r->l, entry, at, &site) != r->key.v)
			return err;
		err = add(r, &site);
	}
	return err;
}

/* Reads start and end of the jump table of the module at MODULE. */
static struct hv_err *find_module_end(struct reading *r, uint64_t module, uint64_t *ret_start,
				      uint64_t *ret_end)
{
	const struct hv_address_space *as = &r->k->core.as;
	uint32_t nr = 0;
	struct hv_err *err = hv_read_u64(as, hv_gva(module + r->l->module_entries), ret_start);

	if (!err)
		err = hv_read_u32(as, hv_gva(module + r->l->module_nr), &nr);
	if (!err)
		*ret_end = *ret_start + (uint64_t)nr * r->l->entry_len_bytes;
	return err;
}

/* Finds the end of the table that AT is in. */
static struct hv_err *find_end(struct reading *r, uint64_t at, uint64_t *ret_end)
{
	const struct hv_modules *modules = &r->k->modules;
	struct hv_gva start, end;
	struct hv_err *err = hv_core_need(&r->k->core, "__start___jump_table", &start);

	if (!err)
		err = hv_core_need(&r->k->core, "__stop___jump_table", &end);
	if (!err && at >= start.v && at < end.v) {
		*ret_end = end.v;
		return NULL;
	}
	for (size_t i = 0; !err && i < modules->nr; i++) {
		err = find_module_end(r, modules->list[i].at.v, &start.v, ret_end);
		if (!err && at >= start.v && at < *ret_end)
			return NULL;
	}
	if (!err)
		err = hv_err_new(EINVAL, "0x%llx is in no jump table", (unsigned long long)at);
	return err;
}

static struct hv_err *read_table(struct reading *r, uint64_t entries)
{
	uint64_t end = 0;
	struct hv_err *err;

	if (!entries)
		return NULL;
	err = find_end(r, entries, &end);
	return err ? err : read_entries(r, entries, end);
}

/* AT: the first struct static_key_mod of a list, which has one for each table with entries of the
 * key. */
static struct hv_err *read_links(struct reading *r, uint64_t at)
{
	struct hv_err *err = NULL;

	for (size_t nr = 0; !err && at; nr++) {
		uint64_t entries = 0, link = at;

		if (nr == TABLES_MAX)
			return hv_err_new(E2BIG, "no end after %u tables", TABLES_MAX);
		err = read_word(r, hv_gva(link + r->l->link_entries), &entries);
		if (!err)
			err = read_word(r, hv_gva(link + r->l->link_next), &at);
		if (!err)
			err = read_table(r, entries);
	}
	return err;
}

static struct hv_err *read_key(struct reading *r)
{
	uint64_t entries;
	struct hv_err *err = read_word(r, hv_gva_add(r->key, r->l->key_entries), &entries);

	if (err)
		return err;
	if (entries & KEY_LINKED && r->l->link_len_bytes)
		return read_links(r, entries & KEY_POINTER);
	return read_table(r, entries & KEY_POINTER);
}

struct hv_err *hv_jump_layout_find(const struct hv_kernel *k, struct hv_jump_layout *ret)
{
	struct hv_jump_layout l = {0};
	struct hv_err *err = find_layout(&k->core, &l);

	if (!err)
		*ret = l;
	return err;
}

struct hv_err *hv_jump_sites_read(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				  struct hv_gva key, struct hv_jump_sites *ret)
{
	struct reading r = {.k = k, .l = layout, .key = key};
	struct hv_err *err = read_key(&r);

	if (err) {
		hv_jump_sites_deinit(&r.sites);
		return hv_err_in(err, "static key 0x%llx", (unsigned long long)key.v);
	}
	*ret = r.sites;
	return NULL;
}

void hv_jump_sites_deinit(struct hv_jump_sites *s)
{
	free(s->list);
	free(s->words);
	*s = (struct hv_jump_sites){0};
}
