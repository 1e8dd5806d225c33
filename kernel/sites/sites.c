/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads sites from the kernel's ftrace records: ftrace_pages_start -> struct ftrace_page -> arrays
 * of struct dyn_ftrace. The list changes with modules: a walk that finds invalid data is repeated.
 * Source: kernel/trace/ftrace.c, include/linux/ftrace.h. */
#include "kernel/sites/sites.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/cancel.h"
#include "kernel/core/fields.h"
#include "kernel/sites/modules.h"

/* Limits on guest data */
#define PAGES_MAX   65536u
#define RECORDS_MAX 1000000u
#define NAMES_MAX   (32u << 20) /* bytes of all names; 60,000 sites have some 20 bytes each */
#define GROUP_MAX   (1u << 24)	/* bytes of one group of pages: the buddy allocator gives 4 MiB */
#define STRUCT_MAX  256u
#define WALKS_MAX   3

/* Maximum of FTRACE_MCOUNT_MAX_OFFSET: 16 on powerpc, at most 4 elsewhere. */
#define ENTRY_OFFSET_MAX 16

#define INVALID_NAME "__ftrace_invalid_address__"

struct record_layout {
	uint32_t page_len_bytes;
	uint32_t next, records, index; /* of struct ftrace_page */
	uint32_t record_len_bytes;
	uint32_t ip, flags; /* of struct dyn_ftrace */
	uint64_t disabled;  /* mask of the flag FTRACE_FL_DISABLED */
	uint64_t busy;	    /* mask of flags and use count */
};

struct record {
	uint64_t ip;
	uint64_t flags;
};

struct records {
	struct record *list; /* owned */
	size_t nr;
	size_t cap;
};

/* Flags are above the use count. The size of the count is a macro (FTRACE_REF_MAX_SHIFT), hence not
 * in BTF; it ends at the kernel's lowest flag. A flag missing in this list makes a site look busy,
 * never free. */
static void find_flags(const struct hv_kernel_core *core, struct record_layout *l)
{
	static const char *const flags[] = {
		"FTRACE_FL_ENABLED",  "FTRACE_FL_REGS",	       "FTRACE_FL_REGS_EN",
		"FTRACE_FL_TRAMP",    "FTRACE_FL_TRAMP_EN",    "FTRACE_FL_IPMODIFY",
		"FTRACE_FL_DISABLED", "FTRACE_FL_DIRECT",      "FTRACE_FL_DIRECT_EN",
		"FTRACE_FL_CALL_OPS", "FTRACE_FL_CALL_OPS_EN", "FTRACE_FL_TOUCHED",
		"FTRACE_FL_MODIFIED",
	};
	uint64_t lowest = 1u << 31;
	int64_t value;

	l->disabled = 1u << 25;
	l->busy = 1u << 31;
	for (size_t i = 0; core->btf && i < HV_ARRAY_LEN(flags); i++) {
		if (!hv_btf_enumerator(core->btf, flags[i], &value) || !(uint32_t)value)
			continue;
		if ((uint32_t)value < lowest)
			lowest = (uint32_t)value;
	}
	if (lowest == 1u << 31)
		lowest = 1u << 19; /* FTRACE_FL_MODIFIED, the lowest up to 6.6 */
	if (core->btf && hv_btf_enumerator(core->btf, "FTRACE_FL_DISABLED", &value))
		l->disabled = (uint32_t)value;
	if (core->btf && hv_btf_enumerator(core->btf, "FTRACE_FL_ENABLED", &value))
		l->busy = (uint32_t)value;
	l->busy |= (lowest & -lowest) - 1;
}

static bool find_in_btf(const struct hv_kernel_core *core, struct record_layout *l)
{
	const struct hv_field page[] = {
		{"next", 8, &l->next}, {"records", 8, &l->records}, {"index", 4, &l->index}};
	const struct hv_field record[] = {{"ip", 8, &l->ip}, {"flags", 8, &l->flags}};
	struct hv_err *err = hv_fields_find(core, "ftrace_page", page, HV_ARRAY_LEN(page));

	if (!err)
		err = hv_fields_find(core, "dyn_ftrace", record, HV_ARRAY_LEN(record));
	if (err) {
		hv_err_free(err);
		return false;
	}
	return hv_btf_size(core->btf, "ftrace_page", &l->page_len_bytes) &&
	       hv_btf_size(core->btf, "dyn_ftrace", &l->record_len_bytes) &&
	       l->page_len_bytes <= STRUCT_MAX && l->record_len_bytes <= STRUCT_MAX &&
	       l->record_len_bytes;
}

