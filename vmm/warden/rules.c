/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/rules.h"

#include <inttypes.h>
#include <string.h>

#define PLACES_MAX	(1u << 19) /* several times what the journal has room for */
#define PAGE_BYTES	4096
#define WINDOWS_MAX	8	      /* the range, the landings, and gaps while slots are filled */
#define KEY_REACH_BYTES (16ull << 20) /* from a static key to its jump's target */
#define LED_MAX		64	      /* static calls that are led elsewhere in one hold */

/* A place that was written. */
struct place {
	struct hv_gpa gpa;
	uint32_t len_bytes;		 /* 0: an unused slot */
	bool had_pointer;		 /* to us, at some time */
	uint8_t before[HV_SITE_LEN_MAX]; /* what the guest had there */
	uint8_t after[HV_SITE_LEN_MAX];	 /* what was written last */
};

/* A static call that was led from one function to another. */
struct led {
	uint64_t from, to;
};

struct hv_rules {
	struct hv_guest *guest;	 /* borrowed */
	struct led led[LED_MAX]; /* the last ones */
	size_t nr_led;
	enum hv_adopts adopts;
	struct hv_region region;
	struct hv_gva_range windows[WINDOWS_MAX]; /* what the leaves map; disjoint */
	size_t nr_windows;
	struct place *places; /* owned, open-addressed by gpa */
	size_t nr_places;
	size_t nr_slots; /* a power of two, or 0 */
	/* The page that was read last. */
	struct hv_gpa page;
	bool has_page;
	uint8_t bytes[PAGE_BYTES];
};

struct hv_rules *hv_rules_new(struct hv_guest *g, enum hv_adopts adopts)
{
	struct hv_rules *r = hv_alloc(sizeof(*r));

	r->guest = g;
	r->adopts = adopts;
	return r;
}

void hv_rules_free(struct hv_rules *r)
{
	if (!r)
		return;
	free(r->places);
	free(r);
}

void hv_rules_set_region(struct hv_rules *r, const struct hv_region *region)
{
	r->region = *region;
}

static uint64_t word(const uint8_t *bytes, uint32_t len_bytes)
{
	uint64_t value = 0;

	memcpy(&value, bytes, len_bytes);
	return value;
}

/* The places. */

static struct place *slot_of(const struct hv_rules *r, struct hv_gpa gpa)
{
	size_t at = (size_t)(gpa.v * 0x9e3779b97f4a7c15u >> 20) & (r->nr_slots - 1);

	while (r->places[at].len_bytes && r->places[at].gpa.v != gpa.v)
		at = (at + 1) & (r->nr_slots - 1);
	return &r->places[at];
}

static const struct place *find(const struct hv_rules *r, struct hv_gpa gpa)
{
	const struct place *p = r->nr_slots ? slot_of(r, gpa) : NULL;

	return p && p->len_bytes ? p : NULL;
}

static void grow(struct hv_rules *r)
{
	struct hv_rules old = *r;

	r->nr_slots = old.nr_slots ? 2 * old.nr_slots : 1024;
	r->places = hv_alloc(r->nr_slots * sizeof(*r->places));
	for (size_t i = 0; i < old.nr_slots; i++)
		if (old.places[i].len_bytes)
			*slot_of(r, old.places[i].gpa) = old.places[i];
	free(old.places);
}

/* What is there now. Many writes are in one page. */
static struct hv_err *read_now(struct hv_rules *r, const struct hv_hold_write *w, uint8_t *ret)
{
	struct hv_gpa page = hv_gpa(w->gpa.v & ~(uint64_t)(PAGE_BYTES - 1));
	uint64_t off = w->gpa.v - page.v;
	struct hv_err *err = NULL;

	if (off + w->len_bytes > PAGE_BYTES)
		return hv_guest_read(r->guest, w->gpa, ret, w->len_bytes);
	if (!r->has_page || r->page.v != page.v)
		err = hv_guest_read(r->guest, page, r->bytes, PAGE_BYTES);
	r->has_page = !err;
	r->page = page;
	if (!err)
		memcpy(ret, r->bytes + off, w->len_bytes);
	return err;
}

/* The rules. Each says whether W, where the guest has NOW, is such a write. */

static bool is_in_region(const struct hv_rules *r, struct hv_gpa gpa, uint64_t len_bytes)
{
	uint64_t off = gpa.v - r->region.gpa.v;

	return off < r->region.len_bytes && len_bytes <= r->region.len_bytes - off;
}

