/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/module.h, kernel/module/. */
#include "kernel/derive/module_members.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "kernel/core/fields.h"

#define USE(kind)   (1u << HV_MEMBER_##kind)
#define MODULES_MAX 32u

/* Every kernel begins struct module with these. */
#define LIST_OFF   8u
#define NAME_OFF   24u
#define NAME_BYTES 56u /* MODULE_NAME_LEN */

struct context {
	const struct hv_kernel_core *core;
	const struct hv_facts *facts; /* used only for the members of `arch` */
	struct hv_loaded_modules modules;
};

uint64_t hv_loaded_u64(const struct hv_loaded *m, uint32_t off)
{
	return hv_copy_u64((struct hv_span){m->bytes, HV_LOADED_BYTES}, off);
}

uint32_t hv_loaded_u32(const struct hv_loaded *m, uint32_t off)
{
	return hv_copy_u32((struct hv_span){m->bytes, HV_LOADED_BYTES}, off);
}

static uint64_t u64_of(const struct context *c, unsigned i, uint32_t off)
{
	return hv_loaded_u64(&c->modules.list[i], off);
}

static uint32_t u32_of(const struct context *c, unsigned i, uint32_t off)
{
	return hv_loaded_u32(&c->modules.list[i], off);
}

static bool is_name(const uint8_t *text)
{
	unsigned i = 0;

	while (i < NAME_BYTES && text[i] > 0x20 && text[i] < 0x7f)
		i++;
	return i && i < NAME_BYTES && !text[i];
}

static struct hv_err *copy_module(const struct hv_address_space *as, struct hv_loaded *ret)
{
	const uint64_t page = as->arch->entry_span(1);
	size_t first = page - ret->at.v % page;
	struct hv_err *err;

	if (first > HV_LOADED_BYTES)
		first = HV_LOADED_BYTES;
	memset(ret->bytes, 0, HV_LOADED_BYTES);
	err = hv_read(as, ret->at, ret->bytes, first);
	if (!err && first < HV_LOADED_BYTES)
		hv_err_free(hv_read(as, hv_gva_add(ret->at, first), ret->bytes + first,
				    HV_LOADED_BYTES - first));
	return err;
}

void hv_loaded_deinit(struct hv_loaded_modules *m)
{
	free(m->list);
	*m = (struct hv_loaded_modules){0};
}

bool hv_loaded_read(const struct hv_kernel_core *core, struct hv_loaded_modules *ret)
{
	hv_cleanup(hv_loaded_deinit) struct hv_loaded_modules m = {0};
	uint64_t before, at = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_gva head;

	if (!hv_core_symbol(core, "modules", &head))
		return false;
	m.list = hv_alloc(MODULES_MAX * sizeof(*m.list));
	before = head.v;
	err = hv_read_u64(&core->as, head, &at);
	while (!err && at != head.v && m.nr < MODULES_MAX) {
		struct hv_loaded *l = &m.list[m.nr++];

		l->at = hv_gva(at - LIST_OFF);
		err = copy_module(&core->as, l);
		if (err || hv_loaded_u64(l, LIST_OFF + 8) != before ||
		    !is_name(l->bytes + NAME_OFF))
			return false;
		before = at;
		at = hv_loaded_u64(l, LIST_OFF);
	}
	if (err || !m.nr)
		return false;
	*ret = m;
	m.list = NULL;
	return true;
}

static bool fits_list(const void *ctx, uint32_t off)
{
	(void)ctx;
	return off == LIST_OFF;
}

static bool fits_name(const void *ctx, uint32_t off)
{
	(void)ctx;
	return off == NAME_OFF;
}

static bool fits_state(const void *ctx, uint32_t off)
{
	const struct context *c = ctx;
	unsigned nr_live = 0;

	for (unsigned i = 0; i < c->modules.nr; i++) {
		if (u32_of(c, i, off) > 3)
			return false;
		nr_live += !u32_of(c, i, off);
	}
	return off < LIST_OFF && nr_live > c->modules.nr / 2;
}

/* Returns whether IS_IT returns true for most modules. */
static bool fits_most(const struct context *c, uint32_t off,
		      bool (*is_it)(const struct context *c, unsigned i, uint32_t off))
{
	unsigned nr = 0;

	for (unsigned i = 0; i < c->modules.nr; i++)
		nr += is_it(c, i, off);
	return nr > c->modules.nr / 2;
}

