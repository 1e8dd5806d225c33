/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads modules from the kernel's list. The list can change during the read: a walk that finds
 * invalid data is repeated. Source: kernel/module/ (main.c, kallsyms.c), include/linux/module.h. */
#include "kernel/sites/modules.h"

#include <elf.h>
#include <string.h>

#include "base/bisect.h"
#include "base/cancel.h"
#include "base/prefix.h"
#include "base/text.h"
#include "kernel/core/btf_members.h"

/* Limits on guest data */
#define MODULES_MAX	  4096
#define MODULE_STRUCT_MAX (64u << 10)
#define MODULE_TEXT_MAX	  (1u << 30)
#define WALKS_MAX	  3

/* Limits for all modules together. A thousand modules have some 200,000 symbols of 20 bytes. */
struct budget {
	size_t symbols;
	size_t strings_bytes; /* bytes read to find names */
	size_t names_bytes;   /* bytes kept */
};
static const struct budget whole_budget = {1000000, 256u << 20, 32u << 20};

struct module_layout {
	uint32_t len_bytes; /* sizeof(struct module) */
	uint32_t state, list, name, kallsyms;
	uint32_t name_len_bytes;
	uint32_t text_base, text_size;
	uint32_t symtab, num_symtab, strtab, typetab;
	uint32_t kallsyms_len_bytes;
	uint32_t unformed, live, going; /* values of state */
	bool has_types;			/* typetab is valid */
	bool has_orcs;
	uint32_t nr_orcs, orc_ips, orcs;
};

/* Finds the text: core_layout up to 6.3; since 6.4 (ac3b43283923) one element of an array of
 * memories. */
static struct hv_err *find_text_members(const struct hv_kernel_core *core, struct module_layout *l)
{
	const struct hv_field of_array[] = {
		{"mem.base", 8, &l->text_base},
		{"mem.size", 4, &l->text_size},
	};
	const struct hv_field of_core[] = {
		{"core_layout.base", 8, &l->text_base},
		{"core_layout.text_size", 4, &l->text_size},
	};
	int64_t text;
	uint32_t len, mem, mem_len;
	struct hv_err *err;

	if (!core->btf || !hv_btf_enumerator(core->btf, "MOD_TEXT", &text) ||
	    !hv_btf_member(core->btf, "module", "mem", &mem, &mem_len))
		return hv_fields_find(core, "module", of_core, HV_ARRAY_LEN(of_core));
	err = hv_fields_find(core, "module", of_array, HV_ARRAY_LEN(of_array));
	if (err)
		return err;
	if (!hv_btf_size(core->btf, "module_memory", &len) || text < 0 || text > 64 ||
	    (uint64_t)(text + 1) * len > mem_len)
		return hv_err_new(ENOENT, "BTF: struct module has no memory number MOD_TEXT (%lld)",
				  (long long)text);
	l->text_base += (uint32_t)text * len;
	l->text_size += (uint32_t)text * len;
	return NULL;
}

static struct hv_err *find_layout(const struct hv_kernel_core *core, struct module_layout *l)
{
	const struct hv_field module[] = {
		{"state", 4, &l->state},
		{"list.next", 8, &l->list},
		{"name", 1, &l->name},
		{"kallsyms", 8, &l->kallsyms},
	};
	const struct hv_field symbols[] = {
		{"symtab", 8, &l->symtab},
		{"num_symtab", 4, &l->num_symtab},
		{"strtab", 8, &l->strtab},
	};
	struct hv_err *err = hv_fields_find(core, "module", module, HV_ARRAY_LEN(module));
	int64_t unformed = 3, live = 0, going = 2;

