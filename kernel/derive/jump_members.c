/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/jump_label.h, kernel/jump_label.c, include/linux/static_call_types.h,
 * kernel/static_call_inline.c, include/linux/module.h. */
#include "kernel/derive/jump_members.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "base/prefix.h"
#include "kernel/core/fields.h"
#include "kernel/derive/module_members.h"

#define USE(kind)	 (1u << HV_MEMBER_##kind)
#define TABLE_MAX	 (8u << 20)
#define MODULE_TABLE_MAX (1u << 20) /* bytes */
#define KEYS_MAX	 65536u
#define ENTRIES_MIN	 32u
#define NAME_END	 80u /* struct module begins with its state, list and name */
#define LAYOUTS_BYTES	 160u
#define NEAR		 (UINT64_C(64) << 20) /* limit of distances in a module's code */
#define FLAGS		 UINT64_C(3) /* low bits of pointers to a key and to a key's entries */
#define LINKED		 UINT64_C(2) /* struct static_key points to a list of tables */
#define DIRECT		 UINT64_C(1) /* struct static_call_key points to a table, not to a list */

static void add(struct hv_deriving *d, const char *type, const char *member, uint32_t off,
		uint32_t len_bytes, const char *of, unsigned proofs)
{
	hv_facts_add(&d->facts, &(struct hv_fact){type, member, off, len_bytes, of, proofs});
}

/* -- tables ------------------------------------------------------------------------------------ */

struct table {
	uint64_t at;
	uint8_t *bytes; /* owned */
	uint32_t len_bytes;
};

static void table_deinit(struct table *t)
{
	free(t->bytes);
}

static bool read_table(const struct hv_kernel_core *core, const char *start, const char *stop,
		       struct table *ret)
{
	uint64_t at = hv_symbol_of(core, start, ""), end = hv_symbol_of(core, stop, "");
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!at || end <= at || end - at > TABLE_MAX)
		return false;
	*ret = (struct table){at, hv_alloc(end - at), (uint32_t)(end - at)};
	err = hv_read(&core->as, hv_gva(at), ret->bytes, ret->len_bytes);
	return !err;
}

static struct hv_span span_of(const struct table *t)
{
	return (struct hv_span){t->bytes, t->len_bytes};
}

/* Returns the address that the relative reference at OFF, of LEN_BYTES (4 or 8), refers to. */
static uint64_t relative(const struct table *t, uint32_t off, unsigned len_bytes)
{
	return t->at + off +
	       (len_bytes == 8 ? hv_copy_u64(span_of(t), off)
			       : (uint64_t)(int32_t)hv_copy_u32(span_of(t), off));
}

static bool is_in_image(const struct hv_kernel_core *core, uint64_t at)
{
	return hv_gva_in(hv_gva(at), core->image.all);
}

/* -- static keys ------------------------------------------------------------------------------- */

/* Addresses are absolute before 4.19 (50ff18ab497a) and on some architectures. */
enum form { FORM_NONE, FORM_RELATIVE, FORM_ABSOLUTE };
static const uint32_t jump_bytes[] = {[FORM_RELATIVE] = 16, [FORM_ABSOLUTE] = 24};

struct jump {
	uint64_t code, target, key;
};

static struct jump jump_at(const struct table *t, enum form form, uint32_t off)
{
	if (form == FORM_RELATIVE)
		return (struct jump){relative(t, off, 4), relative(t, off + 4, 4),
				     relative(t, off + 8, 8) & ~FLAGS};
	return (struct jump){hv_copy_u64(span_of(t), off), hv_copy_u64(span_of(t), off + 8),
			     hv_copy_u64(span_of(t), off + 16) & ~FLAGS};
}

static bool has_form(const struct hv_kernel_core *core, const struct table *t, enum form form)
{
	const uint32_t nr = t->len_bytes / jump_bytes[form];

	if (t->len_bytes % jump_bytes[form] || nr < ENTRIES_MIN)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		struct jump j = jump_at(t, form, i * jump_bytes[form]);

		if (!is_in_image(core, j.target) || !is_in_image(core, j.key) || j.key % 8)
			return false;
		/* Until 4.19 the kernel sets the address of code that was freed to 0. */
		if (!is_in_image(core, j.code) && (j.code || form != FORM_ABSOLUTE))
			return false;
	}
	return true;
}

