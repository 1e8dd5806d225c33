/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/broker/rules.h"

#include <inttypes.h>
#include <string.h>

#include "vmm/guest.h"
#include "vmm/broker/rules_writes.h"

#define PROOFS_MAX 8

struct hv_rules *hv_rules_new(struct hv_guest *g, enum hv_adopts adopts)
{
	struct hv_rules *r = hv_alloc(sizeof(*r));

	r->guest = g;
	r->adopts = adopts;
	r->tables = hv_tables_new(g);
	return r;
}

void hv_rules_free(struct hv_rules *r)
{
	if (!r)
		return;
	hv_noted_deinit(&r->ranges);
	hv_noted_deinit(&r->counts);
	hv_noted_deinit(&r->bits);
	hv_leaves_deinit(&r->leaves);
	hv_tables_free(r->tables);
	free(r);
}

/* Records the earlier session's journal. The guest can write to it at any time, so each entry is
 * copied once. If several entries have the same address, the first one counts. */
static void adopt(struct hv_rules *r)
{
	const struct hv_journal_entry *journal =
		(const struct hv_journal_entry *)(r->region.host + HV_REGION_JOURNAL_OFF);

	for (size_t i = 0; i < HV_JOURNAL_CAP; i++) {
		struct hv_journal_entry e = journal[i];
		struct hv_noted_range *p;

		if (e.state != HV_JOURNAL_USED || !e.len_bytes || e.len_bytes > HV_SITE_LEN_MAX ||
		    hv_noted_find(&r->ranges, hv_gpa(e.gpa)))
			continue;
		p = hv_noted_add(&r->ranges, hv_gpa(e.gpa), e.len_bytes);
		p->gva = hv_gva(e.gva);
		p->is_journalled = true;
		memcpy(p->before, e.old_bytes, sizeof(p->before));
	}
}

void hv_rules_set_region(struct hv_rules *r, const struct hv_region *region)
{
	r->region = *region;
	if (r->adopts == HV_ADOPTS_EARLIER && !r->has_adopted && region->host &&
	    region->len_bytes >= HV_REGION_KEPT_BYTES)
		adopt(r);
	r->has_adopted = true;
}

static bool is_of_us(void *ctx, struct hv_gva at)
{
	return hv_leaves_at(&((const struct hv_rules *)ctx)->leaves, at);
}

void hv_rules_see(struct hv_rules *r, const struct hv_vcpu_regs *regs, unsigned nr)
{
	hv_tables_see(r->tables, regs, nr, is_of_us, r);
}

static bool is_patched(const struct hv_noted_range *p)
{
	return p->had_pointer || p->is_journalled || memcmp(p->before, p->after, p->len_bytes) != 0;
}

void hv_rules_prepare(struct hv_rules *r)
{
	hv_noted_tidy(&r->ranges, is_patched);
}

/* Whether the guest's tables map the address of W to the memory it writes, as code for text and as
 * writable memory for data. */
static bool is_tied(struct hv_rules *r, const struct hv_hold_write *w)
{
	struct hv_mapping m;

	if (!hv_tables_walk(r->tables, w->gva, &m) || m.gpa.v != w->gpa.v ||
	    m.len_bytes < w->len_bytes)
		return false;
	return w->is_text ? m.executable : m.writable;
}

/* Page-table entries. */

/* Whether ENTRY maps the region: as a leaf, or as a table in the region if leaves at that level are
 * too large. The service may fill such a table freely, like the code in the region.
 *
 * An entry for a single page has the form of an entry that leads to a table, so it must equal the
 * entry that ARCH would make. */
static bool maps_region(const struct hv_rules *r, struct hv_gva at, uint64_t entry,
			struct hv_leaf *ret)
{
	const struct hv_arch *arch = hv_tables_arch(r->tables);
	struct hv_pt_entry e = arch->decode_entry(arch->map_level, entry);
	enum hv_access access = e.executable ? HV_ACCESS_READ_EXECUTE : HV_ACCESS_READ_WRITE;
	uint64_t span = arch->entry_span(arch->map_level);
	bool is_table =
		e.present && !e.leaf && arch->make_table && arch->make_table(entry, e.to) == entry;
	bool is_leaf = e.present && e.leaf && !(e.writable && e.executable);