	if (!err)
		err = hv_fields_find(core, "mod_kallsyms", symbols, HV_ARRAY_LEN(symbols));
	if (!err)
		err = find_text_members(core, l);
	if (!err)
		err = hv_struct_size_find(core, "module", MODULE_STRUCT_MAX, &l->len_bytes);
	if (!err)
		err = hv_struct_size_find(core, "mod_kallsyms", MODULE_STRUCT_MAX,
					  &l->kallsyms_len_bytes);
	if (err)
		return err;
	l->has_types = hv_btf_member(core->btf, "mod_kallsyms", "typetab", &l->typetab, NULL);
	hv_btf_member(core->btf, "module", "name", &l->name, &l->name_len_bytes);
	if (l->name > l->len_bytes || l->name_len_bytes > l->len_bytes - l->name)
		return hv_err_new(ENOENT, "BTF: member name of struct module is outside of it");
	hv_btf_enumerator(core->btf, "MODULE_STATE_UNFORMED", &unformed);
	hv_btf_enumerator(core->btf, "MODULE_STATE_LIVE", &live);
	hv_btf_enumerator(core->btf, "MODULE_STATE_GOING", &going);
	l->has_orcs = hv_btf_member(core->btf, "module", "arch.num_orcs", &l->nr_orcs, NULL) &&
		      hv_btf_member(core->btf, "module", "arch.orc_unwind_ip", &l->orc_ips, NULL) &&
		      hv_btf_member(core->btf, "module", "arch.orc_unwind", &l->orcs, NULL);
	l->unformed = (uint32_t)unformed;
	l->live = (uint32_t)live;
	l->going = (uint32_t)going;
	return NULL;
}

/* Reads the symbols' strings: up to the start of the last name, and from there as much as is
 * mapped, up to the maximum length of a name. */
static struct hv_err *read_strings(const struct hv_kernel_core *core, struct hv_gva at,
				   uint32_t last, struct budget *budget, char **ret)
{
	HV_AUTO_FREE char *strings = NULL;
	size_t len = (size_t)last + 1;
	struct hv_err *err;

	if (len > budget->strings_bytes)
		return hv_err_new(EINVAL,
				  "a symbol's name is at offset %u of its strings; at most %zu "
				  "bytes are supported",
				  last, budget->strings_bytes);
	budget->strings_bytes -= len;
	/* Bytes that cannot be read stay zero. */
	strings = hv_alloc(len + HV_SYMBOL_NAME_MAX);
	err = hv_read(&core->as, at, strings, len);
	if (err)
		return err;
	err = hv_read(&core->as, hv_gva_add(at, len), strings + len, HV_SYMBOL_NAME_MAX);
	if (err) {
		size_t to_page_end = -(at.v + len) & (core->as.arch->entry_span(1) - 1);

		hv_err_free(err);
		err = NULL;
		if (to_page_end < HV_SYMBOL_NAME_MAX)
			err = hv_read(&core->as, hv_gva_add(at, len), strings + len, to_page_end);
		hv_err_free(err);
	}
	*ret = hv_take(strings);
	return NULL;
}

/* Excludes assembler-local names, which the kernel never lists (is_mapping_symbol() and its
 * predecessors). */
static bool is_shown(const Elf64_Sym *sym, const char *name)
{
	return sym->st_shndx != SHN_UNDEF && *name && *name != '$' && !hv_starts_with(name, ".L") &&
	       !hv_starts_with(name, "L0");
}

/* Truncates names like the kernel. */
static size_t name_len(const char *name)
{
	return strnlen(name, HV_SYMBOL_NAME_MAX - 1);
}

/* Allocates memory for the names of all symbols but the first. Names are copied because, in a
 * hostile string table, each name can be as long as the whole table. */
static struct hv_err *take_room(const Elf64_Sym *syms, size_t nr, const char *strings,
				struct budget *budget, struct hv_symbols *ret)
{
	size_t len = 0;

	for (size_t i = 1; i < nr; i++) {
		if (is_shown(&syms[i], strings + syms[i].st_name))
			len += name_len(strings + syms[i].st_name) + 1;
		if (len > budget->names_bytes)
			return hv_err_new(EINVAL,
					  "the names of its symbols have more than %zu bytes",
					  budget->names_bytes);
	}
	budget->names_bytes -= len;
	ret->names = hv_alloc(len + 1);
	ret->by_addr = hv_alloc(nr * sizeof(*ret->by_addr));
	return NULL;
}