static enum form find_form(const struct hv_kernel_core *core, const struct table *t)
{
	bool is_relative = has_form(core, t, FORM_RELATIVE),
	     is_absolute = has_form(core, t, FORM_ABSOLUTE);

	if (is_relative == is_absolute)
		return FORM_NONE;
	return is_relative ? FORM_RELATIVE : FORM_ABSOLUTE;
}

/* The kernel sorts its table by keys. Finds the next key at or after *OFF, sets *OFF to the end of
 * its first entry, and *RET_ENTRIES to the second word of the key. Returns false after the last
 * key. Keys that cannot be read have no entries. */
static bool next_key(const struct hv_kernel_core *core, const struct table *t, enum form form,
		     uint64_t *before, uint32_t *off, uint64_t *ret_entries)
{
	for (; *off < t->len_bytes; *off += jump_bytes[form]) {
		const uint64_t key = jump_at(t, form, *off).key;

		if (key == *before)
			continue;
		*before = key;
		*off += jump_bytes[form];
		*ret_entries = 0;
		hv_err_free(hv_read_u64(&core->as, hv_gva(key + 8), ret_entries));
		return true;
	}
	return false;
}

/* Returns whether the second word of each key without a list points to the key's first entry. The
 * low bits of the word are flags. */
static bool has_entries(const struct hv_kernel_core *core, const struct table *t, enum form form)
{
	uint64_t key = 0, entries;
	uint32_t off = 0;
	unsigned nr = 0;

	while (next_key(core, t, form, &key, &off, &entries)) {
		if (entries & LINKED || !(entries & ~FLAGS))
			continue;
		if ((entries & ~FLAGS) != t->at + off - jump_bytes[form])
			return false;
		nr++;
	}
	return nr >= ENTRIES_MIN;
}

/* Returns whether AT is a list of the tables that have entries of a key. A link contains a pointer
 * to the next link, then pointers to the entries and to the module, in this or in the reverse
 * order. */
static bool is_table_list(const struct hv_kernel_core *core, uint64_t at, const struct table *t,
			  uint32_t entries_off, uint32_t module_off)
{
	for (unsigned nr = 0; at && nr < 64; nr++) {
		uint64_t words[3];
		HV_AUTO_ERR struct hv_err *err =
			hv_read(&core->as, hv_gva(at), words, sizeof(words));

		if (err)
			return false;
		/* The link without a module is the kernel's. */
		if (!words[module_off / 8] && words[entries_off / 8] - t->at < t->len_bytes)
			return true;
		at = words[0];
	}
	return false;
}

static void derive_key_list(struct hv_deriving *d, const struct table *t, enum form form)
{
	static const char type[] = "static_key_mod";
	uint64_t key = 0, list;
	uint32_t off = 0;
	unsigned nr = 0;

	while (next_key(d->core, t, form, &key, &off, &list)) {
		if (hv_cancel_now(nr) || nr++ == KEYS_MAX)
			return;
		if (list & LINKED && list & ~FLAGS &&
		    !is_table_list(d->core, list & ~FLAGS, t, 8, 16))
			return;
	}
	add(d, type, "next", 0, 8, NULL, HV_PROVED_BY_MEMORY);
	add(d, type, "entries", 8, 8, NULL, HV_PROVED_BY_MEMORY);
	add(d, type, "mod", 16, 8, NULL, HV_PROVED_BY_MEMORY);
}

static const struct hv_member of_key[] = {
	{"enabled", 4, NULL, NULL,
	 .code = {{"static_key_count", 0, USE(READ), 4},
		  {"static_key_fast_inc_not_disabled", 0, 0, 4},
		  {"static_key_slow_inc_cpuslocked", 0, 0, 4},
		  {"static_key_enable_cpuslocked", 0, 0, 4}}},
};

