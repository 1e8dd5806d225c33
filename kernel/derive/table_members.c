/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/kprobes.h, arch/x86/include/asm/extable.h,
 * arch/arm64/include/asm/extable.h. */
#include "kernel/derive/table_members.h"

#include "kernel/core/fields.h"

#define ENTRIES_MIN 100u
#define BLACK_START 16u
#define BLACK_END   24u
#define BLACK_MAX   100000u

static void add(struct hv_deriving *d, const char *type, const char *member, uint32_t off,
		uint32_t len_bytes, const char *of)
{
	hv_facts_add(&d->facts,
		     &(struct hv_fact){type, member, off, len_bytes, of, HV_PROVED_BY_MEMORY});
}

static uint64_t target_of(struct hv_span table, uint64_t start, uint32_t off)
{
	return start + off + (uint64_t)(int64_t)(int32_t)hv_copy_u32(table, off);
}

/* An entry begins with the distances to an instruction and to where the kernel continues after a
 * fault there. The kernel sorts the table by the first. */
static bool is_exception_table(const struct hv_kernel_core *core, struct hv_span table,
			       uint64_t start, uint32_t entry_bytes)
{
	uint64_t before = 0;

	if (table.len_bytes % entry_bytes || table.len_bytes / entry_bytes < ENTRIES_MIN)
		return false;
	for (uint32_t off = 0; off < table.len_bytes; off += entry_bytes) {
		uint64_t insn = target_of(table, start, off),
			 fixup = target_of(table, start, off + 4);

		if (insn < before || !hv_gva_in(hv_gva(insn), core->image.text) ||
		    !hv_gva_in(hv_gva(fixup), core->image.text))
			return false;
		before = insn;
	}
	return true;
}

static void derive_exceptions(struct hv_deriving *d)
{
	static const char type[] = "exception_table_entry";
	struct hv_gva start, end;
	struct hv_span table;

	if (!hv_core_symbol(d->core, "__start___ex_table", &start) ||
	    !hv_core_symbol(d->core, "__stop___ex_table", &end) || end.v < start.v)
		return;
	table = hv_image_at(&d->core->image, start);
	if (end.v - start.v > table.len_bytes || end.v - start.v > UINT32_MAX / 2)
		return;
	table.len_bytes = end.v - start.v;
	for (uint32_t entry_bytes = 8; entry_bytes <= 12; entry_bytes += 4) {
		if (!is_exception_table(d->core, table, start.v, entry_bytes))
			continue;
		add(d, type, "insn", 0, 4, NULL);
		add(d, type, "fixup", 4, 4, NULL);
		if (entry_bytes > 8)
			add(d, type, "data", 8, entry_bytes - 8, NULL);
		return;
	}
}

/* The functions that the guest must not probe: an entry has the links of the list, and the start
 * and end of code. */
static void derive_blacklist(struct hv_deriving *d)
{
	static const char type[] = "kprobe_blacklist_entry";
	const struct hv_address_space *as = &d->core->as;
	uint64_t at = 0, entry[BLACK_END / 8 + 1];
	struct hv_gva head;
	unsigned nr = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_core_symbol(d->core, "kprobe_blacklist", &head))
		return;
	err = hv_read_u64(as, head, &at);
	for (; !err && at != head.v && nr < BLACK_MAX; nr++) {
		err = hv_read(as, hv_gva(at), entry, sizeof(entry));
		if (err || entry[BLACK_START / 8] >= entry[BLACK_END / 8] ||
		    entry[BLACK_START / 8] < as->arch->kernel_start(as->levels).v)
			return;
		at = entry[0];
	}
	if (err || at != head.v || nr < ENTRIES_MIN)
		return;
	add(d, type, "list", 0, 16, "list_head");
	add(d, type, "start_addr", BLACK_START, 8, NULL);
	add(d, type, "end_addr", BLACK_END, 8, NULL);
}

void hv_table_members_derive(struct hv_deriving *d)
{
	derive_exceptions(d);
	derive_blacklist(d);
}