static void find_layout(const struct hv_kernel_core *core, struct record_layout *l)
{
	if (!find_in_btf(core, l))
		*l = (struct record_layout){
			/* struct ftrace_page {next, records, int index, int order}; struct
			 * dyn_ftrace {ip, flags, arch}: arch is empty on x86 and arm64 since 3.x */
			.page_len_bytes = 24,	.next = 0, .records = 8, .index = 16,
			.record_len_bytes = 16, .ip = 0,   .flags = 8,
		};
	find_flags(core, l);
}

/* Adds records; their addresses must be kernel addresses. */
static struct hv_err *take_records(const struct hv_kernel_core *core, const struct record_layout *l,
				   struct hv_span copy, struct records *r)
{
	uint64_t kernel_start = core->as.arch->kernel_start(core->as.levels).v;
	size_t nr = copy.len_bytes / l->record_len_bytes;

	if (r->cap - r->nr < nr) {
		r->cap = (r->nr + nr) * 2;
		r->list = hv_realloc_array(r->list, r->cap, sizeof(*r->list));
	}
	for (size_t i = 0; i < nr; i++) {
		struct record *to = &r->list[r->nr];

		*to = (struct record){0};
		hv_span_u64(copy, i * l->record_len_bytes + l->ip, &to->ip);
		hv_span_u64(copy, i * l->record_len_bytes + l->flags, &to->flags);
		if (to->ip < kernel_start)
			return hv_err_new(EINVAL, "record %zu: 0x%llx is no kernel address", r->nr,
					  (unsigned long long)to->ip);
		r->nr++;
	}
	return NULL;
}

static struct hv_err *read_group(const struct hv_kernel_core *core, const struct record_layout *l,
				 struct hv_span page, struct records *r)
{
	HV_AUTO_FREE uint8_t *bytes = NULL;
	uint32_t nr = hv_copy_u32(page, l->index);
	size_t len = (size_t)nr * l->record_len_bytes;
	struct hv_err *err;

	if (len > GROUP_MAX || r->nr + nr > RECORDS_MAX)
		return hv_err_new(EINVAL, "%u records in one group, %zu before it", nr, r->nr);
	bytes = hv_alloc(len);
	err = hv_read(&core->as, hv_gva(hv_copy_u64(page, l->records)), bytes, len);
	return err ? err : take_records(core, l, (struct hv_span){bytes, len}, r);
}

static struct hv_err *walk(const struct hv_kernel_core *core, const struct record_layout *l,
			   struct hv_gva start, struct records *r)
{
	uint8_t bytes[STRUCT_MAX];
	struct hv_span page = {bytes, l->page_len_bytes};
	uint64_t at;
	struct hv_err *err = hv_read_u64(&core->as, start, &at);
	struct hv_circle circle = {0};

	for (unsigned nr = 0; !err && at; at = hv_copy_u64(page, l->next)) {
		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "the list has a loop at 0x%llx",
					  (unsigned long long)at);
		if (nr++ == PAGES_MAX)
			return hv_err_new(EINVAL, "the list does not end after %u groups", nr - 1);
		err = hv_read(&core->as, hv_gva(at), bytes, l->page_len_bytes);
		if (!err)
			err = hv_cancel_check();
		if (!err)
			err = read_group(core, l, page, r);
	}
	return err;
}

/* An overridden weak function leaves a record without a name. Kernels with b39181f7c690 (5.19) list
 * it with this name. */
enum hv_invalid_sites hv_sites_lists_invalid(const struct hv_kernel_core *core)
{
	const struct hv_gva starts[] = {core->image.text.end, core->image.all.start};

	if (core->invalid_sites != HV_INVALID_SITES_UNKNOWN)
		return core->invalid_sites;
	for (size_t i = 0; i < HV_ARRAY_LEN(starts); i++) {
		struct hv_span s = hv_image_at(&core->image, starts[i]);

		if (s.len_bytes && memmem(s.data, s.len_bytes, INVALID_NAME, sizeof(INVALID_NAME)))
			return HV_INVALID_SITES_LISTED;
	}
	return HV_INVALID_SITES_HIDDEN;
}