/* The count of an unused module is 1. A session that died can have left its claim (patcher/). */
#define CLAIM (1u << 29)

static bool is_count(const struct context *c, unsigned i, uint32_t off)
{
	return u32_of(c, i, off) && (u32_of(c, i, off) & ~CLAIM) < 1u << 20;
}

static bool fits_refcnt(const void *ctx, uint32_t off)
{
	return fits_most(ctx, off, is_count);
}

/* Returns whether the member at OFF points to the module's table of symbols, a structure in struct
 * module itself: pointer to the symbols, their number, and their names. The first symbol is empty,
 * but before 5.2 the kernel writes its type, U, into it. */
static bool is_symbols(const struct context *c, unsigned i, uint32_t off)
{
	uint64_t in = u64_of(c, i, off) - c->modules.list[i].at.v;
	const uint64_t lowest = c->core->as.arch->kernel_start(c->core->as.levels).v;
	Elf64_Sym first = {0}, empty = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (in % 8 || in > HV_LOADED_BYTES - 24 || !u32_of(c, i, (uint32_t)in + 8) ||
	    u64_of(c, i, (uint32_t)in) < lowest || u64_of(c, i, (uint32_t)in + 16) < lowest)
		return false;
	err = hv_read(&c->core->as, hv_gva(u64_of(c, i, (uint32_t)in)), &first, sizeof(first));
	if (first.st_info == 'U')
		first.st_info = 0;
	else if (first.st_size == 'U')
		first.st_size = 0;
	return !err && !memcmp(&first, &empty, sizeof(first));
}

static bool fits_kallsyms(const void *ctx, uint32_t off)
{
	return fits_most(ctx, off, is_symbols);
}

static const struct hv_member members[] = {
	{"state", 4, NULL, fits_state, .code = {{"try_module_get", 0, USE(READ), 4, 2}}},
	{"list", 16, "list_head", fits_list},
	{"name", NAME_BYTES, NULL, fits_name},
	{"kallsyms", 8, NULL, fits_kallsyms},
	{"refcnt", 4, NULL, fits_refcnt, .except = "state",
	 .code = {{"module_refcount", 0, USE(READ), 4}, {"try_module_get", 0, 0, 4}}},
};

/* struct module describes its memory by address, size and a pointer back to the module. Up to 6.3,
 * core_layout describes all of it, and text_size follows size. Since 6.4, mem is an array, and the
 * text is its first element. */
static const struct form {
	bool is_array;
	uint32_t size, other, back;
} forms[] = {
	{.size = 8, .other = 12, .back = 24},
	{.is_array = true, .size = 8, .other = 12, .back = 16},
	/* is_rox is before the size; 6.13 and 6.14 also have rw_copy there. */
	{.is_array = true, .size = 12, .other = 8, .back = 16},
	{.is_array = true, .size = 20, .other = 16, .back = 24},
};

#define SIZE_MAX_BYTES (1u << 30)

static bool is_memory(const struct context *c, unsigned i, const struct form *form, uint32_t off)
{
	uint64_t base = u64_of(c, i, off);
	uint32_t size = u32_of(c, i, off + form->size), other = u32_of(c, i, off + form->other);

	if (u64_of(c, i, off + form->back) != c->modules.list[i].at.v ||
	    base < c->core->as.arch->kernel_start(c->core->as.levels).v ||
	    base % c->core->as.arch->entry_span(1) || size < 2 || size > SIZE_MAX_BYTES)
		return false;
	return form->is_array ? other < 2 : other && other <= size;
}

static const struct form *find_form(const struct context *c, uint32_t off)
{
	for (size_t f = 0; f < HV_ARRAY_LEN(forms); f++) {
		unsigned nr = 0;

		while (nr < c->modules.nr && is_memory(c, nr, &forms[f], off))
			nr++;
		if (nr == c->modules.nr)
			return &forms[f];
	}
	return NULL;
}