static void derive_keys(struct hv_deriving *d)
{
	static const char type[] = "jump_entry";
	hv_cleanup(table_deinit) struct table t = {0};
	enum form form;
	uint32_t len;

	if (!read_table(d->core, "__start___jump_table", "__stop___jump_table", &t))
		return;
	form = find_form(d->core, &t);
	if (form == FORM_NONE || !has_entries(d->core, &t, form))
		return;
	len = form == FORM_RELATIVE ? 4 : 8;
	add(d, type, "code", 0, len, NULL, HV_PROVED_BY_MEMORY);
	add(d, type, "target", len, len, NULL, HV_PROVED_BY_MEMORY);
	add(d, type, "key", 2 * len, 8, NULL, HV_PROVED_BY_MEMORY);
	hv_members_derive(d, "static_key", of_key, HV_ARRAY_LEN(of_key), NULL, 0);
	add(d, "static_key", "entries", 8, 8, NULL, HV_PROVED_BY_MEMORY);
	derive_key_list(d, &t, form);
}

bool hv_jump_key_find(const struct hv_kernel_core *core, const char *prefix,
		      const struct hv_objects *objects, uint32_t *ret_off)
{
	hv_cleanup(table_deinit) struct table t = {0};
	unsigned nr = 0;
	enum form form;

	if (!read_table(core, "__start___jump_table", "__stop___jump_table", &t))
		return false;
	form = find_form(core, &t);
	for (uint32_t off = 0; form != FORM_NONE && off < t.len_bytes; off += jump_bytes[form]) {
		uint64_t key = jump_at(&t, form, off).key;
		const struct hv_symbol *s = hv_symbols_at(&core->symbols, hv_gva(key));

		if (!s || !hv_starts_with(s->name, prefix) || key - s->addr.v >= objects->len_bytes)
			continue;
		if (nr++ && key - s->addr.v != *ret_off)
			return false;
		*ret_off = (uint32_t)(key - s->addr.v);
	}
	return nr >= HV_OBJECTS_MIN;
}

/* -- static calls ------------------------------------------------------------------------------ */

#define SITE_BYTES 8u

static bool is_site_table(const struct hv_kernel_core *core, const struct table *t)
{
	if (t->len_bytes % SITE_BYTES || t->len_bytes / SITE_BYTES < ENTRIES_MIN)
		return false;
	for (uint32_t off = 0; off < t->len_bytes; off += SITE_BYTES)
		if (!is_in_image(core, relative(t, off, 4)) ||
		    !is_in_image(core, relative(t, off + 4, 4) & ~FLAGS))
			return false;
	return true;
}

/* Returns whether the word at OFF of each key points to an entry of that key in the table T, or to
 * a list. */
static bool has_sites(const struct hv_kernel_core *core, const struct table *t,
		      const struct hv_objects *keys, uint32_t off)
{
	unsigned nr = 0;

	for (size_t i = 0; i < keys->nr; i++) {
		uint64_t word = hv_object_u64(&keys->list[i], off), at = (word & ~DIRECT) - t->at;

		if (!(word & ~DIRECT))
			continue;
		if (!(word & DIRECT)) {
			if (!is_table_list(core, word, t, 16, 8))
				return false;
			continue;
		}
		if (at >= t->len_bytes || at % SITE_BYTES ||
		    (relative(t, (uint32_t)at + 4, 4) & ~FLAGS) != keys->list[i].at.v)
			return false;
		nr++;
	}
	return nr >= HV_OBJECTS_MIN;
}

static void add_sites(struct hv_deriving *d, uint32_t mods)
{
	add(d, "static_call_key", "mods", mods, 8, NULL, HV_PROVED_BY_MEMORY);
	add(d, "static_call_site", "addr", 0, 4, NULL, HV_PROVED_BY_MEMORY);
	add(d, "static_call_site", "key", 4, 4, NULL, HV_PROVED_BY_MEMORY);
	add(d, "static_call_mod", "next", 0, 8, NULL, HV_PROVED_BY_MEMORY);
	add(d, "static_call_mod", "mod", 8, 8, NULL, HV_PROVED_BY_MEMORY);
	add(d, "static_call_mod", "sites", 16, 8, NULL, HV_PROVED_BY_MEMORY);
}