	if (is_leaf && arch->formats == NULL && arch->map_level == 1)
		is_leaf = arch->make_leaf(1, entry, e.to, access) == entry;
	*ret = (struct hv_leaf){.gva = at,
				.len_bytes = span - at.v % span,
				.to = e.to,
				.executable = is_table || e.executable,
				.writable = is_table || e.writable};
	return (is_table && hv_rules_is_in_region(r, e.to, arch->entry_span(1))) ||
	       (is_leaf && hv_rules_is_in_region(r, e.to, span));
}

/* A leaf must begin at its entry. A table can contain leaves that begin inside its entry, in
 * multiples of the unit in which the region is mapped. */
static bool begins_well(const struct hv_rules *r, struct hv_gva at)
{
	const struct hv_arch *arch = hv_tables_arch(r->tables),
			     *usual = hv_guest_info(r->guest)->arch;
	uint64_t span = arch->entry_span(arch->map_level);
	uint64_t unit = usual->entry_span(usual->map_level);

	return at.v % (span < unit ? span : unit) == 0;
}

static bool is_entry(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_hold_write *w = l->write;
	uint64_t from = hv_rules_word(l->now, w->len_bytes);
	uint64_t to = hv_rules_word(w->bytes, w->len_bytes);
	struct hv_leaf leaf;
	struct hv_mapping m;

	if (w->len_bytes != sizeof(to) || w->is_text ||
	    !hv_tables_walk_to_entry(r->tables, w->gva, &m) || m.entry_gpa.v != w->gpa.v)
		return false;
	if (to == 0)
		return maps_region(r, w->gva, from, &leaf);
	return maps_region(r, w->gva, to, &leaf) && begins_well(r, w->gva) &&
	       (from == 0 || maps_region(r, w->gva, from, &leaf)) &&
	       hv_gva_in(w->gva, hv_rules_range(hv_tables_arch(r->tables)));
}

static void note_entry(struct hv_rules *r, const struct hv_looked *l)
{
	struct hv_leaf leaf;

	hv_tables_keep_format(r->tables);
	if (maps_region(r, l->write->gva, hv_rules_word(l->write->bytes, l->write->len_bytes),
			&leaf))
		hv_leaves_add(&r->leaves, &leaf);
	else
		hv_leaves_remove(&r->leaves, l->write->gva);
}

/* Original contents. */

/* Whether the guest's memory at W already contains a call, jump or pointer into the region. */
static bool is_ours(struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	if (w->is_text)
		return hv_rules_leads_to_us(r, now, w);
	return w->len_bytes == sizeof(uint64_t) &&
	       hv_rules_is_our_word(r, hv_rules_word(now, w->len_bytes));
}

/* Whether the bytes at P equal the last write or the bytes before it: a write that was allowed may
 * not have been made. */
static bool is_as_left(const struct hv_noted_range *p, const uint8_t *now)
{
	return memcmp(now, p->after, p->len_bytes) == 0 || memcmp(now, p->was, p->len_bytes) == 0;
}

/* Whether L restores the original contents. The current bytes must still be the last ones written
 * or lead to the region; otherwise they belong to the guest. An earlier session's journal counts
 * for text only: its other writes are recognized by their contents. */
static bool puts_back(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_hold_write *w = l->write;
	const struct hv_noted_range *p = l->range;

	if (!p || p->len_bytes != w->len_bytes || p->gva.v != w->gva.v ||
	    memcmp(p->before, w->bytes, w->len_bytes) != 0)
		return false;
	if (p->is_journalled)
		return w->is_text && is_ours(r, w, l->now);
	return is_as_left(p, l->now) || is_ours(r, w, l->now);
}

/* Fails if P, which W partly overlaps, is patched: W would change part of the patch and its
 * original contents would be lost. */
static struct hv_err *check_other(struct hv_rules *r, const struct hv_noted_range *p)
{
	uint8_t now[HV_SITE_LEN_MAX];
	struct hv_err *err = p->is_journalled ? NULL : hv_rules_read(r, p->gpa, p->len_bytes, now);

	if (err || p->is_journalled || !is_as_left(p, now) ||
	    memcmp(now, p->before, p->len_bytes) == 0)
		return err;
	return hv_err_new(EPERM, "a part of the patch at 0x%" PRIx64 " would be changed", p->gpa.v);
}

/* Finds the record of the bytes that L writes. */
static struct hv_err *find_range(struct hv_rules *r, struct hv_looked *l)
{
	struct hv_noted_range *p;
	struct hv_err *err = NULL;
	uint64_t next = 0;

