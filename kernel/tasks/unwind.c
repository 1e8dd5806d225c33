/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tasks/unwind.h"

#include <stdlib.h>

#include "kernel/core/orc_form.h"
#include "kernel/image/release.h"
#include "kernel/kernel.h"

/* -- ORC tables -------------------------------------------------------------------------------- */

/* Limit for the tables of all modules together; a large module has 1 MiB. */
#define MODULES_MAX_BYTES (64u << 20)

/* A module's table, if it could be read. */
struct module {
	struct hv_gva start; /* start of its text */
	struct hv_orc_table table;
	uint8_t *bytes; /* owned */
};

struct hv_orc {
	const struct hv_kernel *k;
	const struct hv_orc_form *form;
	struct hv_orc_table vmlinux;
	struct module *modules; /* owned */
	size_t nr_modules;
	size_t modules_bytes; /* total size of their tables */
};

/* Calls FN for both tables of the image: vmlinux points into the copy. */
static void each_table(const struct hv_orc *orc,
		       void (*fn)(const struct hv_image *image, struct hv_gva_range range))
{
	const struct hv_orc_table *t = &orc->vmlinux;

	fn(&orc->k->core.image,
	   (struct hv_gva_range){t->ips_gva, hv_gva_add(t->ips_gva, t->ips.len_bytes)});
	fn(&orc->k->core.image,
	   (struct hv_gva_range){t->entries_gva, hv_gva_add(t->entries_gva, t->entries.len_bytes)});
}

struct hv_err *hv_orc_new(const struct hv_kernel *k, struct hv_orc **ret)
{
	const struct hv_orc_form *form;
	struct hv_orc *orc;
	struct hv_err *err = hv_orc_form_of(&k->core, &form);

	if (err)
		return err;
	orc = hv_alloc(sizeof(*orc));
	orc->k = k;
	orc->form = form;
	if (hv_orc_image_table(&k->core, orc->form, &orc->vmlinux))
		each_table(orc, hv_image_hold);
	*ret = orc;
	return NULL;
}

struct hv_err *hv_orc_check(const struct hv_kernel *k)
{
	return hv_orc_form_check(&k->core);
}

void hv_orc_prepare(const struct hv_kernel *k)
{
	const struct hv_orc_form *unused;

	hv_err_free(hv_orc_form_of(&k->core, &unused));
}

void hv_orc_forget_modules(struct hv_orc *orc)
{
	for (size_t i = 0; i < orc->nr_modules; i++)
		free(orc->modules[i].bytes);
	free(orc->modules);
	orc->modules = NULL;
	orc->nr_modules = 0;
	orc->modules_bytes = 0;
}

void hv_orc_free(struct hv_orc *orc)
{
	if (!orc)
		return;
	hv_orc_forget_modules(orc);
	if (orc->vmlinux.nr)
		each_table(orc, hv_image_unhold);
	free(orc);
}

/* Copies both tables. Leaves RET without a table if they cannot be read or are too large. */
static void read_module(struct hv_orc *orc, const struct hv_module *m, struct module *ret)
{
	size_t ips_bytes = (size_t)m->nr_orcs * 4;
	size_t entries_bytes = (size_t)m->nr_orcs * orc->form->entry_bytes;
	HV_AUTO_ERR struct hv_err *err = NULL;

	ret->start = m->text.start;
	if (!m->nr_orcs || ips_bytes + entries_bytes > MODULES_MAX_BYTES - orc->modules_bytes)
		return;
	orc->modules_bytes += ips_bytes + entries_bytes;
	ret->bytes = hv_alloc(ips_bytes + entries_bytes);
	err = hv_read(&orc->k->core.as, m->orc_ips, ret->bytes, ips_bytes);
	if (!err)
		err = hv_read(&orc->k->core.as, m->orcs, ret->bytes + ips_bytes, entries_bytes);
	if (err)
		return;
	ret->table = (struct hv_orc_table){.ips_gva = m->orc_ips,
					   .ips = {ret->bytes, ips_bytes},
					   .entries = {ret->bytes + ips_bytes, entries_bytes},
					   .nr = m->nr_orcs};
}

/* Returns NULL if IP is neither in the image nor in a module. */
static const struct hv_orc_table *table_of(struct hv_orc *orc, struct hv_gva ip)
{
	const struct hv_module *m;

	if (hv_gva_in(ip, orc->k->core.image.all))
		return &orc->vmlinux;
	m = hv_module_at(&orc->k->modules, ip);
	for (size_t i = 0; m && i < orc->nr_modules; i++)
		if (orc->modules[i].start.v == m->text.start.v)
			return &orc->modules[i].table;
	if (!m)
		return NULL;
	orc->modules = hv_realloc_array(orc->modules, orc->nr_modules + 1, sizeof(*orc->modules));
	orc->modules[orc->nr_modules] = (struct module){0};
	read_module(orc, m, &orc->modules[orc->nr_modules]);
	return &orc->modules[orc->nr_modules++].table;
}