/* A table under construction. Names are offsets until all are added, because their buffer moves. */
struct building {
	const struct hv_kernel_core *core;
	const struct hv_modules *modules;
	const struct record_layout *l;
	uint64_t max_off;    /* sites at a larger offset in their function may be invalid */
	unsigned record_off; /* offset of the record's address from the start of the site */
	struct hv_site *list;
	size_t *name_offs;
	size_t *module_offs; /* 0: vmlinux */
	uint64_t *offs;	     /* offset of each site in its function */
	size_t nr;
	struct hv_text names;
	struct hv_gva_range excluded;
};

static size_t add_name(struct building *b, const char *name)
{
	size_t off = b->names.len_bytes;

	hv_text_add_guest(&b->names, name, SIZE_MAX);
	hv_text_add_bytes(&b->names, "", 1);
	return off;
}

/* A module's sites are adjacent, so its name is stored once for each run. */
static size_t add_module(struct building *b, const char *module)
{
	size_t last = b->nr ? b->module_offs[b->nr - 1] : 0;

	if (!module)
		return 0;
	if (last && strcmp(b->names.data + last, module) == 0)
		return last;
	return add_name(b, module);
}

/* Determines FTRACE_MCOUNT_MAX_OFFSET of this kernel, the maximum offset of a site in its function
 * (4 with an endbr64 before it). At boot the kernel disables all vmlinux records with larger
 * offsets, so it is the largest offset of the others. */
static void note_offset(struct building *b, const struct record *r, const char *module,
			uint64_t off)
{
	if (!module && !(r->flags & b->l->disabled) && off > b->max_off && off <= ENTRY_OFFSET_MAX)
		b->max_off = off;
}

static void add_site(struct building *b, const struct record *r)
{
	struct hv_site *site = &b->list[b->nr];
	const char *name, *module;
	uint64_t off;

	/* The module was loaded after the list of modules was read, or is being removed: the next
	 * refresh will notice. */
	if (!hv_kallsyms_lookup(b->core, b->modules, hv_gva(r->ip), &name, &module, &off))
		return;
	note_offset(b, r, module, off);
	if (hv_gva_in(hv_gva(r->ip), b->excluded))
		return;
	site->ip = hv_gva(r->ip - b->record_off);
	site->invalid = (r->flags & b->l->disabled) != 0;
	site->busy = r->flags & b->l->busy;
	b->offs[b->nr] = off;
	b->module_offs[b->nr] = add_module(b, module);
	b->name_offs[b->nr++] = add_name(b, name);
}

/* Renames the sites whose offset in their function is too large. */
static void mark_invalid(struct building *b)
{
	char name[sizeof(INVALID_NAME) + 24];

	for (size_t i = 0; i < b->nr && b->names.len_bytes <= NAMES_MAX; i++) {
		if (b->offs[i] <= b->max_off)
			continue;
		b->list[i].invalid = true;
		snprintf(name, sizeof(name), INVALID_NAME "_%lld", (long long)b->offs[i]);
		b->name_offs[i] = add_name(b, name);
	}
}

#define NR_CHAINS (1u << 16)

static uint32_t chain_of(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	while (*name)
		hash = (hash ^ (uint8_t)*name++) * 16777619u;
	return (hash ^ hash >> 16) % NR_CHAINS;
}

/* Prepends each site to its chain, from the last to the first, and counts invalid sites. */
void hv_sites_index(struct hv_sites *s)
{
	s->nr_invalid = 0;
	free(s->chain_heads);
	free(s->chain_next);
	s->chain_heads = hv_alloc(NR_CHAINS * sizeof(*s->chain_heads));
	s->chain_next = hv_alloc((s->nr + 1) * sizeof(*s->chain_next));
	for (size_t i = s->nr; i-- > 0;) {
		uint32_t *head = &s->chain_heads[chain_of(s->list[i].name)];

		s->chain_next[i] = *head;
		*head = (uint32_t)i + 1;
		s->nr_invalid += s->list[i].invalid;
	}
}

static size_t next_in_list(const struct hv_sites *s, const char *name, size_t from)
{
	while (from < s->nr && strcmp(s->list[from].name, name) != 0)
		from++;
	return from < s->nr ? from : SIZE_MAX;
}

size_t hv_sites_named(const struct hv_sites *s, const char *name, size_t from)
{
	uint32_t at;

	if (!s->chain_heads)
		return next_in_list(s, name, from);
	at = s->chain_heads[chain_of(name)];
	if (from && from <= s->nr && strcmp(s->list[from - 1].name, name) == 0)
		at = s->chain_next[from - 1];
	while (at && (at - 1 < from || strcmp(s->list[at - 1].name, name) != 0))
		at = s->chain_next[at - 1];
	return at ? at - 1 : SIZE_MAX;
}