	while (!err &&
	       (p = hv_noted_overlapping(&r->ranges, l->write->gpa, l->write->len_bytes, &next))) {
		if (p->gpa.v == l->write->gpa.v)
			l->range = p;
		if (p->gpa.v != l->write->gpa.v || p->len_bytes != l->write->len_bytes)
			err = check_other(r, p);
	}
	return err;
}

static enum hv_write_kind kind_of(struct hv_rules *r, const struct hv_looked *l)
{
	if (is_entry(r, l))
		return HV_WRITE_PAGE_TABLE;
	if (!is_tied(r, l->write))
		return HV_WRITE_REFUSED;
	if (puts_back(r, l))
		return HV_WRITE_BACK;
	return l->write->is_text ? hv_rules_text(r, l) : hv_rules_data(r, l);
}

static struct hv_err *refused(const struct hv_hold_write *w)
{
	return hv_err_new(EPERM,
			  "a write of %u bytes of %s at guest physical 0x%" PRIx64 " (0x%" PRIx64
			  ") is against the rules",
			  w->len_bytes, w->is_text ? "text" : "data", w->gpa.v, w->gva.v);
}

static struct hv_err *read_now(struct hv_rules *r, struct hv_looked *l)
{
	struct hv_err *err = NULL;

	if (hv_rules_is_in_region(r, l->write->gpa, l->write->len_bytes)) {
		l->kind = HV_WRITE_OF_REGION;
		return NULL;
	}
	err = hv_rules_read(r, l->write->gpa, l->write->len_bytes, l->now);
	if (!err && memcmp(l->now, l->write->bytes, l->write->len_bytes) == 0)
		l->kind = HV_WRITE_SAME;
	return err;
}

static bool changes_nothing(const struct hv_looked *l)
{
	return l->kind == HV_WRITE_OF_REGION || l->kind == HV_WRITE_SAME;
}

static struct hv_err *judge(struct hv_rules *r, struct hv_looked *l)
{
	struct hv_err *err;

	if (changes_nothing(l))
		return NULL;
	err = find_range(r, l);
	if (!err)
		l->kind = kind_of(r, l);
	return err || l->kind != HV_WRITE_REFUSED ? err : refused(l->write);
}

/* Records the current bytes as the original ones, unless hvtrace wrote them: the guest may have
 * changed them since the last record. */
static void note_bytes(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_hold_write *w = l->write;
	struct hv_noted_range *p = l->range;
	bool keeps = p && p->len_bytes == w->len_bytes && p->gva.v == w->gva.v &&
		     (p->is_journalled || is_as_left(p, l->now) || is_ours(r, w, l->now));

	if (!p)
		p = hv_noted_add(&r->ranges, w->gpa, w->len_bytes);

	if (!keeps)
		*p = (struct hv_noted_range){.gpa = w->gpa,
					     .gva = w->gva,
					     .len_bytes = (uint8_t)w->len_bytes,
					     .had_pointer = p->had_pointer};
	if (!keeps)
		memcpy(p->before, l->now, w->len_bytes);
	if (l->kind == HV_WRITE_POINTER)
		p->had_pointer = true;
	memcpy(p->was, l->now, w->len_bytes);
	memcpy(p->after, w->bytes, w->len_bytes);
}

static void note_led(struct hv_rules *r, struct hv_led led)
{
	for (size_t i = 0; i < r->nr_led && i < HV_RULES_LED_MAX; i++)
		if (r->led[i].from == led.from && r->led[i].to == led.to)
			return;
	r->led[r->nr_led++ % HV_RULES_LED_MAX] = led;
}

static void note(struct hv_rules *r, const struct hv_looked *l)
{
	switch (l->kind) {
	case HV_WRITE_PAGE_TABLE:
		note_entry(r, l);
		break;
	case HV_WRITE_COUNT:
		hv_rules_note_count(r, l);
		break;
	case HV_WRITE_BIT:
		hv_rules_note_bit(r, l);
		break;
	case HV_WRITE_LED:
		note_led(r, hv_rules_led(r, l));
		note_bytes(r, l);
		break;
	case HV_WRITE_NO_CALLBACK:
		r->no_callback = hv_rules_word(l->write->bytes, l->write->len_bytes);
		note_bytes(r, l);
		break;
	case HV_WRITE_BACK:
	case HV_WRITE_LEADS:
	case HV_WRITE_KEY:
	case HV_WRITE_LED_WORD:
	case HV_WRITE_POINTER:
		note_bytes(r, l);
		break;
	case HV_WRITE_SAME: /* the record keeps the original contents */
	case HV_WRITE_RETURN:
	case HV_WRITE_OF_REGION:
	case HV_WRITE_REFUSED:
		break;
	}
}