/* Whether the leaves map AT. */
static bool is_mapped(const struct hv_rules *r, struct hv_gva at)
{
	for (size_t i = 0; i < r->nr_windows; i++)
		if (hv_gva_in(at, r->windows[i]))
			return true;
	return false;
}

static bool puts_back(const struct hv_rules *r, const struct hv_hold_write *w)
{
	const struct place *p = find(r, w->gpa);

	return p && p->len_bytes == w->len_bytes && memcmp(p->before, w->bytes, w->len_bytes) == 0;
}

static const struct hv_arch *arch_of(const struct hv_rules *r)
{
	return hv_guest_info(r->guest)->arch;
}

/* Whether ENTRY is a leaf of ARCH's slots that leads to the region. */
static bool is_leaf(const struct hv_rules *r, const struct hv_arch *arch, uint64_t entry)
{
	struct hv_pt_entry e = arch->decode_entry(arch->map_level, entry);

	return e.present && e.leaf && !(e.writable && e.executable) &&
	       is_in_region(r, e.to, arch->entry_span(arch->map_level));
}

/* The entry of a page has the form of one that leads to a table. It is a page's if it is as FORMAT
 * makes those. */
static bool is_page(const struct hv_rules *r, const struct hv_arch *format, uint64_t entry)
{
	struct hv_pt_entry e = format->decode_entry(1, entry);
	enum hv_access access = e.executable ? HV_ACCESS_READ_EXECUTE : HV_ACCESS_READ_WRITE;

	return format->map_level == 1 && is_leaf(r, format, entry) &&
	       format->make_leaf(1, entry, e.to, access) == entry;
}

/* Whether ENTRY leads to a table in the region. What such a table has in it is as free as the code
 * in the region is. */
static bool is_table(const struct hv_rules *r, const struct hv_arch *format, uint64_t entry)
{
	struct hv_pt_entry e = format->decode_entry(format->map_level, entry);

	return format->make_table && e.present && !e.leaf &&
	       is_in_region(r, e.to, format->entry_span(1)) &&
	       format->make_table(entry, e.to) == entry;
}

/* How much of the guest's addresses ENTRY maps, if it maps the region; else 0. Which format the
 * guest has is not known here. */
static uint64_t mapped_bytes(const struct hv_rules *r, uint64_t entry)
{
	const struct hv_arch *arch = arch_of(r);
	const struct hv_arch *const *f = arch->formats;

	if (is_leaf(r, arch, entry))
		return arch->entry_span(arch->map_level);
	for (; f && *f; f++)
		if (is_page(r, *f, entry) || is_table(r, *f, entry))
			return (*f)->entry_span((*f)->map_level);
	return 0;
}

/* Where leaves may be. Where that depends on the image's place, only the service knows it. */
static struct hv_gva_range window_of(const struct hv_arch *arch)
{
	return arch->free_window.end.v ? arch->free_window : arch->image_window;
}

/* A leaf or a table in an unused slot, or its removal. */
static bool is_mapping(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	const struct hv_arch *arch = arch_of(r);
	uint64_t from = word(now, 8), to = word(w->bytes, 8);
	uint64_t largest = arch->entry_span(arch->map_level), span;

	if (w->len_bytes != 8 || w->is_text)
		return false;
	if (to == 0)
		return mapped_bytes(r, from) != 0;
	span = mapped_bytes(r, to);
	return span && (from == 0 || mapped_bytes(r, from)) &&
	       w->gva.v % (span < largest ? span : largest) == 0 &&
	       hv_gva_in(w->gva, window_of(arch));
}

/* A call of or a jump into what the leaves map, or a free site that has its address (riscv64). */
static bool leads_to_us(const struct hv_rules *r, const uint8_t *code,
			const struct hv_hold_write *w)
{
	const struct hv_arch *arch = arch_of(r);
	struct hv_gva target = {0};
	enum hv_site_kind kind;

	if (w->len_bytes < arch->site_len_bytes)
		return false;
	kind = arch->classify_site(code, w->gva, &target);
	/* What follows a jump is not executed. */
	if (kind != HV_SITE_JUMP && w->len_bytes > arch->site_len_bytes)
		return false;
	if (kind != HV_SITE_JUMP && kind != HV_SITE_CALL && kind != HV_SITE_NOP)
		return false;
	return is_mapped(r, target);
}