static bool is_letter(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Keeps the table's order, like find_kallsyms_symbol(). */
static void fill_symbols(const Elf64_Sym *syms, const char *types, size_t nr, const char *strings,
			 struct hv_symbols *ret)
{
	char *to = ret->names;

	for (size_t i = 1; i < nr; i++) {
		const char *name = strings + syms[i].st_name;
		char type = types[i];
		size_t len = name_len(name);

		if (!is_shown(&syms[i], name))
			continue;
		if (!is_letter((uint8_t)type))
			type = '?';
		ret->by_addr[ret->nr++] = (struct hv_symbol){hv_gva(syms[i].st_value), to, type};
		memcpy(to, name, len); /* already NUL-terminated */
		to += len + 1;
	}
}

/* Before 5.2 (1c7651f43777) the kernel writes the type into the symbol: into st_size in 5.0 and 5.1
 * (5439c985c5a8), earlier into st_info, which is no letter in other kernels. */
static struct hv_err *read_types(const struct hv_kernel_core *core, const struct module_layout *l,
				 struct hv_span head, const Elf64_Sym *syms, uint32_t nr,
				 char **ret)
{
	*ret = hv_alloc(nr);
	if (l->has_types)
		return hv_read(&core->as, hv_gva(hv_copy_u64(head, l->typetab)), *ret, nr);
	for (uint32_t i = 0; i < nr; i++)
		(*ret)[i] = (char)(is_letter(syms[i].st_info) ? syms[i].st_info : syms[i].st_size);
	return NULL;
}

static struct hv_err *read_symbols(const struct hv_kernel_core *core, const struct module_layout *l,
				   struct hv_gva at, struct budget *budget, struct hv_symbols *ret)
{
	HV_AUTO_FREE uint8_t *head = hv_alloc(l->kallsyms_len_bytes);
	HV_AUTO_FREE Elf64_Sym *syms = NULL;
	HV_AUTO_FREE char *types = NULL;
	HV_AUTO_FREE char *strings = NULL;
	struct hv_span copy = {head, l->kallsyms_len_bytes};
	struct hv_err *err = hv_read(&core->as, at, head, l->kallsyms_len_bytes);
	uint32_t nr = hv_copy_u32(copy, l->num_symtab), last = 0;

	if (err || !nr)
		return err;
	if (nr > budget->symbols)
		return hv_err_new(EINVAL, "%u symbols; at most %zu are supported", nr,
				  budget->symbols);
	budget->symbols -= nr;
	syms = hv_alloc(nr * sizeof(*syms));
	err = hv_read(&core->as, hv_gva(hv_copy_u64(copy, l->symtab)), syms, nr * sizeof(*syms));
	if (!err)
		err = read_types(core, l, copy, syms, nr, &types);
	for (size_t i = 0; i < nr; i++)
		last = syms[i].st_name > last ? syms[i].st_name : last;
	if (!err)
		err = read_strings(core, hv_gva(hv_copy_u64(copy, l->strtab)), last, budget,
				   &strings);
	if (!err)
		err = take_room(syms, nr, strings, budget, ret);
	if (err)
		return err;
	fill_symbols(syms, types, nr, strings, ret);
	hv_symbols_index(ret);
	return NULL;
}

static struct hv_err *read_module(const struct hv_kernel_core *core, const struct module_layout *l,
				  struct hv_span copy, struct budget *budget, struct hv_module *ret)
{
	HV_AUTO_TEXT struct hv_text name = {0};
	uint32_t name_len = l->name_len_bytes;
	uint64_t base = hv_copy_u64(copy, l->text_base);
	uint32_t size = hv_copy_u32(copy, l->text_size);
	struct hv_err *err;

	if (name_len > sizeof(ret->name) - 1)
		name_len = sizeof(ret->name) - 1;
	hv_text_add_guest(&name, (const char *)copy.data + l->name, name_len);
	if (name.len_bytes)
		memcpy(ret->name, name.data, name.len_bytes);
	if (size > MODULE_TEXT_MAX || base + size < base)
		return hv_err_new(EINVAL, "module '%s': text 0x%llx has %u bytes", ret->name,
				  (unsigned long long)base, size);
	ret->text = (struct hv_gva_range){hv_gva(base), hv_gva(base + size)};
	if (l->has_orcs) {
		ret->nr_orcs = hv_copy_u32(copy, l->nr_orcs);
		ret->orc_ips = hv_gva(hv_copy_u64(copy, l->orc_ips));
		ret->orcs = hv_gva(hv_copy_u64(copy, l->orcs));
	}
	err = read_symbols(core, l, hv_gva(hv_copy_u64(copy, l->kallsyms)), budget, &ret->symbols);
	return hv_err_in(err, "module '%s'", ret->name);
}

static int by_text(const void *pa, const void *pb)
{
	const struct hv_module *a = pa, *b = pb;

	return a->text.start.v < b->text.start.v ? -1 : a->text.start.v > b->text.start.v;
}

static struct hv_err *walk(const struct hv_kernel_core *core, const struct module_layout *l,
			   struct hv_gva head, struct hv_modules *ret)
{
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(l->len_bytes);
	struct hv_span copy = {bytes, l->len_bytes};
	struct budget budget = whole_budget;
	size_t nr_seen = 0;
	struct hv_circle circle = {0};
	uint64_t at;
	struct hv_err *err = hv_read_u64(&core->as, head, &at);

	ret->list = hv_alloc(MODULES_MAX * sizeof(*ret->list));
	for (; !err && at != head.v; at = hv_copy_u64(copy, l->list)) {
		uint32_t state;

		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "the list has a loop at 0x%llx",
					  (unsigned long long)at);
		if (nr_seen++ == MODULES_MAX)
			return hv_err_new(EINVAL,
					  "modules: the list does not end after %zu entries",
					  nr_seen - 1);
		err = hv_cancel_check();
		if (!err)
			err = hv_read(&core->as, hv_gva(at - l->list), bytes, l->len_bytes);
		state = hv_copy_u32(copy, l->state);
		/* Skip a module that is being removed: the kernel may free its text. */
		if (err || state == l->unformed || state == l->going)
			continue;
		ret->list[ret->nr].at = hv_gva(at - l->list);
		err = read_module(core, l, copy, &budget, &ret->list[ret->nr++]);
	}
	if (!err)
		qsort(ret->list, ret->nr, sizeof(*ret->list), by_text);
	return err;
}