/* Finds the size of an element of the array: each points back to the module. */
static uint32_t find_stride(const struct context *c, const struct form *form, uint32_t off)
{
	for (uint32_t stride = form->back + 8;
	     stride < 256 && off + stride + form->back + 8 <= HV_LOADED_BYTES; stride += 8)
		if (u64_of(c, 0, off + stride + form->back) == c->modules.list[0].at.v)
			return stride;
	return 0;
}

static void add(struct hv_deriving *d, const char *type, const char *member, uint32_t off,
		uint32_t len_bytes, const char *of)
{
	hv_facts_add(&d->facts,
		     &(struct hv_fact){type, member, off, len_bytes, of, HV_PROVED_BY_MEMORY});
}

static void add_array(struct hv_deriving *d, const struct form *form, uint32_t off, uint32_t stride)
{
	add(d, "module_memory", "base", 0, 8, NULL);
	add(d, "module_memory", "size", form->size, 4, NULL);
	add(d, "module_memory", "mtn", form->back, stride - form->back, NULL);
	add(d, "module", "mem", off, stride, "module_memory");
	hv_facts_add_number(&d->facts, "MOD_TEXT", 0);
}

static void add_core(struct hv_deriving *d, const struct form *form, uint32_t off)
{
	add(d, "module", "core_layout", off, form->back + 8, "module_layout");
	add(d, "module_layout", "base", 0, 8, NULL);
	add(d, "module_layout", "size", form->size, 4, NULL);
	add(d, "module_layout", "text_size", form->other, 4, NULL);
	add(d, "module_layout", "mtn", form->back, 8, NULL);
}

/* The pointer back to the start of the module is a second proof of the offset of list. */
static void derive_memory(struct hv_deriving *d, const struct context *c)
{
	for (uint32_t off = NAME_OFF + NAME_BYTES; off + 32 <= HV_LOADED_BYTES; off += 8) {
		const struct form *form = find_form(c, off);
		uint32_t stride = form && form->is_array ? find_stride(c, form, off) : 0;

		if (!form || (form->is_array && !stride))
			continue;
		if (form->is_array)
			add_array(d, form, off, stride);
		else
			add_core(d, form, off);
		hv_facts_add_proof(&d->facts, "module", "list", HV_PROVED_BY_OTHER_MEMORY);
		return;
	}
}

/* struct mod_arch_specific begins with the number of the module's ORC entries, and pointers to their
 * addresses and to the entries. The addresses are ascending distances, and some lead to the module's
 * text. */
#define ORC_IPS_OFF 8u
#define ORCS_OFF    16u
#define ORCS_MAX    (1u << 20)
#define ORC_SAMPLES 16u

static struct hv_gva_range text_of(const struct context *c, unsigned i)
{
	const struct hv_fact *mem = hv_facts_find(c->facts, "module", "mem");
	const char *type = mem ? "module_memory" : "module_layout";
	const struct hv_fact *size = hv_facts_find(c->facts, type, mem ? "size" : "text_size");
	struct hv_gva start;

	if (!mem)
		mem = hv_facts_find(c->facts, "module", "core_layout");
	if (!mem || !size)
		return (struct hv_gva_range){0};
	start = hv_gva(u64_of(c, i, mem->off));
	return (struct hv_gva_range){start, hv_gva_add(start, u32_of(c, i, mem->off + size->off))};
}

static bool is_readable(const struct context *c, uint64_t at)
{
	uint64_t word;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&c->core->as, hv_gva(at), &word);

	return !err;
}

static bool has_orcs(const struct context *c, unsigned i, uint32_t off)
{
	const struct hv_address_space *as = &c->core->as;
	const struct hv_gva_range text = text_of(c, i);
	uint64_t nr = u32_of(c, i, off), ips = u64_of(c, i, off + ORC_IPS_OFF), before = 0;
	unsigned nr_text = 0;

	if (!nr || nr > ORCS_MAX)
		return false;
	for (unsigned s = 0; s < ORC_SAMPLES; s++) {
		uint64_t at = ips + 4 * ((nr - 1) * s / (ORC_SAMPLES - 1)), ip;
		uint32_t distance;
		HV_AUTO_ERR struct hv_err *err = hv_read_u32(as, hv_gva(at), &distance);

		if (err)
			return false;
		ip = at + (uint64_t)(int64_t)(int32_t)distance;
		if (ip < before || ip < as->arch->kernel_start(as->levels).v)
			return false;
		nr_text += hv_gva_in(hv_gva(ip), text);
		before = ip;
	}
	return nr_text && is_readable(c, u64_of(c, i, off + ORCS_OFF));
}

