/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/call_sites.h"

#include <stdlib.h>

#include "base/grow.h"
#include "kernel/events/catalogue.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"

/* Low bit of struct static_call_key's pointer: it points to sites in the kernel's own table rather
 * than to a list of links (include/linux/static_call_types.h). */
#define KEY_DIRECT UINT64_C(1)

/* Low bits of struct static_call_site's key: STATIC_CALL_SITE_TAIL and STATIC_CALL_SITE_INIT. */
#define SITE_INIT UINT64_C(2)
#define SITE_KEY  (~UINT64_C(3))

#define MODULE_COMING 1u /* MODULE_STATE_COMING */
#define LINKS_MAX     4096u

struct reading {
	const struct hv_kernel *k;
	const struct hv_call_layout *l;
	uint64_t key;
	struct hv_call_sites sites;
	size_t cap;
	struct hv_err *err; /* the first error */
};

struct hv_err *hv_call_layout_find(const struct hv_kernel *k, struct hv_call_layout *ret)
{
	static const struct hv_site_table_names names = {
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
		err = hv_site_table_find(&k->core, &names, &l.table);
	if (!err && l.table.has_links)
		err = hv_fields_find(&k->core, "module", module, HV_ARRAY_LEN(module));
	if (!err)
		*ret = l;
	return err;
}

/* Reads the call at AT and adds it. */
static struct hv_err *add_call(struct reading *r, struct hv_gva at)
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

static bool is_of_key(void *ctx, struct hv_span entry, uint64_t at)
{
	const struct reading *r = ctx;

	return (key_of(r->l, entry, at) & SITE_KEY) == r->key;
}

static void add(void *ctx, struct hv_span entry, uint64_t at)
{
	struct reading *r = ctx;
	uint64_t off = (uint64_t)(int32_t)hv_copy_u32(entry, r->l->site_code);

	if (!r->err && !(key_of(r->l, entry, at) & SITE_INIT))
		r->err = add_call(r, hv_gva(at + r->l->site_code + off));
}

static struct hv_err *read_key(struct reading *r, struct hv_site_tables *t)
{
	uint64_t first;
	struct hv_err *err = hv_site_tables_word(t, hv_gva(r->key + r->l->links), &first);

	if (err)
		return err;
	if (first & KEY_DIRECT)
		return hv_site_tables_read(t, first & ~KEY_DIRECT);
	return hv_site_tables_read_list(t, first);
}

struct hv_err *hv_call_sites_read(const struct hv_kernel *k, const struct hv_call_layout *layout,
				  const struct hv_tracepoint *tp, struct hv_call_sites *ret)
{
	struct reading r = {.k = k, .l = layout};
	struct hv_site_tables tables = {
		.k = k, .table = &layout->table, .is_of_key = is_of_key, .add = add, .ctx = &r};
	uint64_t trampoline;
	struct hv_err *err = hv_read_u64(&k->core.as, hv_gva_add(tp->at, layout->key), &r.key);

	if (!err)
		err = hv_read_u64(&k->core.as, hv_gva_add(tp->at, layout->trampoline), &trampoline);
	if (!err)
		err = add_call(&r, hv_gva(trampoline));
	if (!err)
		err = read_key(&r, &tables);
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
		err = hv_err_new(EBUSY, "a module with calls of it is being loaded");
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