static bool is_empty(const struct hv_kernel_core *core, struct hv_gva head)
{
	uint64_t first;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, head, &first);

	return !err && first == head.v;
}

struct hv_err *hv_modules_read(const struct hv_kernel_core *core, struct hv_modules *ret)
{
	struct module_layout l = {0};
	struct hv_err *err = NULL;
	struct hv_gva head;

	/* Kernels without CONFIG_MODULES have no list, and no type in BTF. */
	if (!hv_core_symbol(core, "modules", &head) &&
	    !hv_core_symbol(core, "load_module", &head)) {
		*ret = (struct hv_modules){0};
		return NULL;
	}
	err = hv_core_need(core, "modules", &head);
	if (!err)
		err = find_layout(core, &l);
	if (err && !hv_types_are_whole(core) && is_empty(core, head)) {
		hv_err_free(err);
		*ret = (struct hv_modules){0};
		return NULL;
	}
	if (err)
		return err;
	for (unsigned i = 0; i < WALKS_MAX && (!err || err->code != ECANCELED); i++) {
		struct hv_modules m = {0};

		hv_err_free(err);
		err = walk(core, &l, head, &m);
		if (!err) {
			*ret = m;
			return NULL;
		}
		hv_modules_deinit(&m);
	}
	return hv_err_in(err, "modules");
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3ULL;
}

/* A module whose removal was requested exists, with its symbols, until its last code has been
 * executed. */
static uint32_t state_of(struct hv_span copy, const struct module_layout *l)
{
	uint32_t state = hv_copy_u32(copy, l->state);

	return state == l->going ? l->live : state;
}

struct hv_err *hv_modules_signature(const struct hv_kernel_core *core, uint64_t *ret)
{
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct module_layout l = {0};
	uint64_t at, hash = 0xcbf29ce484222325ULL;
	struct hv_circle circle = {0};
	struct hv_gva head;
	struct hv_err *err;

	*ret = 0;
	if (!hv_core_symbol(core, "modules", &head))
		return NULL;
	err = hv_read_u64(&core->as, head, &at);
	if (err)
		return err;
	/* Without modules, their layout cannot be derived, so that the first module counts as a
	 * change. */
	err = find_layout(core, &l);
	if (err && !hv_types_are_whole(core)) {
		hv_err_free(err);
		*ret = mix(hash, at);
		return NULL;
	}
	bytes = hv_alloc(l.len_bytes);
	for (size_t nr = 0; !err && at != head.v && nr < MODULES_MAX; nr++) {
		struct hv_span copy = {bytes, l.len_bytes};

		if (hv_circle_step(&circle, at))
			break;
		err = hv_read(&core->as, hv_gva(at - l.list), bytes, l.len_bytes);
		if (err)
			break;
		hash = mix(mix(mix(hash, at), state_of(copy, &l)), hv_copy_u64(copy, l.kallsyms));
		at = hv_copy_u64(copy, l.list);
	}
	*ret = hash;
	return err;
}

