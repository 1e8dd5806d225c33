/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/code/probe_site.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/prefix.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/code/text_search.h"

#define FUNCTION_MAX (256u << 10)
#define TABLE_MAX    (16u << 20) /* bytes */
#define ENTRY_MAX    64u
#define BLACK_MAX    65536u

static struct hv_err *refuse(const char *why)
{
	return hv_err_new(EOPNOTSUPP, "no probe is possible there: %s", why);
}

static struct hv_err *refuse_as_kernel(void)
{
	return hv_err_new(EINVAL, "%s", HV_PROBE_REFUSED);
}

static struct hv_err *no_boundary(void)
{
	return hv_err_new(EILSEQ, "Probe point is not an instruction boundary");
}

/* -- the function ------------------------------------------------------------------------------ */

/* A function and the state of decoding it. */
struct walk {
	const struct hv_kernel *k;
	struct hv_gva at;
	struct hv_gva_range inside; /* the moving bytes, except the first one */
	unsigned begins;	    /* bit N: an instruction begins at AT + N */
	bool is_jumped_into;
	bool is_indirect; /* a jump has an unknown target */
};

/* A jump to such a function continues at the address in a register. */
static bool is_thunk(const struct walk *w, struct hv_gva target)
{
	const char *prefix = hv_kernel_arch_of(&w->k->core)->indirect_thunk;
	const char *name, *module;
	uint64_t off;

	return prefix && hv_kernel_symbol_at(w->k, target, &name, &module, &off) &&
	       hv_starts_with(name, prefix);
}

static bool look_at(void *ctx, const struct hv_insn *insn)
{
	struct walk *w = ctx;

	if (insn->at.v - w->at.v < HV_DETOUR_INSN_MAX)
		w->begins |= 1u << (insn->at.v - w->at.v);
	w->is_jumped_into |= insn->has_target && hv_gva_in(insn->target, w->inside);
	if (insn->is_jump && !insn->is_call)
		w->is_indirect |= !insn->has_target || is_thunk(w, insn->target);
	return true;
}

/* Restores the kernel's own bytes in CODE, which begins at START. */
static void put_own(uint8_t *code, size_t len, struct hv_gva start, const struct hv_own_bytes *ours,
		    size_t nr_ours)
{
	for (size_t i = 0; i < nr_ours; i++)
		for (size_t n = 0; n < ours[i].len_bytes; n++) {
			uint64_t off = ours[i].at.v + n - start.v;

			if (off < len)
				code[off] = ours[i].bytes[n];
		}
}

/* AT must be in a function that ftrace can trace: such functions are C, run with the kernel's
 * per-CPU base and stack, and do not run during boot. */
static struct hv_err *check_site(const struct hv_kernel *k, struct hv_gva start, struct hv_gva end,
				 struct hv_gva at, struct hv_gva *ret)
{
	const struct hv_site *found = NULL;

	if (k->sites.entries)
		return hv_err_new(EOPNOTSUPP, "probes inside functions: not supported yet for "
					      "kernels without ftrace");
	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (hv_gva_in(site->ip, (struct hv_gva_range){start, end}) && !site->invalid)
			found = site;
	}
	if (!found || hv_gva_in(at, hv_kernel_init_text(k)))
		return refuse("only functions that ftrace can trace have probes, and this one"
			      " cannot be traced");
	if (at.v == start.v || at.v == found->ip.v)
		return refuse("the function's own ftrace call is there; define the probe without "
			      "an offset");
	if (at.v < found->ip.v + k->core.as.arch->site_len_bytes)
		return no_boundary();
	*ret = found->ip;
	return NULL;
}

/* -- tables of the kernel ---------------------------------------------------------------------- */

/* A table of code addresses; the core kernel and each module have one. Address members of 4 bytes
 * are relative to their own address; those of 8 bytes are absolute. */
struct table {
	const char *type; /* type of an entry */
	const char *start, *end;
	const char *module_start, *module_nr; /* members of struct module */
	const char *members[2]; /* members whose address must not be in the moving bytes; NULL: only
				   one */
	bool whole[2];		/* also not at the first byte */
};