/* Static calls of tracepoints lead to a function: __traceiter_NAME or, if the tracepoint has exactly
 * one callback, to that, which can be outside of the image. */
static bool is_callee(void *ctx, const struct hv_object *o hv_unused, uint64_t value)
{
	const struct hv_kernel_core *core = *(const struct hv_kernel_core *const *)ctx;
	const struct hv_symbol *symbol;

	if (!hv_gva_in(hv_gva(value), core->image.all))
		return value >= core->as.arch->kernel_start(core->as.levels).v;
	symbol = hv_symbols_at(&core->symbols, hv_gva(value));
	return hv_gva_in(hv_gva(value), core->image.text) && symbol && symbol->addr.v == value;
}

static void derive_calls(struct hv_deriving *d)
{
	static const struct hv_code_rule written = {"__static_call_update", 0, USE(WRITE), 8};
	hv_cleanup(table_deinit) struct table t = {0};
	hv_cleanup(hv_objects_deinit) struct hv_objects keys = {0};
	unsigned proofs = HV_PROVED_BY_MEMORY;
	struct hv_code_offs offs;
	uint32_t func;

	hv_objects_read(d->core, "__SCK__tp_func_", "__traceiter_", &keys);
	if (!hv_objects_find(&keys, 8, is_callee, &d->core, &func) || func != 0)
		return;
	hv_code_offs_find(d->core, &d->current, &written, 0, &offs);
	if (hv_code_offs_have(&offs, func))
		proofs |= HV_PROVED_BY_CODE;
	add(d, "static_call_key", "func", func, 8, NULL, proofs);
	if (read_table(d->core, "__start_static_call_sites", "__stop_static_call_sites", &t) &&
	    is_site_table(d->core, &t) && has_sites(d->core, &t, &keys, func + 8))
		add_sites(d, func + 8);
}

/* -- tables of modules ------------------------------------------------------------------------- */

struct modules {
	const struct hv_kernel_core *core;
	struct hv_loaded_modules loaded;
	uint32_t text; /* offset in struct module */
};

static void modules_deinit(struct modules *m)
{
	hv_loaded_deinit(&m->loaded);
}

/* A member of struct module that points to a table, and its number of entries DISTANCE bytes after
 * it. An entry starts with the distance to code of the module, or with the code's address. */
struct module_table {
	const char *pointer, *number;
	uint32_t entry_bytes;
	bool is_absolute;
	int distance;
	const char *function; /* a function that uses the table of a module that is being loaded */
};

static bool is_module_table(const struct modules *all, const struct hv_loaded *m,
			    const struct module_table *t, uint64_t at, uint32_t nr)
{
	const uint64_t text = hv_loaded_u64(m, all->text);
	const uint32_t bytes = t->entry_bytes;
	HV_AUTO_FREE uint8_t *copy = NULL;
	struct hv_span table;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (nr > MODULE_TABLE_MAX / bytes || hv_cancel_now(0))
		return false;
	copy = hv_alloc((size_t)nr * bytes + 1);
	table = (struct hv_span){copy, (size_t)nr * bytes};
	err = hv_read(&all->core->as, hv_gva(at), copy, table.len_bytes);
	for (uint32_t off = 0; !err && off < table.len_bytes; off += bytes) {
		uint64_t code = t->is_absolute
					? hv_copy_u64(table, off)
					: at + off + (uint64_t)(int32_t)hv_copy_u32(table, off);

		/* Relative entries for the module's init code, which is freed, are also within NEAR;
		 * absolute ones are 0. */
		if ((code || !t->is_absolute) && code - text + NEAR > 2 * NEAR)
			return false;
	}
	return !err;
}