/* A module's sysfs object points to the module. */
static bool is_module(const struct hv_kernel_core *core, uint64_t module, uint32_t self_off)
{
	uint64_t self;
	HV_AUTO_ERR struct hv_err *err =
		hv_read_u64(&core->as, hv_gva_add(hv_gva(module), self_off), &self);

	return !err && self == module;
}

static bool is_list(const struct hv_kernel_core *core, const struct module_layout *l,
		    struct hv_gva head, uint32_t self_off)
{
	uint64_t links[2] = {0}, at = head.v, before;

	for (size_t i = 0; i < MODULES_MAX; i++) {
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (hv_cancel_now(i))
			return false;
		before = at;
		err = hv_read_u64(&core->as, hv_gva(before), &at);
		if (!err)
			err = hv_read(&core->as, hv_gva(at), links, sizeof(links));
		if (err || links[1] != before)
			return false;
		if (at == head.v)
			return true;
		if (!is_module(core, at - l->list, self_off))
			return false;
	}
	return false;
}

bool hv_modules_are_at(const struct hv_kernel_core *core, struct hv_gva head)
{
	struct module_layout l = {0};
	uint32_t self_off;
	const struct hv_field self = {"mkobj.mod", 8, &self_off};
	HV_AUTO_ERR struct hv_err *err = find_layout(core, &l);

	if (!err)
		err = hv_fields_find(core, "module", &self, 1);
	for (unsigned i = 0; !err && i < WALKS_MAX; i++)
		if (is_list(core, &l, head, self_off))
			return true;
	return false;
}

bool hv_modules_are_none(const struct hv_kernel_core *core)
{
	struct hv_gva head;

	return hv_core_symbol(core, "modules", &head) && is_empty(core, head);
}

const struct hv_module *hv_module_at(const struct hv_modules *m, struct hv_gva addr)
{
	size_t nr = HV_BISECT(i, m->nr, m->list[i].text.start.v <= addr.v);

	return nr && hv_gva_in(addr, m->list[nr - 1].text) ? &m->list[nr - 1] : NULL;
}

const struct hv_module *hv_module_named(const struct hv_modules *m, const char *name)
{
	for (size_t i = 0; i < m->nr; i++)
		if (strcmp(m->list[i].name, name) == 0)
			return &m->list[i];
	return NULL;
}

void hv_modules_deinit(struct hv_modules *m)
{
	for (size_t i = 0; i < m->nr; i++)
		hv_symbols_deinit(&m->list[i].symbols);
	free(m->list);
	*m = (struct hv_modules){0};
}

/* Source: kernel/kallsyms.c (kallsyms_lookup, get_symbol_pos), kernel/module/kallsyms.c. */

/* Returns the table that covers ADDR, and the end of its last symbol. The image includes its init
 * part, as in is_kernel(); modules are never inside it. */
static const struct hv_symbols *symbols_of(const struct hv_kernel_core *core,
					   const struct hv_modules *modules, struct hv_gva addr,
					   const struct hv_module **ret_module, uint64_t *ret_end)
{
	*ret_module = NULL;
	*ret_end = core->image.all.end.v;
	if (hv_gva_in(addr, core->image.all))
		return &core->symbols;
	*ret_module = hv_module_at(modules, addr);
	if (!*ret_module)
		return NULL;
	*ret_end = (*ret_module)->text.end.v;
	return &(*ret_module)->symbols;
}

bool hv_kallsyms_lookup(const struct hv_kernel_core *core, const struct hv_modules *modules,
			struct hv_gva addr, const char **ret_name, const char **ret_module,
			uint64_t *ret_off)
{
	const struct hv_symbol *symbol = NULL;
	const struct hv_symbols *symbols;
	const struct hv_module *module;
	uint64_t end;

	symbols = symbols_of(core, modules, addr, &module, &end);
	if (symbols)
		symbol = hv_symbols_at(symbols, addr);
	if (!symbol)
		return false;
	*ret_name = symbol->name;
	*ret_module = module ? module->name : NULL;
	*ret_off = addr.v - symbol->addr.v;
	return true;
}

