/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/static_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/core/fields.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"

/* -- tables of sites --------------------------------------------------------------------------- */

/* Limits on guest data. */
#define SITES_MAX  65536u
#define TABLES_MAX 4096u
#define ENTRY_MAX  64u /* bytes */

/* The names that site_table_find() looks up. */
struct site_table_names {
	const char *start, *stop, *entry;
	const char *link, *link_entries;
	const char *module_entries, *module_nr;
};

struct site_tables {
	const struct hv_kernel *k; /* borrowed, like the table */
	const struct hv_site_table *table;
	/* Called for each entry in turn. Returns false if ENTRY, at address AT, belongs to another
	 * key. */
	bool (*is_of_key)(void *ctx, struct hv_span entry, uint64_t at);
	void (*add)(void *ctx, struct hv_span entry, uint64_t at);
	void *ctx;
	size_t nr; /* number of entries added */
	/* Owned: the pointers that lead to the entries. While their values are unchanged, so are
	 * the key's entries. */
	struct hv_word *words;
	size_t nr_words;
};

static struct hv_err *find_links(const struct hv_kernel_core *core,
				 const struct site_table_names *names, struct hv_site_table *t)
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
	if (!err)
		err = hv_fields_find(core, "module", module, HV_ARRAY_LEN(module));
	t->has_module_tables = !err;
	if (err && !hv_types_are_whole(core) && hv_modules_are_none(core)) {
		hv_err_free(err);
		err = NULL;
	}
	return err;
}

/* Fails with ENOENT if the kernel lacks a type or member, which the message names. */
static struct hv_err *site_table_find(const struct hv_kernel_core *core,
				      const struct site_table_names *names,
				      struct hv_site_table *ret)
{
	struct hv_site_table t = {.start = names->start, .stop = names->stop};
	struct hv_err *err = hv_struct_size_find(core, names->entry, ENTRY_MAX, &t.entry_len_bytes);

	if (!err)
		err = find_links(core, names, &t);
	if (!err)
		*ret = t;
	return err;
}

/* Reads a pointer that leads to entries. */
static struct hv_err *site_tables_word(struct site_tables *t, struct hv_gva at, uint64_t *ret)
{
	struct hv_err *err = hv_read_u64(&t->k->core.as, at, ret);

	if (err)
		return err;
	t->words = hv_realloc_array(t->words, t->nr_words + 1, sizeof(*t->words));
	t->words[t->nr_words++] = (struct hv_word){at, *ret, UINT64_MAX};
	return NULL;
}

/* Adds the entries of the key from AT on, up to an entry of another key or the table's END. */
static struct hv_err *read_entries(struct site_tables *t, uint64_t at, uint64_t end)
{
	uint8_t bytes[ENTRY_MAX];
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
static bool find_module_end(const struct site_tables *t, uint64_t module, uint64_t at,
			    uint64_t *ret_end)
{
	const struct hv_address_space *as = &t->k->core.as;
	uint64_t start = 0;
	uint32_t nr = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!t->table->has_module_tables)
		return false;
	err = hv_read_u64(as, hv_gva(module + t->table->module_entries), &start);
	if (!err)
		err = hv_read_u32(as, hv_gva(module + t->table->module_nr), &nr);
	*ret_end = start + (uint64_t)nr * t->table->entry_len_bytes;
	return !err && at >= start && at < *ret_end;
}

/* Finds the end of the table that contains AT. MODULE is its expected owner, which may have just
 * been loaded; 0: the kernel, or the module that contains the key. */