/* Returns whether the tables of all modules are valid. *RET_USED: a module has a table. */
static bool fits_all(const struct modules *all, const struct module_table *t, uint32_t pointer,
		     bool *ret_used)
{
	const uint32_t number = pointer + (uint32_t)t->distance;

	*ret_used = false;
	if (pointer > HV_LOADED_BYTES - 16)
		return false;
	for (unsigned i = 0; i < all->loaded.nr; i++) {
		const struct hv_loaded *m = &all->loaded.list[i];
		uint64_t at = hv_loaded_u64(m, pointer);
		uint32_t nr = hv_loaded_u32(m, number);

		*ret_used |= nr != 0;
		if (nr && (at % 4 || !is_module_table(all, m, t, at, nr)))
			return false;
	}
	return true;
}

struct module_reads {
	struct hv_code_offs pointers, numbers;
};

static void note_module_read(void *ctx, const struct hv_member_use *use)
{
	struct module_reads *r = ctx;
	struct hv_code_offs *offs = use->len_bytes == 8 ? &r->pointers : &r->numbers;

	if (use->kind != HV_MEMBER_READ || use->len_bytes < 4 || use->off < NAME_END ||
	    use->off > HV_LOADED_BYTES || hv_code_offs_have(offs, use->off) ||
	    offs->nr == HV_CODE_OFFS_MAX)
		return;
	offs->list[offs->nr++] = use->off;
}

static void derive_module_table(struct hv_deriving *d, const struct modules *all,
				const struct module_table *t)
{
	struct module_reads r = {0};
	uint32_t found = 0;
	unsigned nr_found = 0;
	bool is_used = false;
	const struct hv_fact *layout = hv_facts_find(&d->facts, "module", "core_layout");

	hv_code_list(d->core, t->function, note_module_read, &r);
	for (unsigned i = 0; i < r.pointers.nr; i++) {
		uint32_t off = r.pointers.list[i];
		bool used;

		/* core_layout and init_layout also contain pointers and sizes, but no table. */
		if (layout && off - layout->off < LAYOUTS_BYTES)
			continue;
		if (!hv_code_offs_have(&r.numbers, off + (uint32_t)t->distance) ||
		    !fits_all(all, t, off, &used) || (is_used && !used))
			continue;
		/* Prefer a table that a module has to one that is always empty. */
		nr_found = used && !is_used ? 1 : nr_found + 1;
		is_used = used;
		found = off;
	}
	if (nr_found != 1)
		return;
	add(d, "module", t->pointer, found, 8, NULL, HV_PROVED_BY_CODE | HV_PROVED_BY_MEMORY);
	add(d, "module", t->number, found + (uint32_t)t->distance, 4, NULL,
	    HV_PROVED_BY_CODE | HV_PROVED_BY_MEMORY);
}

void hv_jump_modules_derive(struct hv_deriving *d)
{
	const struct hv_fact *code = hv_facts_find(&d->facts, "jump_entry", "code");
	const bool is_absolute = code && code->len_bytes == 8;
	const struct module_table jumps = {"jump_entries",
					   "num_jump_entries",
					   jump_bytes[is_absolute ? FORM_ABSOLUTE : FORM_RELATIVE],
					   is_absolute,
					   8,
					   "jump_label_module_notify"},
				  calls = {"static_call_sites",
					   "num_static_call_sites",
					   SITE_BYTES,
					   false,
					   -4,
					   "static_call_module_notify"};
	const struct hv_fact *memory = hv_facts_find(&d->facts, "module", "mem");
	hv_cleanup(modules_deinit) struct modules all = {.core = d->core};

	if (!memory)
		memory = hv_facts_find(&d->facts, "module", "core_layout");
	if (!code || !memory || hv_facts_find(&d->facts, "module", "jump_entries") ||
	    !hv_loaded_read(d->core, &all.loaded))
		return;
	all.text = memory->off;
	derive_module_table(d, &all, &jumps);
	if (hv_facts_find(&d->facts, "static_call_site", "addr"))
		derive_module_table(d, &all, &calls);
}

void hv_jump_members_derive(struct hv_deriving *d)
{
	derive_keys(d);
	derive_calls(d);
	hv_jump_modules_derive(d);
}