static const struct table keys = {
	.type = "jump_entry",
	.start = "__start___jump_table",
	.end = "__stop___jump_table",
	.module_start = "jump_entries",
	.module_nr = "num_jump_entries",
	.members = {"code", "target"},
	.whole = {true, false},
};
static const struct table static_calls = {
	.type = "static_call_site",
	.start = "__start_static_call_sites",
	.end = "__stop_static_call_sites",
	.module_start = "static_call_sites",
	.module_nr = "num_static_call_sites",
	.members = {"addr"},
	.whole = {true},
};
static const struct table exceptions = {
	.type = "exception_table_entry",
	.start = "__start___ex_table",
	.end = "__stop___ex_table",
	.module_start = "extable",
	.module_nr = "num_exentries",
	.members = {"insn", "fixup"},
	.whole = {true, false},
};

/* Returns the table of the module that contains AT, or the core kernel's. *RET_LEN is 0 if there is
 * no table. */
static struct hv_err *find_table(const struct hv_kernel *k, const struct table *t, struct hv_gva at,
				 uint32_t entry_len, struct hv_gva *ret, uint64_t *ret_len)
{
	const struct hv_module *module = hv_module_at(&k->modules, at);
	uint32_t start_off, nr_off, nr = 0;
	const struct hv_field fields[] = {
		{t->module_start, 8, &start_off},
		{t->module_nr, 4, &nr_off},
	};
	struct hv_gva end;
	struct hv_err *err;

	if (!module) {
		err = hv_core_need(&k->core, t->start, ret);
		if (!err)
			err = hv_core_need(&k->core, t->end, &end);
		if (!err)
			*ret_len = end.v - ret->v;
		return err;
	}
	err = hv_fields_find(&k->core, "module", fields, HV_ARRAY_LEN(fields));
	if (!err)
		err = hv_read_u64(&k->core.as, hv_gva_add(module->at, start_off), &ret->v);
	if (!err)
		err = hv_read_u32(&k->core.as, hv_gva_add(module->at, nr_off), &nr);
	if (!err)
		*ret_len = (uint64_t)nr * entry_len;
	return err;
}

static struct hv_err *read_table(const struct hv_kernel *k, const struct table *t, struct hv_gva at,
				 uint32_t entry_len, struct hv_gva *ret_start, uint8_t **ret,
				 uint64_t *ret_len)
{
	struct hv_err *err = find_table(k, t, at, entry_len, ret_start, ret_len);

	if (err)
		return err;
	if (*ret_len > TABLE_MAX)
		return hv_err_new(EINVAL, "table of struct %s: %llu bytes; at most %u are possible",
				  t->type, (unsigned long long)*ret_len, TABLE_MAX);
	*ret = hv_alloc(*ret_len + 1);
	return *ret_len ? hv_read(&k->core.as, *ret_start, *ret, *ret_len) : NULL;
}

static bool is_in(uint64_t at, struct hv_gva_range range, bool whole)
{
	return at - range.start.v < range.end.v - range.start.v && (whole || at != range.start.v);
}

/* Returns the address that the member of LEN_BYTES at OFF of the table at START contains. */
static uint64_t address_at(struct hv_span table, struct hv_gva start, uint32_t off,
			   uint32_t len_bytes)
{
	if (len_bytes == 8)
		return hv_copy_u64(table, off);
	return start.v + off + (uint64_t)(int64_t)(int32_t)hv_copy_u32(table, off);
}

/* Sets *RET to whether an address of the table is in RANGE. */
static struct hv_err *look_in_table(const struct hv_kernel *k, const struct table *t,
				    struct hv_gva_range range, bool *ret)
{
	HV_AUTO_FREE uint8_t *bytes = NULL;
	uint32_t entry_len, offs[2] = {0}, size = 0;
	uint64_t len = 0;
	struct hv_gva start;
	struct hv_err *err;

