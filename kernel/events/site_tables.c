/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/site_tables.h"

#include <stdlib.h>

#include "kernel/core/fields.h"
#include "kernel/kernel.h"

/* Limits on guest data. */
#define SITES_MAX  65536u
#define TABLES_MAX 4096u

static struct hv_err *find_links(const struct hv_kernel_core *core,
				 const struct hv_site_table_names *names, struct hv_site_table *t)
{
	const struct hv_field link[] = {
		{"next", 8, &t->link_next},
		{names->link_entries, 8, &t->link_entries},
		{"mod", 8, &t->link_module},
	};
	const struct hv_field module[] = {
		{names->module_entries, 8, &t->module_entries},
		{names->module_nr, 4, &t->module_nr},
	};
	struct hv_gva at;
	struct hv_err *err;

	if (!hv_core_symbol(core, "modules", &at))
		return NULL;
	t->has_links = true;
	err = hv_fields_find(core, names->link, link, HV_ARRAY_LEN(link));
	return err ? err : hv_fields_find(core, "module", module, HV_ARRAY_LEN(module));
}

struct hv_err *hv_site_table_find(const struct hv_kernel_core *core,
				  const struct hv_site_table_names *names,
				  struct hv_site_table *ret)
{
	struct hv_site_table t = {.start = names->start, .stop = names->stop};
	struct hv_err *err;

	if (!hv_btf_size(core->btf, names->entry, &t.entry_len_bytes) ||
	    t.entry_len_bytes > HV_SITE_ENTRY_MAX || !t.entry_len_bytes)
		return hv_err_new(ENOENT, "BTF: struct %s has no sensible size", names->entry);
	err = find_links(core, names, &t);
	if (!err)
		*ret = t;
	return err;
}

struct hv_err *hv_site_tables_word(struct hv_site_tables *t, struct hv_gva at, uint64_t *ret)
{
	struct hv_err *err = hv_read_u64(&t->k->core.as, at, ret);

	if (err)
		return err;
	t->words = hv_realloc_array(t->words, t->nr_words + 1, sizeof(*t->words));
	t->words[t->nr_words++] = (struct hv_word){at, *ret, UINT64_MAX};
	return NULL;
}

/* Adds the entries of the key from AT on, up to an entry of another key or the table's END. */
static struct hv_err *read_entries(struct hv_site_tables *t, uint64_t at, uint64_t end)
{
	uint8_t bytes[HV_SITE_ENTRY_MAX];
	struct hv_span entry = {bytes, t->table->entry_len_bytes};
	struct hv_err *err = NULL;

	for (; !err && at < end; at += entry.len_bytes) {
		err = hv_read(&t->k->core.as, hv_gva(at), bytes, entry.len_bytes);
		if (err || !t->is_of_key(t->ctx, entry, at))
			return err;
		if (t->nr == SITES_MAX)
			return hv_err_new(E2BIG, "the list does not end after %u entries",
					  SITES_MAX);
		t->add(t->ctx, entry, at);
		t->nr++;
	}
	return err;
}

/* Returns false if AT is not in the table of the module at MODULE, or there is no such module. */
static bool find_module_end(const struct hv_site_tables *t, uint64_t module, uint64_t at,
			    uint64_t *ret_end)
{
	const struct hv_address_space *as = &t->k->core.as;
	uint64_t start = 0;
	uint32_t nr = 0;
	HV_AUTO_ERR struct hv_err *err =
		hv_read_u64(as, hv_gva(module + t->table->module_entries), &start);

	if (!err)
		err = hv_read_u32(as, hv_gva(module + t->table->module_nr), &nr);
	*ret_end = start + (uint64_t)nr * t->table->entry_len_bytes;
	return !err && at >= start && at < *ret_end;
}

/* Finds the end of the table that contains AT. MODULE is its expected owner, which may have just
 * been loaded; 0: the kernel, or the module that contains the key. */
static struct hv_err *find_end(const struct hv_site_tables *t, uint64_t at, uint64_t module,
			       uint64_t *ret_end)
{
	const struct hv_modules *modules = &t->k->modules;
	struct hv_gva start, end;
	struct hv_err *err = hv_core_need(&t->k->core, t->table->start, &start);

	if (!err)
		err = hv_core_need(&t->k->core, t->table->stop, &end);
	if (!err && at >= start.v && at < end.v) {
		*ret_end = end.v;
		return NULL;
	}
	if (!err && module && find_module_end(t, module, at, ret_end))
		return NULL;
	for (size_t i = 0; !err && t->table->has_links && i < modules->nr; i++)
		if (find_module_end(t, modules->list[i].at.v, at, ret_end))
			return NULL;
	if (!err)
		err = hv_err_new(EINVAL, "0x%llx is in no table of %s", (unsigned long long)at,
				 t->table->start);
	return err;
}

static struct hv_err *read_table(struct hv_site_tables *t, uint64_t entries, uint64_t module)
{
	uint64_t end = 0;
	struct hv_err *err;

	if (!entries)
		return NULL;
	err = find_end(t, entries, module, &end);
	return err ? err : read_entries(t, entries, end);
}

struct hv_err *hv_site_tables_read(struct hv_site_tables *t, uint64_t entries)
{
	return read_table(t, entries, 0);
}

struct hv_err *hv_site_tables_read_list(struct hv_site_tables *t, uint64_t link)
{
	struct hv_err *err = NULL;

	for (size_t nr = 0; !err && link; nr++) {
		uint64_t entries = 0, module = 0, at = link;

		if (nr == TABLES_MAX)
			return hv_err_new(E2BIG, "the list does not end after %u tables",
					  TABLES_MAX);
		err = hv_site_tables_word(t, hv_gva(at + t->table->link_entries), &entries);
		if (!err)
			err = hv_site_tables_word(t, hv_gva(at + t->table->link_next), &link);
		if (!err)
			err = hv_read_u64(&t->k->core.as, hv_gva(at + t->table->link_module),
					  &module);
		if (!err)
			err = read_table(t, entries, module);
	}
	return err;
}
