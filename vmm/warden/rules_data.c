/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "vmm/warden/rules_state.h"

/* At most two tracepoints share a count (struct hv_common_key, struct hv_syscall_work). */
#define MOVED_MAX	2
#define COUNT_MAX	4096 /* users of a tracepoint */
#define CACHE_LINE_LEN	64
#define ARRAY_WORDS_MAX 96 /* 32 probes */

static uint64_t now_of(const struct hv_looked *l)
{
	return hv_rules_word(l->now, l->w->len_bytes);
}

static uint64_t then_of(const struct hv_looked *l)
{
	return hv_rules_word(l->w->bytes, l->w->len_bytes);
}

static uint64_t without_signature(const struct hv_rules *r, uint64_t word)
{
	const struct hv_arch *arch = hv_tables_arch(r->tables);

	return arch->strip_signature ? arch->strip_signature(word) : word;
}

bool hv_rules_is_our_word(struct hv_rules *r, uint64_t word)
{
	return hv_rules_is_ours(r, hv_gva(word)) ||
	       hv_rules_is_ours(r, hv_gva(without_signature(r, word)));
}

static bool is_our_code(struct hv_rules *r, uint64_t word)
{
	return hv_rules_is_our_code(r, hv_gva(word)) ||
	       hv_rules_is_our_code(r, hv_gva(without_signature(r, word)));
}

static bool is_kernel_code(struct hv_rules *r, uint64_t word)
{
	return hv_rules_is_kernel_code(r, hv_gva(word)) ||
	       hv_rules_is_kernel_code(r, hv_gva(without_signature(r, word)));
}

/* Whether WORD is the address of writable kernel data, such as an array of probes. */
static bool is_kernel_data(struct hv_rules *r, uint64_t word)
{
	struct hv_mapping m;

	return hv_tables_walk(r->tables, hv_gva(word), &m) && m.writable &&
	       !hv_rules_is_in_region(r, m.gpa, 1);
}

/* Whether the tracepoint's array of probes at ARRAY contains a word that points into the region,
 * such as the data of an hvtrace probe. */
static bool has_probe_of_ours(struct hv_rules *r, uint64_t array)
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

/* Whether an earlier session found no probes here, and the guest's current array still contains one
 * of that session's probes. */
static bool is_left_by_earlier(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_noted_place *p = l->place;

	return p && p->is_journalled && p->len_bytes == sizeof(uint64_t) &&
	       hv_rules_word(p->before, sizeof(uint64_t)) == 0 && has_probe_of_ours(r, now_of(l));
}

/* Whether L is an allowed write to the pointer to a tracepoint's array of probes. The pointer leads
 * to an array of the guest, to our array in the region's data, or is NULL.
 *
 * Any array of the guest is accepted, because the guest chooses it. Recovery finds the original
 * value only in the region, so it may write any address of kernel data over a pointer to our array.
 */
static bool is_pointer(struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_noted_place *p = l->place;
	uint64_t now = now_of(l), then = then_of(l);
	bool is_ours = hv_rules_is_our_data(r, hv_gva(now));

	if (then % sizeof(then))
		return false;
	if (hv_rules_is_our_data(r, hv_gva(then)))
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

	return !err && hv_rules_is_ours(r, hv_gva(hv_rules_word(bytes, sizeof(bytes))));
}

/* Whether L replaces an hvtrace probe in the guest's array, recognized by its data in the adjacent
 * word, by an empty function. It must be the same kernel function each time. */
static bool is_no_probe(struct hv_rules *r, const struct hv_looked *l)
{
	uint64_t then = then_of(l);

	return (r->no_probe ? then == r->no_probe : is_kernel_code(r, then)) &&
	       is_kernel_code(r, now_of(l)) &&
	       (is_beside_us(r, hv_gpa_add(l->w->gpa, sizeof(then))) ||
		is_beside_us(r, hv_gpa(l->w->gpa.v - sizeof(then))));
}

/* Whether WORD can be a return address in the kernel. The first task's caller was freed after boot,
 * so it is not code now. */
static bool is_caller(struct hv_rules *r, uint64_t word)
{
	struct hv_gva at = hv_gva(without_signature(r, word));

	return is_kernel_code(r, word) ||
	       (hv_gva_in(at, hv_tables_arch(r->tables)->image_window) && !hv_rules_is_ours(r, at));
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
	if (l->w->gpa.v % sizeof(uint64_t))
		return HV_WRITE_REFUSED;
	if (is_pointer(r, l))
		return HV_WRITE_POINTER;
	if (is_led_word(r, l))
		return HV_WRITE_LED_WORD;
	if (is_return(r, l))
		return HV_WRITE_RETURN;
	return is_no_probe(r, l) ? HV_WRITE_NO_PROBE : HV_WRITE_REFUSED;
}

/* Returns the count from which changes are limited: the value before our first change, or the
 * current value if the guest has changed it since, because its kernel then adopted our change. The
 * last write may not have been made, so neither its old nor its new value is a change by the guest.
 */
static uint32_t base_of(const struct hv_rules *r, const struct hv_looked *l)
{
	const struct hv_noted_place *p = hv_noted_find(&r->counts, l->w->gpa);
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

	return l->w->gpa.v % sizeof(uint32_t) == 0 && (now + 1 == then || then + 1 == now) &&
	       now <= COUNT_MAX && then <= COUNT_MAX && then <= base + MOVED_MAX &&
	       base <= then + MOVED_MAX;
}

void hv_rules_note_count(struct hv_rules *r, const struct hv_looked *l)
{
	uint32_t base = base_of(r, l);
	struct hv_noted_place *p = hv_noted_add(&r->counts, l->w->gpa, l->w->len_bytes);

	memcpy(p->before, &base, sizeof(base));
	memcpy(p->was, l->now, sizeof(base));
	memcpy(p->after, l->w->bytes, sizeof(base));
}

static struct hv_bit_kind bit_kind(const struct hv_looked *l)
{
	return (struct hv_bit_kind){l->w->gva.v % CACHE_LINE_LEN, l->now[0] ^ l->w->bytes[0]};
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
	const struct hv_noted_place *p = hv_noted_find(&r->bits, l->w->gpa);
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
	hv_noted_add(&r->bits, l->w->gpa, 1)->bit = kind.bit;
	if (!is_known_bit(r, kind))
		r->bit_kinds[r->nr_bit_kinds++] = kind;
}

enum hv_write_kind hv_rules_data(struct hv_rules *r, const struct hv_looked *l)
{
	switch (l->w->len_bytes) {
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