static struct hv_err *find_end(const struct site_tables *t, uint64_t at, uint64_t module,
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

static struct hv_err *read_table(struct site_tables *t, uint64_t entries, uint64_t module)
{
	uint64_t end = 0;
	struct hv_err *err;

	if (!entries)
		return NULL;
	err = find_end(t, entries, module, &end);
	return err ? err : read_entries(t, entries, end);
}

/* Reads the entries of the key, starting at address ENTRIES; does nothing if ENTRIES is 0. Fails
 * with EINVAL if the address is in no table, or with E2BIG. */
static struct hv_err *site_tables_read(struct site_tables *t, uint64_t entries)
{
	return read_table(t, entries, 0);
}

/* Reads the key's entries in all tables of the list of links that begins at LINK; 0 if empty. */
static struct hv_err *site_tables_read_list(struct site_tables *t, uint64_t link)
{
	struct hv_err *err = NULL;

	for (size_t nr = 0; !err && link; nr++) {
		uint64_t entries = 0, module = 0, at = link;

		if (nr == TABLES_MAX)
			return hv_err_new(E2BIG, "the list does not end after %u tables",
					  TABLES_MAX);
		err = site_tables_word(t, hv_gva(at + t->table->link_entries), &entries);
		if (!err)
			err = site_tables_word(t, hv_gva(at + t->table->link_next), &link);
		if (!err)
			err = hv_read_u64(&t->k->core.as, hv_gva(at + t->table->link_module),
					  &module);
		if (!err)
			err = read_table(t, entries, module);
	}
	return err;
}

/* -- static keys ------------------------------------------------------------------------------- */

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

struct key_reading {
	const struct hv_jump_layout *l;
	struct hv_gva key;
	struct hv_jump_sites sites;
	size_t cap;
};

struct hv_err *hv_jump_layout_find(const struct hv_kernel *k, struct hv_jump_layout *ret)
{
	static const struct site_table_names names = {
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
		err = site_table_find(&k->core, &names, &l.table);
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
	if (!l->is_relative) {
		/* Until 4.19 the kernel removes the address of code that it has freed. */
		ret->is_init |= !ret->code.v;
		return key & ENTRY_KEY;
	}
	ret->code = hv_gva(at + l->code + (uint64_t)(int32_t)hv_copy_u32(entry, l->code));
	ret->target = hv_gva(at + l->target + (uint64_t)(int32_t)hv_copy_u32(entry, l->target));
	return at + l->key + (key & ENTRY_KEY);
}

static bool is_of_static_key(void *ctx, struct hv_span entry, uint64_t at)
{
	const struct key_reading *r = ctx;
	struct hv_jump_site site;

	return parse(r->l, entry, at, &site) == r->key.v;
}

static void add_jump(void *ctx, struct hv_span entry, uint64_t at)
{
	struct key_reading *r = ctx;

	r->sites.list = hv_grow(r->sites.list, r->sites.nr, &r->cap, 8, sizeof(*r->sites.list));
	parse(r->l, entry, at, &r->sites.list[r->sites.nr++]);
}

static struct hv_err *read_static_key(const struct key_reading *r, struct site_tables *t)
{
	uint64_t entries;
	struct hv_err *err = site_tables_word(t, hv_gva_add(r->key, r->l->key_entries), &entries);

	if (err)
		return err;
	if (entries & KEY_LINKED && r->l->table.has_links)
		return site_tables_read_list(t, entries & KEY_POINTER);
	return site_tables_read(t, entries & KEY_POINTER);
}

struct hv_err *hv_jump_sites_read(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				  struct hv_gva key, struct hv_jump_sites *ret)
{
	struct key_reading r = {.l = layout, .key = key};
	struct site_tables tables = {.k = k,
				     .table = &layout->table,
				     .is_of_key = is_of_static_key,
				     .add = add_jump,
				     .ctx = &r};
	struct hv_err *err = read_static_key(&r, &tables);

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
	uint8_t bytes[ENTRY_MAX], code[8] = {0};
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

/* -- static calls ------------------------------------------------------------------------------ */

/* Low bit of struct static_call_key's pointer: it points to sites in the kernel's own table rather
 * than to a list of links (include/linux/static_call_types.h). */
#define KEY_DIRECT UINT64_C(1)

/* Low bits of struct static_call_site's key: STATIC_CALL_SITE_TAIL and STATIC_CALL_SITE_INIT. */
#define SITE_INIT UINT64_C(2)
#define SITE_KEY  (~UINT64_C(3))

#define MODULE_COMING 1u /* MODULE_STATE_COMING */
#define LINKS_MAX     4096u

struct call_reading {
	const struct hv_kernel *k;
	const struct hv_call_layout *l;
	uint64_t key;
	struct hv_call_sites sites;
	size_t cap;
	struct hv_err *err; /* the first error */
};

struct hv_err *hv_call_layout_find(const struct hv_kernel *k, struct hv_call_layout *ret)
{
	static const struct site_table_names names = {
		.start = "__start_static_call_sites",
		.stop = "__stop_static_call_sites",
		.entry = "static_call_site",
		.link = "static_call_mod",
		.link_entries = "sites",
		.module_entries = "static_call_sites",
		.module_nr = "num_static_call_sites",
	};
	struct hv_call_layout l = {0};
	const struct hv_field tracepoint[] = {{"static_call_key", 8, &l.key},
					      {"static_call_tramp", 8, &l.trampoline}};
	const struct hv_field key[] = {{"mods", 8, &l.links}};
	const struct hv_field site[] = {{"addr", 4, &l.site_code}, {"key", 4, &l.site_key}};
	const struct hv_field module[] = {{"state", 4, &l.module_state}};
	struct hv_err *err =
		hv_fields_find(&k->core, "tracepoint", tracepoint, HV_ARRAY_LEN(tracepoint));

	if (!err)
		err = hv_fields_find(&k->core, "static_call_key", key, HV_ARRAY_LEN(key));
	if (!err)
		err = hv_fields_find(&k->core, "static_call_site", site, HV_ARRAY_LEN(site));
	if (!err)
		err = site_table_find(&k->core, &names, &l.table);
	if (!err && l.table.has_links)
		err = hv_fields_find(&k->core, "module", module, HV_ARRAY_LEN(module));
	if (!err)
		*ret = l;
	return err;
}

/* Reads the call at AT and adds it. */
static struct hv_err *add_call(struct call_reading *r, struct hv_gva at)
{
	const struct hv_arch *arch = r->k->core.as.arch;
	struct hv_call_site site = {.at = at};
	struct hv_err *err = hv_read(&r->k->core.as, at, site.bytes, arch->site_len_bytes);
	enum hv_site_kind kind;

	if (err)
		return err;
	kind = arch->classify_site(site.bytes, at, &site.target);
	if (kind == HV_SITE_BREAKPOINT)
		return hv_err_new(EBUSY, "the kernel is changing its code at 0x%llx",
				  (unsigned long long)at.v);
	if (kind != HV_SITE_CALL && kind != HV_SITE_JUMP)
		return hv_err_new(EINVAL, "0x%llx has neither a call nor a jump",
				  (unsigned long long)at.v);
	site.is_jump = kind == HV_SITE_JUMP;
	r->sites.list = hv_grow(r->sites.list, r->sites.nr, &r->cap, 4, sizeof(*r->sites.list));
	r->sites.list[r->sites.nr++] = site;
	return NULL;
}

/* ENTRY contains the struct static_call_site at AT, whose members are relative to their own
 * addresses. */
static uint64_t key_of(const struct hv_call_layout *l, struct hv_span entry, uint64_t at)
{
	return at + l->site_key + (uint64_t)(int32_t)hv_copy_u32(entry, l->site_key);
}

static bool is_of_call(void *ctx, struct hv_span entry, uint64_t at)
{
	const struct call_reading *r = ctx;

	return (key_of(r->l, entry, at) & SITE_KEY) == r->key;
}

static void add_call_site(void *ctx, struct hv_span entry, uint64_t at)
{
	struct call_reading *r = ctx;
	uint64_t off = (uint64_t)(int32_t)hv_copy_u32(entry, r->l->site_code);

	if (!r->err && !(key_of(r->l, entry, at) & SITE_INIT))
		r->err = add_call(r, hv_gva(at + r->l->site_code + off));
}

static struct hv_err *read_call_key(struct call_reading *r, struct site_tables *t)
{
	uint64_t first;
	struct hv_err *err = site_tables_word(t, hv_gva(r->key + r->l->links), &first);

	if (err)
		return err;
	if (first & KEY_DIRECT)
		return site_tables_read(t, first & ~KEY_DIRECT);
	return site_tables_read_list(t, first);
}

struct hv_err *hv_call_sites_read(const struct hv_kernel *k, const struct hv_call_layout *layout,
				  const struct hv_tracepoint *tp, struct hv_call_sites *ret)
{
	struct call_reading r = {.k = k, .l = layout};
	struct site_tables tables = {.k = k,
				     .table = &layout->table,
				     .is_of_key = is_of_call,
				     .add = add_call_site,
				     .ctx = &r};
	uint64_t trampoline;
	struct hv_err *err = hv_read_u64(&k->core.as, hv_gva_add(tp->at, layout->key), &r.key);

	if (!err)
		err = hv_read_u64(&k->core.as, hv_gva_add(tp->at, layout->trampoline), &trampoline);
	if (!err)
		err = add_call(&r, hv_gva(trampoline));
	if (!err)
		err = read_call_key(&r, &tables);
	r.sites.words = tables.words;
	r.sites.nr_words = tables.nr_words;
	if (!err)
		err = hv_take(r.err);
	hv_err_free(r.err);
	if (err) {
		hv_call_sites_deinit(&r.sites);
		return hv_err_in(err, "static call 0x%llx", (unsigned long long)r.key);
	}
	*ret = r.sites;
	return NULL;
}

/* Checks the module of the link at *LINK and advances *LINK to the next link. */
static struct hv_err *check_link(const struct hv_kernel *k, const struct hv_call_layout *l,
				 uint64_t *link)
{
	const struct hv_address_space *as = &k->core.as;
	uint32_t state = 0;
	uint64_t module;
	struct hv_err *err = hv_read_u64(as, hv_gva(*link + l->table.link_module), &module);

	if (!err && module) /* 0: the core kernel */
		err = hv_read_u32(as, hv_gva(module + l->module_state), &state);
	if (!err && state == MODULE_COMING)
		err = hv_err_new(EBUSY, "a module that calls it is being loaded");
	return err ? err : hv_read_u64(as, hv_gva(*link + l->table.link_next), link);
}

struct hv_err *hv_call_sites_check_modules(const struct hv_kernel *k,
					   const struct hv_call_layout *layout,
					   const struct hv_tracepoint *tp)
{
	uint64_t key, link = 0;
	struct hv_err *err = hv_read_u64(&k->core.as, hv_gva_add(tp->at, layout->key), &key);

	if (!err)
		err = hv_read_u64(&k->core.as, hv_gva(key + layout->links), &link);
	if (!err && (link & KEY_DIRECT || !layout->table.has_links))
		return NULL;
	for (size_t i = 0; !err && link && i < LINKS_MAX; i++)
		err = check_link(k, layout, &link);
	return err;
}

void hv_call_sites_deinit(struct hv_call_sites *s)
{
	free(s->list);
	free(s->words);
	*s = (struct hv_call_sites){0};
}
