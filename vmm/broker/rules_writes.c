/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single writes: the ranges that were written, and the rules about writes of code and of data. */
#include "vmm/broker/rules_writes.h"

#include <string.h>

#include "base/guard.h"

/* -- ranges that were written ------------------------------------------------------------------ */

/* An open-addressed hash table. The key of a range is its cell: the aligned eight bytes in which it
 * begins. The home of a cell is the entry to which it hashes; the search continues from there. A
 * range can only overlap ranges of at most three cells. Cells of a page have neighboring homes, so
 * a list of writes, which is sorted by address, touches few pages of the table. */
#define CELL_SHIFT  3
#define PAGE_SHIFT  12
#define HOMES_SHIFT 6 /* a page's cells have 2^6 different home entries */
#define BUCKETS_MIN 1024u
#define ROOM_MIN    2048u /* ranges that can be added after hv_noted_tidy() before the table grows */

static uint64_t cell_of(struct hv_gpa gpa)
{
	return gpa.v >> CELL_SHIFT;
}

static size_t home(const struct hv_noted *p, uint64_t cell)
{
	uint64_t page = cell >> (PAGE_SHIFT - CELL_SHIFT);
	uint64_t in_page =
		cell >> (PAGE_SHIFT - CELL_SHIFT - HOMES_SHIFT) & ((1 << HOMES_SHIFT) - 1);

	return (size_t)((page * 0x9e3779b97f4a7c15u >> 20 << HOMES_SHIFT) + in_page) &
	       (p->nr_buckets - 1);
}

void hv_noted_deinit(struct hv_noted *p)
{
	free(p->table);
	*p = (struct hv_noted){0};
}

/* Returns the entry of GPA, or the unused entry where it would be added. */
static struct hv_noted_range *entry_of(const struct hv_noted *p, struct hv_gpa gpa)
{
	size_t at = home(p, cell_of(gpa));

	while (p->table[at].len_bytes && p->table[at].gpa.v != gpa.v)
		at = (at + 1) & (p->nr_buckets - 1);
	return &p->table[at];
}

struct hv_noted_range *hv_noted_find(const struct hv_noted *p, struct hv_gpa gpa)
{
	struct hv_noted_range *found = p->nr_buckets ? entry_of(p, gpa) : NULL;

	return found && found->len_bytes ? found : NULL;
}

/* Touches each page now, because the first write to a page faults, and that must not happen in a
 * hold. */
static struct hv_noted_range *make_table(size_t nr_buckets)
{
	struct hv_noted_range *table = hv_alloc(nr_buckets * sizeof(*table));

	for (size_t at = 0; at < nr_buckets; at += 4096 / sizeof(*table))
		*(volatile uint8_t *)&table[at].len_bytes = 0;
	return table;
}

static void rebuild(struct hv_noted *p, size_t nr_buckets,
		    bool (*keep)(const struct hv_noted_range *))
{
	struct hv_noted old = *p;

	*p = (struct hv_noted){.table = make_table(nr_buckets), .nr_buckets = nr_buckets};
	for (size_t i = 0; i < old.nr_buckets; i++)
		if (old.table[i].len_bytes && (!keep || keep(&old.table[i]))) {
			*entry_of(p, old.table[i].gpa) = old.table[i];
			p->nr++;
		}
	hv_noted_deinit(&old);
}

void hv_noted_reserve(struct hv_noted *p, size_t nr)
{
	size_t nr_buckets = p->nr_buckets ? p->nr_buckets : BUCKETS_MIN;

	while (2 * (p->nr + nr) > nr_buckets)
		nr_buckets *= 2;
	if (nr_buckets > p->nr_buckets)
		rebuild(p, nr_buckets, NULL);
}

struct hv_noted_range *hv_noted_add(struct hv_noted *p, struct hv_gpa gpa, uint32_t len_bytes)
{
	struct hv_noted_range *range;

