/* What an hvtrace that died left: whose the journal in the region is, and putting it back. The
 * journal is hostile (the guest's root can write it), so an entry is believed only when what it
 * would undo is plainly ours: a site that calls our mapping, a slot that maps our region. */
#include "tracer/session_state.h"
#include "tracer/yield.h"

#include <string.h>

/* The header says where our mapping was; the guest's page tables say whether it still is. */
static bool header_is_sane(const struct hv_kernel *k, const struct hv_region *region,
			   const struct hv_region_header *h)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level);

	return h->version == HV_REGION_VERSION && h->gpa == region->gpa.v &&
	       h->nr_entries <= HV_JOURNAL_CAP && h->map_gva % span == 0 && h->map_len_bytes &&
	       h->map_len_bytes % span == 0 &&
	       h->map_len_bytes <= region->len_bytes - HV_REGION_STUBS_OFF &&
	       h->handler_gva - h->map_gva < h->map_len_bytes &&
	       h->map_gva >= arch->free_window.start.v &&
	       h->map_gva <= arch->free_window.end.v - h->map_len_bytes;
}

static bool same_boot(const struct hv_kernel *k, const struct hv_region_header *h)
{
	return h->text_gva == k->text.start.v && h->build_id_len_bytes == k->build_id_len_bytes &&
	       memcmp(h->build_id, k->build_id, k->build_id_len_bytes) == 0;
}

/* A slot of the range that leads into the region: something of ours may be mapped. */
static struct hv_err *any_slot_stands(const struct hv_kernel *k, const struct hv_region *region,
				      struct hv_gva_range range, bool *ret)
{
	uint64_t span = k->core.as.arch->entry_span(k->core.as.arch->map_level);

	*ret = false;
	for (struct hv_gva at = range.start; at.v < range.end.v; at = hv_gva_add(at, span)) {
		struct hv_mapping m;
		struct hv_err *err = hv_walk(&k->core.as, at, &m);

		if (err)
			return err;
		if (m.present && m.gpa.v - region->gpa.v < region->len_bytes)
			*ret = true;
	}
	return NULL;
}

static struct hv_gva_range range_of(const struct hv_region_header *h)
{
	return (struct hv_gva_range){hv_gva(h->map_gva), hv_gva(h->map_gva + h->map_len_bytes)};
}

struct hv_err *hv_region_check_not_mapped(const struct hv_kernel *k, const struct hv_region *region)
{
	bool stands;
	struct hv_err *err = any_slot_stands(k, region, k->core.as.arch->free_window, &stands);

	if (!err && stands)
		err = hv_err_new(EUCLEAN,
				 "region: the guest's page tables lead into it, but its journal"
				 " is gone: only a reboot of the guest frees it");
	return err;
}

struct hv_err *hv_region_use(const struct hv_kernel *k, const struct hv_region *region,
			     struct hv_region_header *ret, enum hv_region_use *ret_use)
{
	bool stands;
	struct hv_err *err;

	*ret = *hv_region_header(region);
	if (memcmp(ret->magic, HV_REGION_MAGIC, sizeof(HV_REGION_MAGIC)) != 0) {
		*ret_use = HV_REGION_UNUSED;
		return hv_region_check_not_mapped(k, region);
	}
	if (!header_is_sane(k, region, ret) || !same_boot(k, ret)) {
		*ret_use = HV_REGION_STALE;
		return hv_region_check_not_mapped(k, region);
	}
	err = any_slot_stands(k, region, range_of(ret), &stands);
	if (!err)
		*ret_use = stands ? HV_REGION_LIVE : HV_REGION_STALE;
	return err;
}