bool hv_orc_is_text(const struct hv_orc *orc, struct hv_gva ip)
{
	const struct hv_kernel *k = orc->k;

	return !hv_gva_in(ip, k->core.image.all) || hv_gva_in(ip, k->text) || k->is_starting;
}

bool hv_orc_is_init_text(const struct hv_orc *orc, struct hv_gva ip)
{
	return hv_gva_in(ip, hv_kernel_init_text(orc->k));
}

bool hv_orc_find(struct hv_orc *orc, struct hv_gva ip, struct hv_unwind_rule *ret)
{
	const struct hv_orc_table *t = table_of(orc, ip);
	size_t index;

	if (!t || !hv_orc_search(t, ip, &index))
		return false;
	*ret = hv_orc_rule(orc->form, t, index);
	return true;
}

/* -- recorded stacks --------------------------------------------------------------------------- */

#define STACK_LEN 0x4000 /* THREAD_SIZE of kernels without KASAN */

static bool word_at(void *ctx, uint32_t at, uint64_t *ret)
{
	const struct hv_stack_words *words = ctx;

	for (size_t i = 0; i < words->nr; i++) {
		if (words->list[i].at != at)
			continue;
		*ret = words->list[i].value;
		if (words->list[i].is_text)
			*ret = words->text_base.v + (HV_TEXT_BIT | *ret);
		return true;
	}
	return false;
}

static bool is_trampoline(const struct hv_unwind_trampolines *trampolines,
			  const struct hv_unwind_frame *f)
{
	return trampolines && !f->exact && hv_gva_in(f->ip, trampolines->code);
}

static struct hv_unwind_rule rule_of(struct hv_orc *orc, const struct hv_arch *arch,
				     const struct hv_unwind_trampolines *trampolines,
				     const struct hv_unwind_frame *f)
{
	struct hv_unwind_rule rule;

	if (is_trampoline(trampolines, f))
		return trampolines->rule;
	if (hv_orc_find(orc, hv_gva(f->exact ? f->ip.v : f->ip.v - 1), &rule))
		return rule;
	return arch->frame_pointer_rule;
}

/* Returns whether a return address follows SP on this stack. */
static bool goes_on(const struct hv_stack_words *words, uint32_t sp)
{
	for (size_t i = 0; i < words->nr; i++)
		if (words->list[i].is_text && words->list[i].at - sp < STACK_LEN)
			return true;
	return false;
}

/* Entries that end a stack are also at the entries of thunks (UNWIND_HINT_EMPTY before 6.3), whose
 * return address ORC does not describe. An interrupt can arrive there, in the middle of a stack. */
static bool is_whole(enum hv_unwound unwound, const struct hv_stack_words *words,
		     const struct hv_unwind_frame *f)
{
	return unwound == HV_UNWOUND_END && !(f->exact && goes_on(words, f->sp));
}

size_t hv_unwind(struct hv_orc *orc, const struct hv_arch *arch, const struct hv_stack_words *words,
		 const struct hv_unwind_trampolines *trampolines, struct hv_gva *ret, size_t max,
		 bool *ret_early)
{
	struct hv_unwind_frame f = {.sp = words->sp, .bp = words->bp, .ip = words->ip};
	void *ctx = (void *)(uintptr_t)words;
	enum hv_unwound unwound = HV_UNWOUND_CALLER;
	size_t nr = 0;

	f.exact = words->ip.v != 0;
	if (!f.exact)
		unwound = arch->unwind(&arch->entry_rule, word_at, ctx, &f);
	for (size_t steps = 0; unwound == HV_UNWOUND_CALLER && steps < HV_CALLERS_MAX; steps++) {
		struct hv_unwind_rule rule;

		if (!is_trampoline(trampolines, &f)) {
			if (nr == max)
				break;
			/* Init code called the first CPU's idle task. The kernel keeps names and
			 * ORC of init code (__kernel_text_address). */
			if (!hv_orc_is_text(orc, f.ip) && !hv_orc_is_init_text(orc, f.ip)) {
				*ret_early = true;
				return nr;
			}
			ret[nr++] = f.ip;
		}
		rule = rule_of(orc, arch, trampolines, &f);
		unwound = arch->unwind(&rule, word_at, ctx, &f);
	}
	*ret_early = !is_whole(unwound, words, &f);
	return nr;
}

size_t hv_unwind_records(const struct hv_stack_words *words, struct hv_gva *ret, size_t max,
			 bool *ret_early)
{
	size_t nr = 0;

	*ret_early = true;
	while (nr < words->nr && nr < max && words->list[nr].is_text) {
		ret[nr] = hv_gva_add(words->text_base, HV_TEXT_BIT | words->list[nr].value);
		nr++;
	}
	if (nr < words->nr && !words->list[nr].is_text)
		*ret_early = false;
	return nr;
}
