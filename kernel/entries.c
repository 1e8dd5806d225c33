/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/entries.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/prefix.h"
#include "base/text.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"

#define TABLE_MAX    (16u << 20) /* bytes */
#define SECTIONS_MAX 16

/* Entries of the exception table (arch/x86/include/asm/extable.h) since 4.6 (548acf19234d): the
 * distances from each member to an instruction and to where the kernel continues, and a type. */
#define FAULT_LEN 12
#define FIXUP_OFF 4

/* Entries of the table of static keys since 4.19 (include/linux/jump_label.h, 50ff18ab497a): the
 * distances from each member to a jump, which is a nop while the key is off, and to its target; and the
 * key. */
#define KEY_LEN	   16
#define TARGET_OFF 4

struct function {
	const struct hv_symbol *symbol;
	struct hv_span code;
	struct hv_function_scan scan;
};

struct proof {
	const struct hv_kernel *k;
	const struct hv_kernel_arch *arch;
	struct hv_gva_range excluded;
	struct hv_span text;
	struct function *list; /* owned, ascending */
	size_t nr;
	/* Owned; a bit for each byte of the text: */
	uint8_t *targets; /* a jump or call may lead there */
	uint8_t *loops;	  /* a jump of the same function leads there */
	uint8_t *faults;  /* may fault, or continues after a fault. NULL: unknown */
	struct hv_gva_range sections[SECTIONS_MAX]; /* that must not be traced */
	size_t nr_sections;
	struct hv_gva_range thunks; /* a jump there continues at an address in a register */
	enum hv_entry_nop nop;
	struct function *scanned; /* the function that is scanned now */
	bool is_indirect;
};

static void proof_deinit(struct proof *p)
{
	free(p->list);
	free(p->targets);
	free(p->loops);
	free(p->faults);
}

static void set_bit(struct hv_span text, uint8_t *bits, uint64_t off)
{
	if (off < text.len_bytes)
		bits[off / 8] |= (uint8_t)(1u << off % 8);
}

static bool has_bit(const uint8_t *bits, uint64_t off)
{
	return bits[off / 8] >> off % 8 & 1;
}

static uint64_t off_of(const struct proof *p, struct hv_gva at)
{
	return at.v - p->k->text.start.v;
}

/* -- functions --------------------------------------------------------------------------------- */

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* All symbols of the text bound functions; only those of functions begin one. The first of several
 * names of an address counts, as in kallsyms_lookup(). */
static void list_functions(struct proof *p)
{
	const struct hv_symbols *s = &p->k->core.symbols;
	struct hv_gva_range text = p->k->text;

	p->list = hv_alloc((s->nr + 1) * sizeof(*p->list));
	for (size_t i = 0; i < s->nr; i++) {
		uint64_t off = off_of(p, s->by_addr[i].addr), len;

		if (!hv_gva_in(s->by_addr[i].addr, text) ||
		    (i && s->by_addr[i - 1].addr.v == s->by_addr[i].addr.v))
			continue;
		len = hv_symbols_room(s, s->by_addr[i].addr);
		if (!len || len > p->text.len_bytes - off)
			len = p->text.len_bytes - off;
		p->list[p->nr++] = (struct function){.symbol = &s->by_addr[i],
						     .code = {p->text.data + off, len}};
	}
}

static void find_thunks(struct proof *p)
{
	const struct hv_symbols *s = &p->k->core.symbols;
	const char *prefix = p->arch->indirect_thunk;

	for (size_t i = 0; prefix && i < s->nr; i++) {
		struct hv_gva at = s->by_addr[i].addr;

		if (!hv_starts_with(s->by_addr[i].name, prefix) || !hv_gva_in(at, p->k->text))
			continue;
		if (!p->thunks.start.v)
			p->thunks.start = at;
		p->thunks.end = hv_gva_add(at, 1);
	}
}

/* -- jumps ------------------------------------------------------------------------------------- */

static void note_target(void *ctx, struct hv_gva target, bool is_call)
{
	struct proof *p = ctx;
	const struct function *f = p->scanned;

	set_bit(p->text, p->targets, off_of(p, target));
	if (is_call)
		return;
	p->is_indirect |= hv_gva_in(target, p->thunks);
	if (target.v - f->symbol->addr.v < f->code.len_bytes)
		set_bit(p->text, p->loops, off_of(p, target));
}

/* Decodes all functions. Where instructions are unknown, any byte may begin a short jump. Long jumps
 * may come from data in the text, too, so they are also searched at each byte. */