static struct hv_err *build(struct building b, const struct records *r, struct hv_sites *ret)
{
	HV_AUTO_FREE size_t *name_offs = hv_alloc(r->nr * sizeof(*name_offs));
	HV_AUTO_FREE size_t *module_offs = hv_alloc(r->nr * sizeof(*module_offs));
	HV_AUTO_FREE uint64_t *offs = hv_alloc(r->nr * sizeof(*offs));
	struct hv_err *err = NULL;
	char *names;

	b.name_offs = name_offs;
	b.module_offs = module_offs;
	b.offs = offs;
	b.list = hv_alloc(r->nr * sizeof(*b.list));
	hv_populate(b.list, r->nr * sizeof(*b.list));
	hv_text_add_bytes(&b.names, "", 1); /* offset 0 means no name */
	for (size_t i = 0; i < r->nr && b.names.len_bytes <= NAMES_MAX && !hv_cancel_now(i); i++)
		add_site(&b, &r->list[i]);
	if (hv_sites_lists_invalid(b.core) == HV_INVALID_SITES_LISTED)
		mark_invalid(&b);
	if (b.names.len_bytes > NAMES_MAX)
		err = hv_err_new(E2BIG, "the names of %zu sites have more than %u bytes", b.nr,
				 NAMES_MAX);
	if (!err)
		err = hv_cancel_check();
	if (err) {
		free(b.list);
		hv_text_deinit(&b.names);
		return err;
	}
	names = hv_realloc_array(b.names.data, b.names.len_bytes + 1, 1);
	for (size_t i = 0; i < b.nr; i++) {
		b.list[i].name = names + name_offs[i];
		b.list[i].module = module_offs[i] ? names + module_offs[i] : NULL;
	}
	*ret = (struct hv_sites){.list = b.list, .nr = b.nr, .names = names};
	return NULL;
}

/* Returns the distance from the first byte of a site to the address in its record (record_off of
 * struct hv_arch), which is the same in all records of a kernel. */
static struct hv_err *sites_record_off(const struct hv_kernel_core *core, unsigned *ret)
{
	const struct hv_arch *arch = core->as.arch;
	uint8_t before[HV_SITE_LEN_MAX];
	struct record_layout l = {0};
	uint64_t page, record, ip;
	struct hv_gva start;
	struct hv_err *err;

	*ret = 0;
	if (!arch->record_off)
		return NULL;
	find_layout(core, &l);
	err = hv_core_need(core, "ftrace_pages_start", &start);
	if (!err)
		err = hv_read_u64(&core->as, start, &page);
	if (!err)
		err = hv_read_u64(&core->as, hv_gva(page + l.records), &record);
	if (!err)
		err = hv_read_u64(&core->as, hv_gva(record + l.ip), &ip);
	if (!err)
		err = hv_read(&core->as, hv_gva(ip - arch->site_len_bytes / 2), before,
			      arch->site_len_bytes / 2);
	if (err)
		return hv_err_in(err, "ftrace records");
	*ret = arch->record_off(before);
	return NULL;
}

/* Returns whether a retry may have a different result. */
static bool may_change(const struct hv_err *err)
{
	return !err || (err->code != ECANCELED && err->code != E2BIG);
}

bool hv_sites_have_records(const struct hv_kernel_core *core)
{
	struct hv_gva at;

	return hv_core_symbol(core, "ftrace_pages_start", &at) ||
	       hv_core_symbol(core, "ftrace_stub", &at);
}

struct hv_err *hv_sites_read(const struct hv_kernel_core *core, const struct hv_modules *modules,
			     struct hv_gva_range excluded, struct hv_sites *ret)
{
	struct record_layout l = {0};
	struct building b = {.core = core, .modules = modules, .l = &l, .excluded = excluded};
	struct hv_gva start;
	struct hv_err *err = hv_core_need(core, "ftrace_pages_start", &start);

	if (err)
		return err;
	find_layout(core, &l);
	err = sites_record_off(core, &b.record_off);
	if (err)
		return err;
	for (unsigned i = 0; i < WALKS_MAX && may_change(err); i++) {
		struct records r = {0};

		hv_err_free(err);
		err = walk(core, &l, start, &r);
		if (!err && !r.nr)
			err = hv_err_new(ENOENT, "no records");
		if (!err)
			err = build(b, &r, ret);
		if (!err)
			hv_sites_index(ret);
		free(r.list);
		if (!err)
			return NULL;
	}
	return hv_err_in(err, "ftrace records");
}