static bool fits_arch(const void *ctx, uint32_t off)
{
	return fits_most(ctx, off, has_orcs);
}

static const struct hv_member arch_members[] = {
	{"arch", ORCS_OFF + 8, "mod_arch_specific", fits_arch,
	 .code = {{"unwind_module_init", 0, USE(WRITE), 4}}},
};

static void derive_orcs(struct hv_deriving *d, struct context *c)
{
	c->facts = &d->facts;
	hv_members_derive(d, "module", arch_members, 1, c, HV_LOADED_BYTES);
	if (!hv_facts_find(&d->facts, "module", "arch"))
		return;
	add(d, "mod_arch_specific", "num_orcs", 0, 4, NULL);
	add(d, "mod_arch_specific", "orc_unwind_ip", ORC_IPS_OFF, 8, NULL);
	add(d, "mod_arch_specific", "orc_unwind", ORCS_OFF, 8, NULL);
}

#define TYPES_OFF     24u
#define TYPES_SAMPLES 16u

/* Returns whether the table of symbols of module I has a table of their types, as since 5.2
 * (1c7651f43777). KALLSYMS is the offset of the pointer to it. */
static bool has_types(const struct context *c, unsigned i, uint32_t kallsyms)
{
	const struct hv_address_space *as = &c->core->as;
	uint8_t head[TYPES_OFF + 8], types[TYPES_SAMPLES];
	struct hv_span copy = {head, sizeof(head)};
	HV_AUTO_ERR struct hv_err *no_types = NULL;
	HV_AUTO_ERR struct hv_err *err =
		hv_read(as, hv_gva(u64_of(c, i, kallsyms)), head, sizeof(head));
	uint32_t nr = err ? 0 : hv_copy_u32(copy, 8);

	if (nr > sizeof(types))
		nr = sizeof(types);
	if (nr)
		no_types = hv_read(as, hv_gva(hv_copy_u64(copy, TYPES_OFF)), types, nr);
	for (uint32_t s = 0; !no_types && s < nr; s++)
		if (types[s] != '?' && (types[s] < 'A' || types[s] > 'z'))
			return false;
	return nr && !no_types;
}

/* Returns whether the members that reading modules needs are known. A module that is being loaded
 * shows fewer members than one that is live. */
static bool is_complete(const struct hv_deriving *d)
{
	static const char *const needed[] = {"state", "list", "name", "kallsyms"};

	for (size_t i = 0; i < HV_ARRAY_LEN(needed); i++)
		if (!hv_facts_find(&d->facts, "module", needed[i]))
			return false;
	return hv_facts_find(&d->facts, "module", "mem") ||
	       hv_facts_find(&d->facts, "module", "core_layout");
}

void hv_module_members_derive(struct hv_deriving *d)
{
	struct context c = {.core = d->core};
	const struct hv_fact *kallsyms;
	const size_t nr = d->facts.nr, nr_numbers = d->facts.nr_numbers;

	if (!hv_loaded_read(d->core, &c.modules))
		return;
	hv_members_derive(d, "module", members, HV_ARRAY_LEN(members), &c, HV_LOADED_BYTES);
	add(d, "mod_kallsyms", "symtab", 0, 8, NULL);
	add(d, "mod_kallsyms", "num_symtab", 8, 4, NULL);
	add(d, "mod_kallsyms", "strtab", 16, 8, NULL);
	kallsyms = hv_facts_find(&d->facts, "module", "kallsyms");
	if (kallsyms && fits_most(&c, kallsyms->off, has_types))
		add(d, "mod_kallsyms", "typetab", TYPES_OFF, 8, NULL);
	derive_memory(d, &c);
	derive_orcs(d, &c);
	hv_facts_add_number(&d->facts, "MODULE_STATE_LIVE", 0);
	hv_loaded_deinit(&c.modules);
	if (!is_complete(d))
		hv_facts_shorten(&d->facts, nr, nr_numbers);
}