static struct hv_err *find_jumps(struct proof *p)
{
	const struct hv_arch *arch = p->arch->arch;

	p->targets = hv_alloc(p->text.len_bytes / 8 + 1);
	p->loops = hv_alloc(p->text.len_bytes / 8 + 1);
	arch->mark_jumps(p->text, 0, p->text.len_bytes, HV_JUMP_LONG, p->targets);
	for (size_t i = 0; i < p->nr && !hv_cancel_now(i); i++) {
		struct function *f = &p->list[i];
		size_t off = off_of(p, f->symbol->addr);

		p->scanned = f;
		p->is_indirect = false;
		f->scan = arch->scan_function(f->code, f->symbol->addr, note_target, p);
		f->scan.is_indirect |= p->is_indirect;
		if (i && f->scan.is_idle) /* padding that has a symbol */
			f->scan.continues_after = p->list[i - 1].scan.continues_after;
		arch->mark_jumps(p->text, off + f->scan.len_bytes, off + f->code.len_bytes,
				 HV_JUMP_SHORT, p->targets);
	}
	return hv_cancel_check();
}

/* -- faults ------------------------------------------------------------------------------------ */

static uint64_t relative(struct hv_span table, struct hv_gva start, size_t off)
{
	return start.v + off + (uint64_t)(int64_t)(int32_t)hv_copy_u32(table, off);
}

/* Marks the addresses of the table at START. Returns false if it is not a table of this form: its
 * entries are sorted by their instructions, which are in the image. */
static bool mark_faults(const struct proof *p, struct hv_span table, struct hv_gva start,
			uint8_t *bits)
{
	struct hv_gva last = {0};

	for (size_t off = 0; off + FAULT_LEN <= table.len_bytes; off += FAULT_LEN) {
		struct hv_gva insn = hv_gva(relative(table, start, off));
		struct hv_gva fixup = hv_gva(relative(table, start, off + FIXUP_OFF));

		if (insn.v < last.v || !hv_gva_in(insn, p->k->core.image.all) ||
		    !hv_gva_in(fixup, p->k->core.image.all))
			return false;
		set_bit(p->text, bits, off_of(p, insn));
		set_bit(p->text, bits, off_of(p, fixup));
		last = insn;
	}
	return table.len_bytes && table.len_bytes % FAULT_LEN == 0;
}

struct table {
	struct hv_gva start;
	uint8_t *bytes; /* owned; NULL: the table was not found */
	size_t len_bytes;
};

static void table_deinit(struct table *t)
{
	free(t->bytes);
}

/* A kernel without names of its variables has no symbols for the table. */
static struct hv_err *read_table(const struct proof *p, const char *first, const char *last,
				 struct table *ret)
{
	struct hv_gva start, end;

	if (!hv_core_symbol(&p->k->core, first, &start) ||
	    !hv_core_symbol(&p->k->core, last, &end) || end.v <= start.v ||
	    end.v - start.v > TABLE_MAX)
		return NULL;
	*ret = (struct table){start, hv_alloc(end.v - start.v), end.v - start.v};
	return hv_read(&p->k->core.as, start, ret->bytes, ret->len_bytes);
}

static struct hv_err *find_faults(struct proof *p)
{
	hv_cleanup(table_deinit) struct table t = {0};
	struct hv_err *err = read_table(p, "__start___ex_table", "__stop___ex_table", &t);

	if (err || !t.bytes)
		return hv_err_in(err, "exception table");
	p->faults = hv_alloc(p->text.len_bytes / 8 + 1);
	if (!mark_faults(p, (struct hv_span){t.bytes, t.len_bytes}, t.start, p->faults))
		free(hv_take(p->faults));
	return NULL;
}

/* Where the kernel jumps to when it switches a static key on. A table of another form marks other
 * addresses, where functions are then refused without need. */
static struct hv_err *find_keys(struct proof *p)
{
	hv_cleanup(table_deinit) struct table t = {0};
	struct hv_err *err = read_table(p, "__start___jump_table", "__stop___jump_table", &t);

	if (err || !t.bytes)
		return hv_err_in(err, "table of static keys");
	for (size_t off = 0; off + KEY_LEN <= t.len_bytes; off += KEY_LEN) {
		struct hv_span table = {t.bytes, t.len_bytes};
		struct hv_gva target = hv_gva(relative(table, t.start, off + TARGET_OFF));

		set_bit(p->text, p->targets, off_of(p, target));
	}
	return NULL;
}

/* -- functions that run elsewhere -------------------------------------------------------------- */