struct hv_err *hv_session_call_stands(struct hv_session *s, struct hv_journal_entry *e, bool *ret)
{
	const struct hv_arch *arch = s->kernel->core.as.arch;
	struct hv_gva at = hv_gva(e->gva), target = {0};
	uint8_t now[HV_SITE_LEN_MAX];
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (e->len_bytes != arch->site_len_bytes)
		return NULL;
	err = hv_walk(&s->kernel->core.as, at, &m);
	if (err || !m.present || !m.executable || m.gpa.v != e->gpa)
		return err;
	err = hv_guest_read(s->guest, m.gpa, now, e->len_bytes);
	if (err)
		return err;
	*ret = arch->classify_site(now, at, &target) == HV_SITE_CALL && hv_gva_in(target, s->range);
	memcpy(e->new_bytes, now, e->len_bytes);
	return NULL;
}

/* A site of ours: its bytes call our mapping, and the journal would make it a nop. */
static struct hv_err *site_is_ours(struct hv_session *s, struct hv_journal_entry *e, bool *ret)
{
	struct hv_gva target;

	*ret = false;
	if (s->kernel->core.as.arch->classify_site(e->old_bytes, hv_gva(e->gva), &target) !=
	    HV_SITE_NOP)
		return NULL;
	return hv_session_call_stands(s, e, ret);
}

static struct hv_err *slot_is_ours(struct hv_session *s, const struct hv_journal_entry *e,
				   bool *ret)
{
	static const uint8_t empty[8];
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (e->len_bytes != sizeof(uint64_t) || !hv_gva_in(hv_gva(e->gva), s->range) ||
	    memcmp(e->old_bytes, empty, sizeof(empty)) != 0)
		return NULL;
	err = hv_walk(&s->kernel->core.as, hv_gva(e->gva), &m);
	if (err)
		return err;
	*ret = m.present && m.entry_gpa.v == e->gpa &&
	       m.gpa.v - s->region.gpa.v < s->region.len_bytes &&
	       memcmp(e->new_bytes, &m.entry, sizeof(m.entry)) == 0;
	return NULL;
}

/* A copy of the journal in which only what is ours is still used. */
static struct hv_err *check_journal(struct hv_session *s, struct hv_journal_entry *entries,
				    uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		bool ours = false;
		struct hv_err *err = NULL;

		if (entries[i].state != HV_JOURNAL_USED)
			continue;
		if (entries[i].kind == HV_CHANGE_TEXT)
			err = site_is_ours(s, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_YIELD)
			err = hv_yield_is_ours(s, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_ENTRY)
			err = slot_is_ours(s, &entries[i], &ours);
		if (err)
			return err;
		if (!ours)
			entries[i].state = HV_JOURNAL_FREE;
	}
	return NULL;
}

static void free_session_at(struct hv_session **s)
{
	hv_session_free(*s);
}

static struct hv_err *restore_from(struct hv_session *s, const struct hv_region_header *header,
				   struct hv_text *report)
{
	size_t len = header->nr_entries * sizeof(struct hv_journal_entry);
	HV_AUTO_FREE struct hv_journal_entry *entries = hv_alloc(len);
	struct hv_err *err;

	memcpy(entries, hv_region_journal(&s->region), len);
	s->range = range_of(header);
	s->decode.handler = hv_gva(header->handler_gva);
	err = check_journal(s, entries, header->nr_entries);
	if (!err)
		err = hv_guest_prepare_hold(s->guest);
	if (!err)
		err = hv_guest_pin(s->guest);
	if (err)
		return err;
	hv_session_bind(s);
	hv_patcher_adopt(s->patcher, entries, header->nr_entries);
	return hv_session_restore(s, report);
}

struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report, bool *ret_found)
{
	hv_cleanup(free_session_at) struct hv_session *s = NULL;
	struct hv_region_header header;
	enum hv_region_use use;
	struct hv_err *err = hv_session_new(guest, kernel, &s);

	if (!err)
		err = hv_region_use(kernel, &s->region, &header, &use);
	if (err)
		return err;
	*ret_found = use != HV_REGION_UNUSED;
	if (use == HV_REGION_LIVE)
		return restore_from(s, &header, report);
	if (use == HV_REGION_STALE) {
		hv_text_add(report, "the region's journal is of an earlier boot: cleared\n");
		err = hv_region_clear(&s->region);
	}
	return err ? err : hv_guest_unpin(guest);
}