/* Sites are in the order of the records. A record without a site, or the reverse, belongs to a
 * module that was loaded or removed; the next hv_sites_read() will notice. */
struct hv_err *hv_sites_read_busy(const struct hv_kernel_core *core, struct hv_sites *s)
{
	struct record_layout l = {0};
	struct records r = {0};
	struct hv_gva start;
	unsigned record_off;
	size_t nr = 0;
	struct hv_err *err;

	if (s->entries)
		return NULL;
	err = hv_core_need(core, "ftrace_pages_start", &start);
	if (!err)
		err = sites_record_off(core, &record_off);
	if (err)
		return err;
	find_layout(core, &l);
	err = walk(core, &l, start, &r);
	for (size_t i = 0; !err && i < r.nr && nr < s->nr; i++)
		if (r.list[i].ip - record_off == s->list[nr].ip.v)
			s->list[nr++].busy = r.list[i].flags & l.busy;
	free(r.list);
	return err;
}

void hv_sites_leave_out(struct hv_sites *s, struct hv_gva_range text)
{
	size_t nr = 0;

	if (s->entries) /* none is in init code */
		return;
	for (size_t i = 0; i < s->nr; i++)
		if (!hv_gva_in(s->list[i].ip, text))
			s->list[nr++] = s->list[i];
	s->nr = nr;
	hv_sites_index(s);
}

/* Returns the number of functions in the image that begin with the kernel's own nop. */
static size_t count_entries(const struct hv_kernel_core *core)
{
	const struct hv_arch *arch = core->as.arch;
	const struct hv_symbols *s = &core->symbols;
	size_t nr = 0;

	for (size_t i = 0; i < s->nr && !hv_cancel_now(i); i++) {
		struct hv_span code =
			hv_image_part(&core->image, s->by_addr[i].addr, 2 * arch->site_len_bytes);
		struct hv_gva target;

		if (hv_gva_in(s->by_addr[i].addr, core->image.text) &&
		    (!i || s->by_addr[i].addr.v != s->by_addr[i - 1].addr.v) &&
		    hv_span_has(code, 0, 2 * arch->site_len_bytes) &&
		    arch->classify_site(code.data + arch->site_len_bytes, s->by_addr[i].addr,
					&target) == HV_SITE_NOP)
			nr++;
	}
	return nr;
}

/* Every record in the image must point to an instruction that ftrace uses, and most function
 * entries must have a record: the final pages of the list alone would not cover them. */
bool hv_sites_are_at(const struct hv_kernel_core *core, struct hv_gva start)
{
	const struct hv_arch *arch = core->as.arch;
	struct record_layout l = {0};
	struct records r = {0};
	size_t nr = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;
	bool fits;

	if (!find_in_btf(core, &l))
		return false;
	err = walk(core, &l, start, &r);
	fits = !err && r.nr;
	for (size_t i = 0; fits && i < r.nr; i++) {
		struct hv_span code =
			hv_image_part(&core->image, hv_gva(r.list[i].ip), arch->site_len_bytes);
		struct hv_gva target;

		if (!hv_gva_in(hv_gva(r.list[i].ip), core->image.text))
			continue;
		fits = hv_span_has(code, 0, arch->site_len_bytes) &&
		       arch->classify_site(code.data, hv_gva(r.list[i].ip), &target) !=
			       HV_SITE_OTHER;
		nr++;
	}
	free(r.list);
	return fits && nr > count_entries(core) / 2;
}

size_t hv_sites_find(const struct hv_sites *s, const char *name, enum hv_site_name how)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < s->nr; i++) {
		const struct hv_site *site = &s->list[i];

		if (!site->module && !site->invalid && !strncmp(site->name, name, len) &&
		    (site->name[len] == '\0' ||
		     (how == HV_SITE_NAME_OR_CLONE && site->name[len] == '.')))
			return i;
	}
	return SIZE_MAX;
}

void hv_sites_deinit(struct hv_sites *s)
{
	free(s->list);
	free(s->names);
	free(s->chain_heads);
	free(s->chain_next);
	if (s->entries)
		free(s->entries->list);
	free(s->entries);
	*s = (struct hv_sites){0};
}
