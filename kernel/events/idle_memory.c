/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/idle_memory.h"

#include "base/prefix.h"
#include "kernel/core/orc_form.h"
#include "kernel/events/static_sites.h"
#include "kernel/kernel.h"

/* The jump that a static call's callers use if they are not patched themselves (ARCH_STATIC_CALL_*
 * in arch/x86/include/asm/static_call.h). */
#define STATIC_CALL_PREFIX "__SCT__"

/* A member of a table's entries that contains the address of the code. */
struct code_member {
	const struct hv_site_table *table;
	uint32_t off;
	bool is_relative; /* an s32, relative to its own address; otherwise a u64 */
};

static void note_table(struct hv_kernel *k, const struct code_member *m)
{
	struct hv_gva start, stop;
	struct hv_span table;

	if (!hv_core_symbol(&k->core, m->table->start, &start) ||
	    !hv_core_symbol(&k->core, m->table->stop, &stop) || stop.v <= start.v ||
	    !m->table->entry_len_bytes)
		return;
	table = hv_image_part(&k->core.image, start, stop.v - start.v);
	for (size_t off = m->off; off < table.len_bytes; off += m->table->entry_len_bytes) {
		uint64_t code = 0;
		uint32_t distance = 0;

		if (m->is_relative && hv_span_u32(table, off, &distance))
			code = start.v + off + (uint64_t)(int64_t)(int32_t)distance;
		else if (!m->is_relative)
			hv_span_u64(table, off, &code);
		hv_image_note_code(&k->core.image, hv_gva(code));
	}
}

static void note_patched_code(struct hv_kernel *k)
{
	struct hv_jump_layout jump;
	struct hv_call_layout call;
	HV_AUTO_ERR struct hv_err *no_jumps = hv_jump_layout_find(k, &jump);
	HV_AUTO_ERR struct hv_err *no_calls = hv_call_layout_find(k, &call);

	for (size_t i = 0; i < k->sites.nr; i++)
		hv_image_note_code(&k->core.image, k->sites.list[i].ip);
	if (!no_jumps)
		note_table(k, &(struct code_member){&jump.table, jump.code, jump.is_relative});
	if (!no_calls)
		note_table(k, &(struct code_member){&call.table, call.site_code, true});
	for (size_t i = 0; i < k->core.symbols.nr; i++)
		if (hv_starts_with(k->core.symbols.by_addr[i].name, STATIC_CALL_PREFIX))
			hv_image_note_code(&k->core.image, k->core.symbols.by_addr[i].addr);
}

/* Loads the types. Returns false if the guest has changed them since they were checked: then they
 * are not used. */
static bool use_types(void *ctx)
{
	struct hv_kernel *k = ctx;
	struct hv_idle_types *t = &k->idle_types;
	struct hv_err *err;

	if (t->nr_releases == hv_image_use(&k->core.image))
		return t->are_same;
	err = hv_image_load_again(&k->core.image, t->range);
	if (err) {
		hv_err_free(err);
		return false;
	}
	t->nr_releases = hv_image_use(&k->core.image);
	t->are_same = !hv_image_has_changed(&k->core.image, t->range);
	return t->are_same;
}

/* BTF that is not in the image is in memory of its own. */
static void release_types(struct hv_kernel *k)
{
	struct hv_gva_range range;

	if (k->core.types.from != HV_TYPES_IN_MEMORY ||
	    !hv_core_symbol(&k->core, "__start_BTF", &range.start) ||
	    !hv_core_symbol(&k->core, "__stop_BTF", &range.end))
		return;
	k->idle_types = (struct hv_idle_types){range, hv_image_use(&k->core.image), true};
	hv_btf_load_with(k->core.btf, use_types, k);
	hv_image_unhold(&k->core.image, range);
}

void hv_idle_memory_begin(struct hv_kernel *k, hv_image_put_back_fn fn, void *ctx)
{
	note_patched_code(k);
	release_types(k);
	hv_image_allow_release(&k->core.image, fn, ctx);
}

void hv_idle_memory_load(struct hv_kernel *k)
{
	const struct hv_orc_found *found = k->core.orc;
	struct hv_orc_table unused;

	if (k->idle_types.range.end.v)
		(void)use_types(k);
	if (found && found->was_sought && !found->none)
		(void)hv_orc_image_table(&k->core, &found->form, &unused);
}

void hv_idle_memory_end(struct hv_kernel *k)
{
	hv_image_forbid_release(&k->core.image);
}

bool hv_idle_memory_release_some(const struct hv_kernel *k)
{
	return hv_image_release_some(&k->core.image);
}