	hv_noted_reserve(p, 1);
	range = entry_of(p, gpa);
	if (!range->len_bytes) {
		*range = (struct hv_noted_range){.gpa = gpa, .len_bytes = (uint8_t)len_bytes};
		p->nr++;
	}
	return range;
}

/* The upper half of *NEXT is the number of the cell, from the first one that can overlap; the lower
 * half is the number of the entry, from the cell's home. Skips a cell with the same home as the one
 * before it, because its entries were searched already. */
struct hv_noted_range *hv_noted_overlapping(const struct hv_noted *p, struct hv_gpa gpa,
					    uint32_t len_bytes, uint64_t *next)
{
	uint64_t first = gpa.v < HV_SITE_LEN_MAX ? 0 : cell_of(hv_gpa(gpa.v - HV_SITE_LEN_MAX + 1));
	uint64_t last = cell_of(hv_gpa_add(gpa, len_bytes - 1));

	while (p->nr_buckets && first + (*next >> 32) <= last) {
		uint64_t cell = first + (*next >> 32);
		size_t start = home(p, cell), at = (start + (uint32_t)*next) & (p->nr_buckets - 1);
		struct hv_noted_range *range = &p->table[at];

		if (!range->len_bytes || (cell > first && start == home(p, cell - 1))) {
			*next = ((*next >> 32) + 1) << 32;
			continue;
		}
		++*next;
		if (range->gpa.v < gpa.v + len_bytes && gpa.v < range->gpa.v + range->len_bytes)
			return range;
	}
	return NULL;
}

void hv_noted_tidy(struct hv_noted *p, bool (*keep)(const struct hv_noted_range *range))
{
	size_t nr_buckets = BUCKETS_MIN;

	if (p->nr_buckets && 2 * (p->nr + ROOM_MIN / 2) < p->nr_buckets)
		return;
	if (p->nr_buckets)
		rebuild(p, p->nr_buckets, keep);
	while (4 * p->nr + 2 * ROOM_MIN > nr_buckets)
		nr_buckets *= 2;
	if (nr_buckets > p->nr_buckets)
		rebuild(p, nr_buckets, NULL);
}

/* -- state ------------------------------------------------------------------------------------- */

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

struct hv_gva_range hv_rules_range(const struct hv_arch *arch)
{
	return arch->free_range.end.v ? arch->free_range : arch->image_range;
}

/* Whether an earlier session mapped AT to the region. Does not read tables in the region, because
 * the service can write to them. */
