/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/rules_state.h"

#include <string.h>

uint64_t hv_rules_word(const uint8_t *bytes, uint32_t len_bytes)
{
	uint64_t value = 0;

	memcpy(&value, bytes, len_bytes);
	return value;
}

struct hv_err *hv_rules_read(struct hv_rules *r, struct hv_gpa gpa, uint32_t len_bytes,
			     uint8_t *ret)
{
	struct hv_gpa page = hv_gpa(gpa.v & ~(uint64_t)(HV_RULES_PAGE_BYTES - 1));
	uint64_t off = gpa.v - page.v;
	struct hv_err *err = NULL;

	if (off + len_bytes > HV_RULES_PAGE_BYTES)
		return hv_guest_read(r->guest, gpa, ret, len_bytes);
	if (!r->has_page || r->page.v != page.v)
		err = hv_guest_read(r->guest, page, r->bytes, HV_RULES_PAGE_BYTES);
	r->has_page = !err;
	r->page = page;
	if (!err)
		memcpy(ret, r->bytes + off, len_bytes);
	return err;
}

bool hv_rules_is_in_region(const struct hv_rules *r, struct hv_gpa gpa, uint64_t len_bytes)
{
	uint64_t off = gpa.v - r->region.gpa.v;

	return off < r->region.len_bytes && len_bytes <= r->region.len_bytes - off;
}

struct hv_gva_range hv_rules_window(const struct hv_arch *arch)
{
	return arch->free_window.end.v ? arch->free_window : arch->image_window;
}

/* Whether an earlier session mapped AT to the region. Does not read tables in the region, because
 * the service can write to them. */
static bool is_mapped_earlier(struct hv_rules *r, struct hv_gva at, struct hv_leaf *ret)
{
	const struct hv_arch *arch = hv_tables_arch(r->tables);
	struct hv_mapping m;

	if (r->adopts != HV_ADOPTS_EARLIER || !hv_gva_in(at, hv_rules_window(arch)) ||
	    !(arch->make_table ? hv_tables_slot(r->tables, at, &m)
			       : hv_tables_walk(r->tables, at, &m)) ||
	    !m.present || !hv_rules_is_in_region(r, m.gpa, 1))
		return false;
	*ret = (struct hv_leaf){.executable = arch->make_table || m.executable,
				.writable = arch->make_table || m.writable};
	return true;
}

static bool leaf_of(struct hv_rules *r, struct hv_gva at, struct hv_leaf *ret)
{
	const struct hv_leaf *found = hv_leaves_at(&r->leaves, at);

	if (found)
		*ret = *found;
	return found || is_mapped_earlier(r, at, ret);
}

bool hv_rules_is_ours(struct hv_rules *r, struct hv_gva at)
{
	struct hv_leaf leaf;

	return leaf_of(r, at, &leaf);
}

bool hv_rules_is_our_code(struct hv_rules *r, struct hv_gva at)
{
	struct hv_leaf leaf;

	return leaf_of(r, at, &leaf) && leaf.executable;
}

bool hv_rules_is_our_data(struct hv_rules *r, struct hv_gva at)
{
	struct hv_leaf leaf;

	return leaf_of(r, at, &leaf) && leaf.writable;
}

bool hv_rules_is_kernel_code(struct hv_rules *r, struct hv_gva at)
{
	struct hv_mapping m;

	return !hv_rules_is_ours(r, at) && hv_tables_walk(r->tables, at, &m) && m.executable &&
	       !hv_rules_is_in_region(r, m.gpa, 1);
}