/* Whether CODE is a jump of a static key, as long as the write. */
static bool is_key_jump(const struct hv_rules *r, const uint8_t *code,
			const struct hv_hold_write *w)
{
	const struct hv_arch *arch = arch_of(r);
	uint8_t jump[HV_SITE_LEN_MAX];
	struct hv_gva target;

	if (w->len_bytes == arch->site_len_bytes)
		return arch->classify_site(code, w->gva, &target) == HV_SITE_JUMP &&
		       target.v - w->gva.v + KEY_REACH_BYTES < 2 * KEY_REACH_BYTES;
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

static bool is_key(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	return (is_key_nop(r, now, w) && is_key_jump(r, w->bytes, w)) ||
	       (is_key_jump(r, now, w) && is_key_nop(r, w->bytes, w));
}

/* A call or jump in the kernel's own code that leads elsewhere than it does NOW, by the same
 * instruction: those reach nothing but the kernel and its modules. */
static bool is_led(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now,
		   struct led *ret)
{
	const struct hv_arch *arch = arch_of(r);
	struct hv_gva from = {0}, to = {0};
	enum hv_site_kind kind;

	if (!w->is_text || w->len_bytes != arch->site_len_bytes || !arch->classify_jump_site)
		return false;
	kind = arch->classify_site(now, w->gva, &from);
	*ret = (struct led){from.v, to.v};
	if ((kind != HV_SITE_CALL && kind != HV_SITE_JUMP) ||
	    arch->classify_site(w->bytes, w->gva, &to) != kind)
		return false;
	ret->to = to.v;
	return !is_mapped(r, from) && (int64_t)to.v < 0;
}

static bool is_known_led(const struct hv_rules *r, struct led led)
{
	for (size_t i = 0; i < r->nr_led && i < LED_MAX; i++)
		if (r->led[i].from == led.from && r->led[i].to == led.to)
			return true;
	return false;
}

static bool is_of_led(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	return !w->is_text && w->len_bytes == 8 &&
	       is_known_led(r, (struct led){word(now, 8), word(w->bytes, 8)});
}

static bool is_text_of_ours(const struct hv_rules *r, const struct hv_hold_write *w,
			    const uint8_t *now)
{
	struct led led;

	if (!w->is_text || (w->gva.v ^ w->gpa.v) % PAGE_BYTES)
		return false;
	return leads_to_us(r, w->bytes, w) || is_key(r, w, now) || is_led(r, w, now, &led);
}

/* Whether VALUE, perhaps signed, is an address of what the leaves map. Which format the guest has
 * is not known here, and the signature is where no format has bits of such an address. */
static bool is_address_of_us(const struct hv_rules *r, uint64_t value)
{
	const struct hv_arch *arch = arch_of(r);

	if (is_mapped(r, hv_gva(value)))
		return true;
	for (size_t i = 0; arch->formats && arch->formats[i]; i++)
		if (arch->formats[i]->strip_signature &&
		    is_mapped(r, hv_gva(arch->formats[i]->strip_signature(value))))
			return true;
	return false;
}

static bool points_to_us(const struct hv_rules *r, uint64_t gpa)
{
	uint8_t bytes[8];
	struct hv_err *err = hv_guest_read(r->guest, hv_gpa(gpa), bytes, 8);

	hv_err_free(err);
	return !err && is_mapped(r, hv_gva(word(bytes, 8)));
}

/* A pointer to us, or what comes instead of one: where one is or was, or beside one, as the
 * function of a probe is beside its data. */
static bool is_pointer(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	const struct place *p = find(r, w->gpa);

	if (w->is_text || w->len_bytes != 8)
		return false;
	return is_mapped(r, hv_gva(word(w->bytes, 8))) || is_address_of_us(r, word(now, 8)) ||
	       (p && p->had_pointer) || points_to_us(r, w->gpa.v + 8) ||
	       points_to_us(r, w->gpa.v - 8);
}

static bool is_count_or_flag(const struct hv_hold_write *w, const uint8_t *now)
{
	uint64_t from = word(now, w->len_bytes), to = word(w->bytes, w->len_bytes);
	uint64_t bits = from ^ to;

	if (w->is_text)
		return false;
	if (w->len_bytes == 1)
		return (bits & (bits - 1)) == 0;
	return w->len_bytes == 4 && (from + 1 == to || to + 1 == from || from == to);
}

/* What an earlier session wrote, by the journal that it left. */
static bool is_adopted(const struct hv_rules *r, const struct hv_hold_write *w)
{
	return r->adopts == HV_ADOPTS_EARLIER &&
	       (!w->is_text || (w->gva.v ^ w->gpa.v) % PAGE_BYTES == 0);
}

static bool is_allowed(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	return puts_back(r, w) || memcmp(now, w->bytes, w->len_bytes) == 0 ||
	       is_mapping(r, w, now) || is_text_of_ours(r, w, now) || is_pointer(r, w, now) ||
	       is_of_led(r, w, now) || is_count_or_flag(w, now) || is_adopted(r, w);
}

static struct hv_err *refused(const struct hv_hold_write *w)
{
	return hv_err_new(EPERM,
			  "a write of %u bytes of %s at guest physical 0x%" PRIx64
			  " is against the rules",
			  w->len_bytes, w->is_text ? "text" : "data", w->gpa.v);
}

static bool touch(struct hv_gva_range a, struct hv_gva_range b)
{
	return a.start.v <= b.end.v && b.start.v <= a.end.v;
}

/* What the leaves and tables map from now on. The kernel's own addresses between two parts of it
 * are not ours. If there is no room for another part, nothing may lead there. */
static void widen_window(struct hv_rules *r, const struct hv_hold_write *w)
{
	uint64_t span = mapped_bytes(r, word(w->bytes, 8));
	struct hv_gva_range part = {w->gva, hv_gva((w->gva.v / span + 1) * span)};
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_windows; i++) {
		struct hv_gva_range other = r->windows[i];

		if (!touch(part, other)) {
			r->windows[nr++] = other;
			continue;
		}
		if (other.start.v < part.start.v)
			part.start = other.start;
		if (other.end.v > part.end.v)
			part.end = other.end;
	}
	r->nr_windows = nr;
	if (nr < WINDOWS_MAX)
		r->windows[r->nr_windows++] = part;
}

