/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/page_walk.h"

#include <assert.h>

struct hv_err *hv_page_walk(const struct hv_page_tables *t, struct hv_gva gva, unsigned entry_level,
			    hv_read_entry_fn read, void *ctx, struct hv_mapping *ret)
{
	struct hv_mapping m = {.writable = true, .executable = true};
	struct hv_gpa table = t->root;

	assert(t->levels > 0 && t->levels <= HV_PAGE_LEVELS_MAX);
	for (unsigned level = t->levels; level > 0; level--) {
		uint64_t span = t->arch->entry_span(level);
		uint64_t within = gva.v & (span - 1);
		struct hv_pt_entry e;
		struct hv_err *err;

		m.level = level;
		m.entry_gpa = t->arch->entry_at(table, level, gva);
		m.len_bytes = span - within;
		err = read(ctx, m.entry_gpa, &m.entry);
		if (err)
			return hv_err_in(err, "page table of level %u for 0x%llx", level,
					 (unsigned long long)gva.v);
		e = t->arch->decode_entry(level, m.entry);
		/* At the last level, the CPU accepts only leaves. */
		if (!e.present || (level == 1 && !e.leaf)) {
			m.writable = m.executable = false;
			break;
		}
		m.writable = m.writable && e.writable;
		m.executable = m.executable && e.executable;
		if (e.leaf) {
			m.present = true;
			m.gpa = hv_gpa_add(e.to, within);
			break;
		}
		table = e.to;
		if (level == entry_level) {
			m.present = true;
			m.gpa = table;
			break;
		}
	}
	*ret = m;
	return NULL;
}