	*ret = false;
	if (!hv_btf_size(k->core.btf, t->type, &entry_len)) {
		/* If the type is unknown, the kernel has the table only if it has the table's start
		 * symbol. */
		if (hv_types_are_whole(&k->core) || !hv_core_symbol(&k->core, t->start, &start))
			return NULL;
		return refuse("unknown layout of the kernel's code tables");
	}
	for (unsigned m = 0; m < 2 && t->members[m]; m++) {
		if (!hv_btf_member(k->core.btf, t->type, t->members[m], &offs[m], &size) ||
		    (size != 4 && size != 8) || entry_len < size || entry_len > ENTRY_MAX ||
		    offs[m] > entry_len - size)
			return refuse("unknown layout of the kernel's code tables");
	}
	err = read_table(k, t, range.start, entry_len, &start, &bytes, &len);
	for (uint64_t off = 0; !err && off + entry_len <= len; off += entry_len)
		for (unsigned m = 0; m < 2 && t->members[m]; m++)
			*ret |= is_in(address_at((struct hv_span){bytes, len}, start,
						 (uint32_t)(off + offs[m]), size),
				      range, t->whole[m]);

	return err;
}

/* Sets *RET to whether the kernel forbids kprobes in RANGE (kernel/kprobes.c, kprobe_blacklist). */
static struct hv_err *look_in_blacklist(const struct hv_kernel *k, struct hv_gva_range range,
					bool *ret)
{
	uint32_t list, from, to;
	const struct hv_field fields[] = {
		{"list", 16, &list},
		{"start_addr", 8, &from},
		{"end_addr", 8, &to},
	};
	struct hv_gva head;
	uint64_t at = 0;
	struct hv_err *err;

	*ret = false;
	if (!hv_core_symbol(&k->core, "register_kprobe", &head)) /* the kernel has no kprobes */
		return NULL;
	err = hv_core_need(&k->core, "kprobe_blacklist", &head);
	if (!err)
		err = hv_fields_find(&k->core, "kprobe_blacklist_entry", fields,
				     HV_ARRAY_LEN(fields));
	if (!err)
		err = hv_read_u64(&k->core.as, head, &at);
	for (unsigned nr = 0; !err && at != head.v; nr++) {
		struct hv_gva entry = hv_gva(at - list);
		uint64_t start = 0, end = 0;

		if (nr == BLACK_MAX)
			return hv_err_new(
				E2BIG, "kprobe_blacklist: the list does not end after %u entries",
				BLACK_MAX);
		err = hv_read_u64(&k->core.as, hv_gva_add(entry, from), &start);
		if (!err)
			err = hv_read_u64(&k->core.as, hv_gva_add(entry, to), &end);
		*ret |= !err && range.start.v < end && start < range.end.v;
		if (!err)
			err = hv_read_u64(&k->core.as, hv_gva(at), &at);
	}
	return err;
}

static struct hv_err *check_tables(const struct hv_kernel *k, struct hv_gva_range range)
{
	bool is_black = false, is_key = false, is_call = false, is_exception = false;
	struct hv_err *err = look_in_blacklist(k, range, &is_black);

	if (!err)
		err = look_in_table(k, &keys, range, &is_key);
	if (!err)
		err = look_in_table(k, &static_calls, range, &is_call);
	if (!err)
		err = look_in_table(k, &exceptions, range, &is_exception);
	if (err)
		return hv_err_in(err, "a probe at 0x%llx", (unsigned long long)range.start.v);
	if (is_black || is_key || is_call)
		return refuse_as_kernel();
	return is_exception ? refuse("the kernel expects an instruction there to fault, or "
				     "continues there after a fault")
			    : NULL;
}

/* -- jumps from all text ----------------------------------------------------------------------- */

struct looking {
	const struct hv_arch *arch;
	struct hv_gva_range inside;
	bool found;
};

static struct hv_err *look_in_text(void *ctx, struct hv_span text, struct hv_gva start)
{
	struct looking *l = ctx;

	l->found |= l->arch->leads_into(text, start, l->inside);
	return hv_cancel_check();
}

static struct hv_err *check_all_text(const struct hv_kernel *k, struct hv_gva_range inside)
{
	struct looking l = {.arch = k->core.as.arch, .inside = inside};
	struct hv_err *err = hv_text_search(k, look_in_text, &l);

	if (!err && l.found)
		err = refuse("a jump leads into the instructions that would move");
	return err;
}

/* -- the whole check --------------------------------------------------------------------------- */