static struct hv_err *check_one(struct hv_rules *r, const struct hv_hold_write *w, uint8_t *now)
{
	struct hv_err *err = read_now(r, w, now);

	if (err)
		return err;
	return is_allowed(r, w, now) ? NULL : refused(w);
}

/* Whether the guest has something of ours where W goes. */
static bool is_ours(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	if (w->is_text)
		return leads_to_us(r, now, w);
	return w->len_bytes == 8 &&
	       (is_address_of_us(r, word(now, 8)) || mapped_bytes(r, word(now, 8)));
}

/* What is there and is not ours, is the guest's own: it may have changed since. A write that was
 * asked for may not have been made, so what was written last does not tell it alone. */
static void note(struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	struct place *p;

	if (2 * (r->nr_places + 1) > r->nr_slots)
		grow(r);
	p = slot_of(r, w->gpa);
	r->nr_places += p->len_bytes == 0;
	if (p->len_bytes != w->len_bytes ||
	    (memcmp(now, p->after, w->len_bytes) != 0 && !is_ours(r, w, now)))
		memcpy(p->before, now, w->len_bytes);
	p->gpa = w->gpa;
	p->len_bytes = w->len_bytes;
	p->had_pointer |=
		!w->is_text && w->len_bytes == 8 && is_mapped(r, hv_gva(word(w->bytes, 8)));
	memcpy(p->after, w->bytes, w->len_bytes);
}

/* Counts and flags need no memory: their way back is allowed as the way there. */
static bool is_to_note(const struct hv_rules *r, const struct hv_hold_write *w, const uint8_t *now)
{
	if (find(r, w->gpa))
		return true;
	return memcmp(now, w->bytes, w->len_bytes) != 0 && !is_count_or_flag(w, now);
}

struct hv_err *hv_rules_check(struct hv_rules *r, const struct hv_hold_write *writes, size_t nr)
{
	HV_AUTO_FREE uint8_t(*now)[HV_SITE_LEN_MAX] = hv_alloc((nr + 1) * sizeof(*now));
	struct hv_err *err = NULL;

	r->has_page = false;
	for (size_t i = 0; !err && i < nr; i++)
		if (!is_in_region(r, writes[i].gpa, writes[i].len_bytes))
			err = check_one(r, &writes[i], now[i]);
	if (!err && r->nr_places + nr > PLACES_MAX)
		err = hv_err_new(EPERM, "too many places are written");
	for (size_t i = 0; !err && i < nr; i++) {
		struct led led;

		if (is_in_region(r, writes[i].gpa, writes[i].len_bytes))
			continue;
		if (is_mapping(r, &writes[i], now[i]) && word(writes[i].bytes, 8))
			widen_window(r, &writes[i]);
		if (is_led(r, &writes[i], now[i], &led) && !is_known_led(r, led))
			r->led[r->nr_led++ % LED_MAX] = led;
		if (is_to_note(r, &writes[i], now[i]))
			note(r, &writes[i], now[i]);
	}
	return err;
}