static void find_sections(struct proof *p)
{
	for (const struct hv_section_bounds *s = p->arch->untraced_sections; s->start; s++) {
		struct hv_gva_range *range = &p->sections[p->nr_sections];

		p->nr_sections += hv_core_symbol(&p->k->core, s->start, &range->start) &&
				  hv_core_symbol(&p->k->core, s->end, &range->end);
		assert(p->nr_sections < SECTIONS_MAX);
	}
}

static bool is_in_section(const struct proof *p, struct hv_gva at)
{
	for (size_t i = 0; i < p->nr_sections; i++)
		if (hv_gva_in(at, p->sections[i]))
			return true;
	return false;
}

static bool has_untraced_name(const struct proof *p, const char *name)
{
	for (const char *const *prefix = p->arch->untraced_prefixes; *prefix; prefix++)
		if (hv_starts_with(name, *prefix))
			return true;
	return false;
}

/* Without these bounds nothing shows which functions run before the kernel's state is complete. */
static struct hv_err *need_sections(const struct hv_kernel *k, const struct hv_kernel_arch *arch)
{
	struct hv_gva at;

	for (const struct hv_section_bounds *s = arch->untraced_sections; s->start; s++)
		if (s->is_needed && (!hv_core_symbol(&k->core, s->start, &at) ||
				     !hv_core_symbol(&k->core, s->end, &at)))
			return hv_err_new(ENOTSUP,
					  "kernel has no ftrace sites, and no symbols %s and %s: "
					  "which functions could be traced without is unknown",
					  s->start, s->end);
	return NULL;
}

/* -- the proof --------------------------------------------------------------------------------- */

static bool any_bit(const uint8_t *bits, uint64_t off, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (has_bit(bits, off + i))
			return true;
	return false;
}

static bool crosses_pages(const struct proof *p, uint64_t at, size_t len)
{
	uint64_t page_bytes = p->arch->arch->entry_span(1);

	if (len > HV_DETOUR_PATCH_MAX)
		len = HV_DETOUR_PATCH_MAX;
	return at % page_bytes + len > page_bytes;
}

/* Returns the reason why the instructions E of F cannot be replaced, or NULL. */
static const char *why_not_there(const struct proof *p, const struct function *f,
				 const struct hv_entry_insns *e)
{
	uint64_t off = off_of(p, f->symbol->addr) + e->off;

	if (e->uses_memory && !p->faults)
		return "its start uses memory, and the exception table is unknown";
	if (p->faults && any_bit(p->faults, off, e->len_bytes))
		return "an instruction at its start may fault";
	if (any_bit(p->targets, off + 1, e->len_bytes - 1))
		return "a jump may lead into the instructions at its start";
	if (any_bit(p->loops, off - e->off, e->off + 1))
		return "it jumps to its own start";
	return crosses_pages(p, f->symbol->addr.v + e->off, e->len_bytes)
		       ? "its start is in two pages"
		       : NULL;
}

/* Returns the reason why function I cannot be traced, or NULL. */
static const char *why_not(const struct proof *p, size_t i, struct hv_entry_insns *ret)
{
	const struct function *f = &p->list[i];
	const char *why;

	if (is_in_section(p, f->symbol->addr) || has_untraced_name(p, f->symbol->name))
		return "it runs where the kernel's state may be incomplete, or is a template";
	/* "return_thunk" is in the names of all thunks (arch/x86/lib/retpoline.S). */
	if (f->symbol->addr.v == p->k->return_thunk.v || strstr(f->symbol->name, "return_thunk"))
		return "trampolines return through it";
	if (!i || p->list[i - 1].scan.continues_after)
		return "the code before it may run into it";
	if (f->scan.len_bytes < f->code.len_bytes)
		return "an instruction is unknown";
	if (f->scan.is_indirect)
		return "it has a jump to an unknown address";
	why = p->arch->arch->find_entry(f->code, f->symbol->addr, p->nop, ret);
	return why ? why : why_not_there(p, f, ret);
}

/* Padding has symbols, too (__pfx_NAME), and so has the rest of a function that is rarely
 * executed. */
static bool is_function(const struct proof *p, const struct function *f)
{
	return is_text(f->symbol->type) && !f->scan.is_idle && !strstr(f->symbol->name, ".cold") &&
	       !hv_gva_in(f->symbol->addr, p->excluded);
}

/* -- the list ---------------------------------------------------------------------------------- */

static void count_reason(struct hv_function_entries *e, const char *why)
{
	size_t i = 0;

	while (i < e->nr_reasons && strcmp(e->reasons[i].why, why) != 0)
		i++;
	if (i == HV_ENTRY_REASONS_MAX)
		return;
	e->reasons[i].why = why;
	e->reasons[i].nr++;
	if (i == e->nr_reasons)
		e->nr_reasons++;
}