static bool has_page_end(const struct hv_arch *arch, const struct hv_probe_site *p)
{
	uint64_t page_bytes = arch->entry_span(1);
	size_t len = p->len_bytes < HV_DETOUR_PATCH_MAX ? p->len_bytes : HV_DETOUR_PATCH_MAX;

	return p->at.v % page_bytes + len > page_bytes;
}

/* Returns whether the kernel's own probes reject the instruction at the probe's address, which CODE
 * begins with. */
static bool is_skipped(const struct hv_kernel *k, struct hv_span code)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);

	return arch->skips_exceptions && arch->skips_exceptions(&k->core) &&
	       k->core.as.arch->raises_exception(code);
}

/* CODE is the function, which begins at START. */
static struct hv_err *check_code(const struct hv_kernel *k, struct hv_span code,
				 struct hv_gva start, struct hv_probe_site *p)
{
	const struct hv_arch *arch = k->core.as.arch;
	struct hv_span rest = {code.data + (p->at.v - start.v),
			       code.len_bytes - (p->at.v - start.v)};
	struct walk w = {.k = k, .at = p->at};
	const char *why = arch->find_movable(rest, p->at, &p->len_bytes, &p->nr);
	size_t walked;

	if (!why)
		w.inside = (struct hv_gva_range){hv_gva_add(p->at, 1),
						 hv_gva_add(p->at, p->len_bytes)};
	walked = arch->walk_code(code, start, look_at, &w);
	if (!(w.begins & 1) && walked > p->at.v - start.v)
		return no_boundary();
	if (!(w.begins & 1))
		return refuse("hvtrace does not know an instruction before it");
	if (is_skipped(k, rest))
		return no_boundary();
	if (why)
		return refuse(why);
	memcpy(p->insns, rest.data, p->len_bytes);
	p->begins = w.begins & ((1u << p->len_bytes) - 1);
	if (has_page_end(arch, p))
		return refuse("the instructions there are in two pages");
	if (p->nr == 1)
		return NULL;
	if (walked < code.len_bytes)
		return refuse("several instructions would move, and the function has an unknown "
			      "instruction");
	if (w.is_indirect)
		return refuse("several instructions would move, and the function has a jump to an "
			      "unknown address");
	return w.is_jumped_into ? refuse("a jump leads into the instructions that would move")
				: check_all_text(k, w.inside);
}

static struct hv_err *read_function(const struct hv_kernel *k, struct hv_gva start, uint64_t len,
				    const struct hv_own_bytes *ours, size_t nr_ours, uint8_t **ret)
{
	struct hv_err *err;

	if (len > FUNCTION_MAX)
		return refuse("its function is too long");
	*ret = hv_alloc(len + 1);
	err = hv_read(&k->core.as, start, *ret, len);
	put_own(*ret, len, start, ours, nr_ours);
	return err;
}

struct hv_err *hv_probe_site_read(const struct hv_kernel *k, struct hv_gva at,
				  const struct hv_own_bytes *ours, size_t nr_ours,
				  struct hv_probe_site *ret)
{
	struct hv_probe_site p = {.at = at};
	HV_AUTO_FREE uint8_t *code = NULL;
	const char *name, *module;
	uint64_t off, len;
	struct hv_gva start;
	struct hv_err *err;

	if (!k->core.as.arch->find_movable)
		return hv_err_new(EOPNOTSUPP, "probes inside functions: not supported yet on %s",
				  k->core.as.arch->name);
	if (k->is_starting)
		return hv_err_new(EOPNOTSUPP, "the kernel is still starting");
	if ((!hv_gva_in(at, k->text) && !hv_module_at(&k->modules, at)) ||
	    !hv_kernel_symbol_at(k, at, &name, &module, &off))
		return refuse_as_kernel();
	start = hv_gva(at.v - off);
	len = hv_kernel_symbol_size(k, at);
	if (off >= len)
		return refuse_as_kernel();
	err = check_site(k, start, hv_gva_add(start, len), at, &p.site);
	if (!err)
		err = read_function(k, start, len, ours, nr_ours, &code);
	if (!err)
		err = check_code(k, (struct hv_span){code, len}, start, &p);
	if (!err)
		err = check_tables(k, (struct hv_gva_range){at, hv_gva_add(at, p.len_bytes)});
	if (!err)
		*ret = p;
	return err;
}