static bool is_mapped_earlier(struct hv_rules *r, struct hv_gva at, struct hv_leaf *ret)
{
	const struct hv_arch *arch = hv_tables_arch(r->tables);
	struct hv_mapping m;

	if (r->adopts != HV_ADOPTS_EARLIER || !hv_gva_in(at, hv_rules_range(arch)) ||
	    !(arch->make_table ? hv_tables_walk_to_entry(r->tables, at, &m)
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

/* Whether AT is in the region. */
static bool rules_is_ours(struct hv_rules *r, struct hv_gva at)
{
	struct hv_leaf leaf;

	return leaf_of(r, at, &leaf);
}

/* Whether AT is in the executable part of the region. */
static bool rules_is_our_code(struct hv_rules *r, struct hv_gva at)
{
	struct hv_leaf leaf;

	return leaf_of(r, at, &leaf) && leaf.executable;
}

/* Whether AT is in the data of the region. */
static bool rules_is_our_data(struct hv_rules *r, struct hv_gva at)
{
	struct hv_leaf leaf;

	return leaf_of(r, at, &leaf) && leaf.writable;
}

/* Whether AT is in the kernel's own code. */
static bool rules_is_kernel_code(struct hv_rules *r, struct hv_gva at)
{
	struct hv_mapping m;

	return !rules_is_ours(r, at) && hv_tables_walk(r->tables, at, &m) && m.executable &&
	       !hv_rules_is_in_region(r, m.gpa, 1);
}

/* -- writes of code ---------------------------------------------------------------------------- */

#define KEY_REACH_BYTES (16ull << 20) /* from a static key to the target of its jump */

static const struct hv_arch *arch_of(const struct hv_rules *r)
{
	return hv_tables_arch(r->tables);
}

static enum hv_site_kind classify(const struct hv_rules *r, const uint8_t *code,
				  const struct hv_hold_write *w, struct hv_gva *ret_target)
{
	*ret_target = hv_gva(0);
	return arch_of(r)->classify_site(code, w->gva, ret_target);
}

/* Whether CODE, a jump to TARGET, is a complete patch: a bare jump of a site's length, or the
 * output of encode_detour_jump() for an instruction of some length. */
static bool is_detour_jump(const struct hv_rules *r, const uint8_t *code,
			   const struct hv_hold_write *w, struct hv_gva target)
{
	const struct hv_arch *arch = arch_of(r);
	uint8_t jump[HV_DETOUR_PATCH_MAX];

	if (w->len_bytes == arch->site_len_bytes)
		return true;
	for (size_t len = 1; arch->encode_detour_jump && len <= HV_DETOUR_INSN_MAX; len++)
		if (arch->encode_detour_jump(len, w->gva, target, jump) == w->len_bytes &&
		    memcmp(jump, code, w->len_bytes) == 0)
			return true;
	return false;
}

/* Returns the kind of CODE if it is a call of or jump into the region, or an unused site that
 * contains an address in it (riscv64); otherwise HV_SITE_OTHER. */
static enum hv_site_kind kind_to_us(struct hv_rules *r, const uint8_t *code,
				    const struct hv_hold_write *w)
{
	struct hv_gva target;
	enum hv_site_kind kind;
	bool is_site = w->len_bytes == arch_of(r)->site_len_bytes;

	if (w->len_bytes < arch_of(r)->site_len_bytes)
		return HV_SITE_OTHER;
	kind = classify(r, code, w, &target);
	if (!rules_is_our_code(r, target))
		return HV_SITE_OTHER;
	if (kind == HV_SITE_JUMP)
		return is_detour_jump(r, code, w, target) ? kind : HV_SITE_OTHER;
	return is_site && (kind == HV_SITE_CALL || kind == HV_SITE_NOP) ? kind : HV_SITE_OTHER;
}

bool hv_rules_leads_to_us(struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w)
{
	return kind_to_us(r, code, w) != HV_SITE_OTHER;
}

/* A call may replace an unused site or another call. A jump may replace any instructions, because
 * the region contains the code that replaces them. */
static bool leads(struct hv_rules *r, const struct hv_looked *l)
{
	enum hv_site_kind was, kind = kind_to_us(r, l->write->bytes, l->write);
	struct hv_gva before;

	if (kind == HV_SITE_OTHER || kind == HV_SITE_JUMP)
		return kind == HV_SITE_JUMP;
	was = classify(r, l->now, l->write, &before);
	return was == HV_SITE_NOP || was == HV_SITE_CALL;
}

/* Whether CODE is a static key's jump, as long as W, to the kernel's own code. */
static bool is_key_jump(struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w)
{
	const struct hv_arch *arch = arch_of(r);
	uint8_t jump[HV_SITE_LEN_MAX];
	struct hv_gva target;

	if (w->len_bytes == arch->site_len_bytes)
		return classify(r, code, w, &target) == HV_SITE_JUMP &&
		       target.v - w->gva.v + KEY_REACH_BYTES < 2 * KEY_REACH_BYTES &&
		       rules_is_kernel_code(r, target);
	for (int distance = -256; distance <= 256; distance++)
		if (arch->encode_jump_site(w->gva, hv_gva(w->gva.v + (uint64_t)(int64_t)distance),
					   w->len_bytes, jump) &&
		    memcmp(jump, code, w->len_bytes) == 0)
			return true;
	return false;
}

static bool is_key_nop(const struct hv_rules *r, const uint8_t *code, const struct hv_hold_write *w)
{
	uint8_t padded[2 * HV_SITE_LEN_MAX] = {0};
	bool jumps;

	memcpy(padded, code, w->len_bytes);
	return arch_of(r)->classify_jump_site(padded, w->gva, hv_gva(0), &jumps) == w->len_bytes &&
	       !jumps;
}

static bool is_key(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_hold_write *w = l->write;

	if (!arch_of(r)->classify_jump_site)
		return false;
	return (is_key_nop(r, l->now, w) && is_key_jump(r, w->bytes, w)) ||
	       (is_key_jump(r, l->now, w) && is_key_nop(r, w->bytes, w));
}

struct hv_led hv_rules_led(const struct hv_rules *r, const struct hv_looked *l)
{
	struct hv_gva from, to;

	classify(r, l->now, l->write, &from);
	classify(r, l->write->bytes, l->write, &to);
	return (struct hv_led){from.v, to.v};
}

/* Whether L retargets a call or jump in the kernel from one kernel function to another, with the
 * same kind of instruction. */
static bool is_led(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_arch *arch = arch_of(r);
	struct hv_gva from, to;
	enum hv_site_kind kind;

	if (l->write->len_bytes != arch->site_len_bytes || !arch->classify_jump_site)
		return false;
	kind = classify(r, l->now, l->write, &from);
	return (kind == HV_SITE_CALL || kind == HV_SITE_JUMP) &&
	       classify(r, l->write->bytes, l->write, &to) == kind &&
	       rules_is_kernel_code(r, from) && rules_is_kernel_code(r, to);
}

enum hv_write_kind hv_rules_text(struct hv_rules *r, const struct hv_looked *l)
{
	if (leads(r, l))
		return HV_WRITE_LEADS;
	if (is_key(r, l))
		return HV_WRITE_KEY;
	return is_led(r, l) ? HV_WRITE_LED : HV_WRITE_REFUSED;
}

/* -- writes of data ---------------------------------------------------------------------------- */

/* At most two tracepoints share a count (struct hv_common_key, struct hv_syscall_work). */
#define MOVED_MAX	2
#define COUNT_MAX	4096 /* users of a tracepoint */
#define CACHE_LINE_LEN	64
#define ARRAY_WORDS_MAX 96 /* 32 callbacks */

static uint64_t now_of(const struct hv_looked *l)
{
	return hv_rules_word(l->now, l->write->len_bytes);
}

static uint64_t then_of(const struct hv_looked *l)
{
	return hv_rules_word(l->write->bytes, l->write->len_bytes);
}

static uint64_t without_signature(const struct hv_rules *r, uint64_t word)
{
	const struct hv_arch *arch = hv_tables_arch(r->tables);

	return arch->strip_signature ? arch->strip_signature(word) : word;
}

bool hv_rules_is_our_word(struct hv_rules *r, uint64_t word)
{
	return rules_is_ours(r, hv_gva(word)) ||
	       rules_is_ours(r, hv_gva(without_signature(r, word)));
}

static bool is_our_code(struct hv_rules *r, uint64_t word)
{
	return rules_is_our_code(r, hv_gva(word)) ||
	       rules_is_our_code(r, hv_gva(without_signature(r, word)));
}

static bool is_kernel_code(struct hv_rules *r, uint64_t word)
{
	return rules_is_kernel_code(r, hv_gva(word)) ||
	       rules_is_kernel_code(r, hv_gva(without_signature(r, word)));
}

/* Whether WORD is the address of writable kernel data, such as an array of callbacks. */
static bool is_kernel_data(struct hv_rules *r, uint64_t word)
{
	struct hv_mapping m;

	return hv_tables_walk(r->tables, hv_gva(word), &m) && m.writable &&
	       !hv_rules_is_in_region(r, m.gpa, 1);
}

/* Whether the tracepoint's array of callbacks at ARRAY contains a word that points into the region,
 * such as the data of an hvtrace callback. */
static bool has_callback_of_ours(struct hv_rules *r, uint64_t array)
{
	for (unsigned i = 0; i < ARRAY_WORDS_MAX; i++) {
		uint8_t bytes[sizeof(uint64_t)];
		struct hv_mapping m;
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (!hv_tables_walk(r->tables, hv_gva(array + i * sizeof(bytes)), &m))
			return false;
		err = hv_rules_read(r, m.gpa, sizeof(bytes), bytes);
		if (err)
			return false;
		if (hv_rules_is_our_word(r, hv_rules_word(bytes, sizeof(bytes))))
			return true;
	}
	return false;
}

/* Whether an earlier session found no callbacks here, and the guest's current array still contains
 * one of that session's callbacks. */
static bool is_left_by_earlier(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_noted_range *p = l->range;

	return p && p->is_journalled && p->len_bytes == sizeof(uint64_t) &&
	       hv_rules_word(p->before, sizeof(uint64_t)) == 0 &&
	       has_callback_of_ours(r, now_of(l));
}

/* Whether L is an allowed write to the pointer to a tracepoint's array of callbacks. The pointer
 * leads to an array of the guest, to our array in the region's data, or is NULL.
 *
 * Any array of the guest is accepted, because the guest chooses it. Recovery finds the original
 * value only in the region, so it may write any address of kernel data over a pointer to our array.
 */
static bool is_pointer(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_noted_range *p = l->range;
	uint64_t now = now_of(l), then = then_of(l);
	bool is_ours = rules_is_our_data(r, hv_gva(now));

	if (then % sizeof(then))
		return false;
	if (rules_is_our_data(r, hv_gva(then)))
		return now == 0 || is_ours || is_kernel_data(r, now);
	if (then == 0)
		return is_ours || (is_kernel_data(r, now) &&
				   ((p && p->had_pointer) || is_left_by_earlier(r, l)));
	return is_ours && r->adopts == HV_ADOPTS_EARLIER && is_kernel_data(r, then);
}

static bool is_beside_us(struct hv_rules *r, struct hv_gpa gpa)
{
	uint8_t bytes[sizeof(uint64_t)];
	HV_AUTO_ERR struct hv_err *err = hv_rules_read(r, gpa, sizeof(bytes), bytes);

	return !err && rules_is_ours(r, hv_gva(hv_rules_word(bytes, sizeof(bytes))));
}

/* Whether L replaces an hvtrace callback in the guest's array, recognized by its data in the
 * adjacent word, by an empty function. It must be the same kernel function each time. */
static bool is_no_callback(struct hv_rules *r, const struct hv_looked *l)
{
	uint64_t then = then_of(l);

	return (r->no_callback ? then == r->no_callback : is_kernel_code(r, then)) &&
	       is_kernel_code(r, now_of(l)) &&
	       (is_beside_us(r, hv_gpa_add(l->write->gpa, sizeof(then))) ||
		is_beside_us(r, hv_gpa(l->write->gpa.v - sizeof(then))));
}

/* Whether WORD can be a return address in the kernel. The first task's caller was freed after boot,
 * so it is not code now. */
static bool is_caller(struct hv_rules *r, uint64_t word)
{
	struct hv_gva at = hv_gva(without_signature(r, word));

	return is_kernel_code(r, word) ||
	       (hv_gva_in(at, hv_tables_arch(r->tables)->image_range) && !rules_is_ours(r, at));
}

/* Whether L restores a return address. This side never writes an address in the region's code into
 * data: only the guest can have saved it there. */
static bool is_return(struct hv_rules *r, const struct hv_looked *l)
{
	return is_our_code(r, now_of(l)) && is_caller(r, then_of(l));
}

static bool is_led_word(const struct hv_rules *r, const struct hv_looked *l)
{
	for (size_t i = 0; i < r->nr_led && i < HV_RULES_LED_MAX; i++)
		if (r->led[i].from == now_of(l) && r->led[i].to == then_of(l))
			return true;
	return false;
}

static enum hv_write_kind word_kind(struct hv_rules *r, const struct hv_looked *l)
{
	if (l->write->gpa.v % sizeof(uint64_t))
		return HV_WRITE_REFUSED;
	if (is_pointer(r, l))
		return HV_WRITE_POINTER;
	if (is_led_word(r, l))
		return HV_WRITE_LED_WORD;
	if (is_return(r, l))
		return HV_WRITE_RETURN;
	return is_no_callback(r, l) ? HV_WRITE_NO_CALLBACK : HV_WRITE_REFUSED;
}

/* Returns the count that limits further changes: the original one, or the current one if the guest
 * has changed it since our last write, because it then includes our changes. The last write may not
 * have been made, so neither its old nor its new value is a change by the guest. */
static uint32_t base_of(const struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_noted_range *p = hv_noted_find(&r->counts, l->write->gpa);
	uint32_t base;

	if (!p || (memcmp(l->now, p->after, sizeof(base)) != 0 &&
		   memcmp(l->now, p->was, sizeof(base)) != 0))
		return (uint32_t)now_of(l);
	memcpy(&base, p->before, sizeof(base));
	return base;
}

static bool is_count(const struct hv_rules *r, const struct hv_looked *l)
{
	uint64_t now = now_of(l), then = then_of(l), base = base_of(r, l);

	return l->write->gpa.v % sizeof(uint32_t) == 0 && (now + 1 == then || then + 1 == now) &&
	       now <= COUNT_MAX && then <= COUNT_MAX && then <= base + MOVED_MAX &&
	       base <= then + MOVED_MAX;
}

void hv_rules_note_count(struct hv_rules *r, const struct hv_looked *l)
{
	uint32_t base = base_of(r, l);
	struct hv_noted_range *p = hv_noted_add(&r->counts, l->write->gpa, l->write->len_bytes);

	memcpy(p->before, &base, sizeof(base));
	memcpy(p->was, l->now, sizeof(base));
	memcpy(p->after, l->write->bytes, sizeof(base));
}

static struct hv_bit_kind bit_kind(const struct hv_looked *l)
{
	return (struct hv_bit_kind){l->write->gva.v % CACHE_LINE_LEN,
				    l->now[0] ^ l->write->bytes[0]};
}

static bool is_known_bit(const struct hv_rules *r, struct hv_bit_kind kind)
{
	for (unsigned i = 0; i < r->nr_bit_kinds; i++)
		if (r->bit_kinds[i].at == kind.at && r->bit_kinds[i].bit == kind.bit)
			return true;
	return false;
}

static bool is_bit(const struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_noted_range *p = hv_noted_find(&r->bits, l->write->gpa);
	struct hv_bit_kind kind = bit_kind(l);

	return !(kind.bit & (kind.bit - 1)) && (!p || p->bit == kind.bit) &&
	       (is_known_bit(r, kind) || r->nr_bit_kinds < HV_RULES_BITS_MAX);
}

/* If too many bits are recorded, drops all records, because freed tasks leave stale ones. The kinds
 * of bits are kept. */
void hv_rules_note_bit(struct hv_rules *r, const struct hv_looked *l)
{
	struct hv_bit_kind kind = bit_kind(l);

	if (r->bits.nr == HV_NOTED_MAX)
		hv_noted_deinit(&r->bits);
	hv_noted_add(&r->bits, l->write->gpa, 1)->bit = kind.bit;
	if (!is_known_bit(r, kind))
		r->bit_kinds[r->nr_bit_kinds++] = kind;
}

enum hv_write_kind hv_rules_data(struct hv_rules *r, const struct hv_looked *l)
{
	switch (l->write->len_bytes) {
	case 1:
		return is_bit(r, l) ? HV_WRITE_BIT : HV_WRITE_REFUSED;
	case sizeof(uint32_t):
		return is_count(r, l) ? HV_WRITE_COUNT : HV_WRITE_REFUSED;
	case sizeof(uint64_t):
		return word_kind(r, l);
	default:
		return HV_WRITE_REFUSED;
	}
}