/* Names are offsets until all are added, because their buffer moves. */
struct building {
	struct hv_site *list;
	size_t *name_offs;
	size_t nr;
	struct hv_text names;
	struct hv_function_entries *entries;
};

static void building_deinit(struct building *b)
{
	free(b->list);
	free(b->name_offs);
	hv_text_deinit(&b->names);
	if (b->entries)
		free(b->entries->list);
	free(b->entries);
}

static void add(struct building *b, const struct function *f, const struct hv_entry_insns *e)
{
	struct hv_function_entry *entry = &b->entries->list[b->nr];

	entry->len_bytes = (uint8_t)e->len_bytes;
	entry->nr = (uint8_t)e->nr;
	memcpy(entry->insns, f->code.data + e->off, e->len_bytes);
	b->list[b->nr] = (struct hv_site){.ip = hv_gva_add(f->symbol->addr, e->off)};
	b->name_offs[b->nr++] = b->names.len_bytes;
	hv_text_add_guest(&b->names, f->symbol->name, SIZE_MAX);
	hv_text_add_bytes(&b->names, "", 1);
}

static void take(struct building *b, struct hv_sites *ret)
{
	char *names = hv_realloc_array(hv_take(b->names.data), b->names.len_bytes + 1, 1);

	b->names = (struct hv_text){0};
	for (size_t i = 0; i < b->nr; i++)
		b->list[i].name = names + b->name_offs[i];
	*ret = (struct hv_sites){.list = hv_take(b->list),
				 .nr = b->nr,
				 .names = names,
				 .entries = hv_take(b->entries)};
	hv_sites_index(ret);
}

static struct hv_err *build(const struct proof *p, struct hv_sites *ret)
{
	hv_cleanup(building_deinit) struct building b = {
		.list = hv_alloc((p->nr + 1) * sizeof(*b.list)),
		.name_offs = hv_alloc((p->nr + 1) * sizeof(*b.name_offs)),
		.entries = hv_alloc(sizeof(*b.entries)),
	};
	struct hv_err *err;

	b.entries->list = hv_alloc((p->nr + 1) * sizeof(*b.entries->list));
	for (size_t i = 0; i < p->nr && !hv_cancel_now(i); i++) {
		struct hv_entry_insns insns = {0};
		const char *why;

		if (!is_function(p, &p->list[i]))
			continue;
		b.entries->nr_functions++;
		why = why_not(p, i, &insns);
		if (why)
			count_reason(b.entries, why);
		else
			add(&b, &p->list[i], &insns);
	}
	err = hv_cancel_check();
	if (!err)
		take(&b, ret);
	return err;
}

/* ftrace's symbol shows that functions begin with its nop. */
static enum hv_entry_nop nop_of(const struct hv_kernel *k)
{
	struct hv_gva at;

	return hv_core_symbol(&k->core, "__fentry__", &at) ? HV_ENTRY_NOP_FTRACE
							   : HV_ENTRY_NOP_UNKNOWN;
}

struct hv_err *hv_entries_read(const struct hv_kernel *k, struct hv_gva_range excluded,
			       struct hv_sites *ret)
{
	hv_cleanup(proof_deinit) struct proof p = {.k = k,
						   .arch = hv_kernel_arch_of(&k->core),
						   .nop = nop_of(k),
						   .excluded = excluded};
	struct hv_span image = hv_image_at(&k->core.image, k->text.start);
	struct hv_err *err;

	if (!p.arch->arch->find_entry || !p.arch->untraced_sections)
		return hv_err_new(ENOTSUP, "kernel has no ftrace sites: it was built without "
					   "CONFIG_DYNAMIC_FTRACE");
	if (k->is_starting)
		return hv_err_new(EOPNOTSUPP, "kernel has no ftrace sites, and it is still "
					      "starting; retry when it has booted");
	err = need_sections(k, p.arch);
	if (err)
		return err;
	p.text = (struct hv_span){image.data, k->text.end.v - k->text.start.v};
	if (!hv_span_has(image, 0, p.text.len_bytes))
		return hv_err_new(EIO, "kernel text: its symbols place it outside its image");
	list_functions(&p);
	find_sections(&p);
	find_thunks(&p);
	err = find_jumps(&p);
	if (!err)
		err = find_keys(&p);
	if (!err)
		err = find_faults(&p);
	return err ? err : build(&p, ret);
}