/* Returns the first symbol after FIRST and before LAST with a higher address than FIRST, or LAST. A
 * hostile guest can have any number of symbols at one address. */
static const struct hv_symbol *first_above(const struct hv_symbol *first,
					   const struct hv_symbol *last)
{
	const uint64_t addr = first->addr.v;

	if (first + 1 < last && first[1].addr.v > addr) /* the usual case */
		return first + 1;
	return first + HV_BISECT(i, last - first, first[i].addr.v <= addr);
}

uint64_t hv_kallsyms_lookup_size(const struct hv_kernel_core *core,
				 const struct hv_modules *modules, struct hv_gva addr)
{
	const struct hv_symbol *symbol = NULL, *next;
	const struct hv_symbols *symbols;
	const struct hv_module *module;
	uint64_t end;

	symbols = symbols_of(core, modules, addr, &module, &end);
	if (symbols)
		symbol = hv_symbols_at(symbols, addr);
	if (!symbol)
		return 0;
	next = first_above(symbol, symbols->by_addr + symbols->nr);
	if (next < symbols->by_addr + symbols->nr)
		end = next->addr.v;
	return end - symbol->addr.v;
}

struct hv_err *hv_module_use_find(const struct hv_kernel_core *core, struct hv_module_use *ret)
{
	struct hv_module_use u = {0};
	const struct hv_field module[] = {
		{"state", 4, &u.state}, {"list", 16, &u.node}, {"refcnt", 4, &u.count}};
	const struct hv_field count[] = {{"refcnt", 4, &u.count}};
	const struct hv_field list[] = {{"next", 8, &u.next}, {"prev", 8, &u.prev}};
	int64_t live = 0;
	struct hv_gva at;
	struct hv_err *err;

	/* Kernels without CONFIG_MODULE_UNLOAD do not count uses. */
	u.can_go = hv_btf_member(core->btf, "module", "refcnt", &u.count, NULL);
	if (!u.can_go && !hv_types_are_whole(core) && hv_core_symbol(core, "module_refcount", &at))
		return hv_fields_find_proved(core, "module", count, 1);
	if (!u.can_go) {
		*ret = u;
		return NULL;
	}
	err = hv_enumerator_find(core, "MODULE_STATE_LIVE", &live);
	u.live = (uint32_t)live;
	if (!err)
		err = hv_fields_find_proved(core, "module", module, HV_ARRAY_LEN(module));
	if (!err)
		err = hv_fields_find(core, "list_head", list, HV_ARRAY_LEN(list));
	if (!err)
		*ret = u;
	return err;
}

struct hv_err *hv_module_use_read(const struct hv_kernel_core *core, const struct hv_module_use *u,
				  struct hv_gva module, uint32_t *ret)
{
	return hv_read_u32(&core->as, hv_gva_add(module, u->count), ret);
}

struct hv_err *hv_module_is_live(const struct hv_kernel_core *core, const struct hv_module_use *u,
				 struct hv_gva module, bool *ret)
{
	struct hv_gva node = hv_gva_add(module, u->node);
	uint64_t prev, next = 0;
	uint32_t state = 0;
	struct hv_err *err = hv_read_u64(&core->as, hv_gva_add(node, u->prev), &prev);

	if (!err)
		err = hv_read_u64(&core->as, hv_gva(prev + u->next), &next);
	if (!err)
		err = hv_read_u32(&core->as, hv_gva_add(module, u->state), &state);
	if (!err)
		*ret = next == node.v && state == u->live;
	return err;
}

/* Source: kernel/bpf/btf.c (struct btf_module, struct btf). The kernel may have changed the BTF
 * that a module was built with (btf_relocate()): ids and strings in the kernel's copy continue the
 * kernel's own. */

/* The largest modules have some 2 MiB. */
#define BTF_MODULE_BYTES_MAX (16u << 20)
#define STRUCT_MAX	     4096u

struct btf_layout {
	uint32_t list, module, btf; /* struct btf_module */
	uint32_t len_bytes;
	uint32_t data, data_size, start_id, start_str; /* struct btf */
	uint32_t btf_len_bytes;
};

/* Returns false for kernels without BTF of modules. */
static bool find_btf_layout(const struct hv_kernel_core *core, struct btf_layout *l)
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

	if (!core->btf || !hv_core_symbol(core, "btf_modules", &head) ||
	    !find_btf_layout(core, &l)) {
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