/* Lists of writes. */

static bool is_about_entries(const struct hv_looked *looked, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!changes_nothing(&looked[i]) &&
		    (looked[i].write->is_text || looked[i].write->len_bytes != sizeof(uint64_t)))
			return false;
	return true;
}

static bool change_nothing(const struct hv_looked *looked, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!changes_nothing(&looked[i]))
			return false;
	return true;
}

/* Finds the kernel's page tables. Uses several leaves as proofs, because some may never have been
 * written. While the region is being mapped, that can be true of all leaves, so a list of
 * page-table entries may use tables without such a proof. */
static struct hv_err *find_tables(struct hv_rules *r, const struct hv_vcpu_regs *regs,
				  unsigned nr_vcpus, const struct hv_looked *looked, size_t nr)
{
	struct hv_table_proof proofs[PROOFS_MAX];
	size_t nr_proofs = r->leaves.nr < PROOFS_MAX ? r->leaves.nr : PROOFS_MAX;

	for (size_t i = 0; i < nr_proofs; i++) {
		const struct hv_leaf *leaf = &r->leaves.list[i * r->leaves.nr / nr_proofs];

		proofs[i] = (struct hv_table_proof){leaf->gva, leaf->to};
	}
	hv_tables_begin(r->tables, regs, nr_vcpus, proofs, nr_proofs);
	if (!hv_tables_are_known(r->tables) && nr_proofs && is_about_entries(looked, nr))
		hv_tables_begin(r->tables, regs, nr_vcpus, NULL, 0);
	if (hv_tables_are_known(r->tables))
		return NULL;
	return hv_err_new(EBUSY, "no vCPU is known to use the kernel's page tables now; retry");
}

static struct hv_err *check_order(const struct hv_rules *r, const struct hv_hold_write *writes,
				  size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (writes[i].gpa.v - writes[i - 1].gpa.v < writes[i - 1].len_bytes &&
		    !hv_rules_is_in_region(r, writes[i].gpa, writes[i].len_bytes))
			return hv_err_new(EPERM, "two writes overlap at guest physical 0x%" PRIx64,
					  writes[i].gpa.v);
	return NULL;
}

static struct hv_err *check_room(const struct hv_rules *r, size_t nr)
{
	if (r->ranges.nr + nr <= HV_NOTED_MAX && r->counts.nr + nr <= HV_NOTED_MAX)
		return NULL;
	return hv_err_new(EPERM, "more than %u addresses are written", HV_NOTED_MAX);
}

bool hv_rules_need_registers(const struct hv_rules *r, const struct hv_hold_write *writes,
			     size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!hv_rules_is_in_region(r, writes[i].gpa, writes[i].len_bytes))
			return true;
	return false;
}

static struct hv_err *judge_all(struct hv_rules *r, const struct hv_vcpu_regs *regs,
				unsigned nr_vcpus, struct hv_looked *looked, size_t nr)
{
	struct hv_err *err = find_tables(r, regs, nr_vcpus, looked, nr);

	for (size_t i = 0; !err && i < nr; i++)
		err = judge(r, &looked[i]);
	for (size_t i = 0; !err && i < nr; i++)
		note(r, &looked[i]);
	return err;
}

struct hv_err *hv_rules_check(struct hv_rules *r, const struct hv_vcpu_regs *regs,
			      unsigned nr_vcpus, const struct hv_hold_write *writes, size_t nr)
{
	HV_AUTO_FREE struct hv_looked *looked = hv_alloc((nr + 1) * sizeof(*looked));
	struct hv_err *err = check_order(r, writes, nr);

	hv_rules_see(r, regs, nr_vcpus);
	r->has_page = false;
	for (size_t i = 0; !err && i < nr; i++) {
		looked[i].write = &writes[i];
		err = read_now(r, &looked[i]);
	}
	if (err || change_nothing(looked, nr))
		return err;
	err = check_room(r, nr);
	if (!err)
		hv_noted_reserve(&r->ranges, nr);
	return err ? err : judge_all(r, regs, nr_vcpus, looked, nr);
}
