/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/timekeeper_internal.h, include/linux/clocksource.h,
 * kernel/time/timekeeping.c. */
#include "kernel/derive/clock_members.h"

#include <string.h>

#include "arch/arch.h"
#include "kernel/core/fields.h"
#include "kernel/core/function_code.h"

/* struct tk_fast: a number that chooses one of two structures tk_read_base. */
#define FAST_BASE    8u
/* struct tk_read_base */
#define BASE_MASK    8u
#define BASE_MULT    24u
#define BASE_SHIFT   28u
#define BASE_MONO    40u
#define BASE_REAL    48u
#define BASE_BYTES   56u
#define FAST_BYTES   (FAST_BASE + 2 * BASE_BYTES)
/* struct clocksource begins with a pointer to a function, then these members. */
#define SOURCE_MASK  8u
#define SOURCE_MULT  16u
#define SOURCE_SHIFT 20u
#define SOURCE_BYTES 128u /* number of bytes that are searched */
#define NAME_MAX     32u
/* The variable tk_core, which has a seqcount before struct timekeeper. */
#define LOCK_MAX     64u
#define CORE_BYTES   512u
#define NSEC_PER_SEC 1000000000u
#define TAI_MAX	     100u /* seconds between UTC and TAI */
#define READS_MAX    16u

struct clock {
	uint8_t fast[FAST_BYTES], source[SOURCE_BYTES], core[CORE_BYTES];
};

static uint64_t u64_of(const uint8_t *copy, uint32_t off)
{
	return hv_copy_u64((struct hv_span){copy, off + 8}, off);
}

static uint32_t u32_of(const uint8_t *copy, uint32_t off)
{
	return hv_copy_u32((struct hv_span){copy, off + 4}, off);
}

/* Reads the variables while the kernel does not update them: both structures tk_read_base of
 * tk_fast_mono are equal then, and its number does not change. */
static bool read_clock(const struct hv_kernel_core *core, struct hv_gva fast, struct hv_gva keeper,
		       struct clock *ret)
{
	const struct hv_address_space *as = &core->as;

	for (unsigned i = 0; i < READS_MAX; i++) {
		uint32_t seq = 0;
		HV_AUTO_ERR struct hv_err *err = hv_read(as, fast, ret->fast, FAST_BYTES);

		if (!err)
			err = hv_read(as, keeper, ret->core, CORE_BYTES);
		if (!err)
			err = hv_read_u32(as, fast, &seq);
		if (!err)
			err = hv_read(as, hv_gva(u64_of(ret->fast, FAST_BASE)), ret->source,
				      SOURCE_BYTES);
		if (err)
			return false;
		if (seq == u32_of(ret->fast, 0) &&
		    !memcmp(ret->fast + FAST_BASE, ret->fast + FAST_BASE + BASE_BYTES, BASE_BYTES))
			return true;
	}
	return false;
}

/* The kernel copies the mask and the shift of the clocksource, and adjusts its factor by at most
 * 11 %. */
static bool is_read_base(const struct clock *c)
{
	uint64_t mult = u32_of(c->fast, FAST_BASE + BASE_MULT), of_source;

	of_source = u32_of(c->source, SOURCE_MULT);
	return u64_of(c->fast, FAST_BASE + BASE_MASK) == u64_of(c->source, SOURCE_MASK) &&
	       u64_of(c->source, SOURCE_MASK) &&
	       u32_of(c->fast, FAST_BASE + BASE_SHIFT) == u32_of(c->source, SOURCE_SHIFT) &&
	       of_source && mult >= of_source - of_source / 8 && mult <= of_source + of_source / 8;
}

/* Notes the words of tk_read_base that a function uses: a bit for each. */
static void note_word(void *ctx, const struct hv_member_use *use)
{
	if (use->off % 8 == 0 && use->off < BASE_BYTES && use->len_bytes == 8)
		*(unsigned *)ctx |= 1u << use->off / 8;
}

/* ktime_get_real_fast_ns() uses one member that ktime_get_mono_fast_ns() does not use. */
static unsigned code_of_bases(const struct hv_kernel_core *core)
{
	unsigned mono = 0, real = 0;

	if (!hv_code_list(core, "ktime_get_mono_fast_ns", note_word, &mono) ||
	    !hv_code_list(core, "ktime_get_real_fast_ns", note_word, &real))
		return 0;
	if (!(mono >> BASE_MONO / 8 & 1) || (real & ~mono) != 1u << BASE_REAL / 8)
		return 0;
	return HV_PROVED_BY_CODE;
}

static bool is_name(const struct hv_kernel_core *core, uint64_t at)
{
	struct hv_span text = hv_image_at(&core->image, hv_gva(at));
	size_t len = 0;

	while (len < text.len_bytes && len < NAME_MAX && text.data[len] > 0x20 &&
	       text.data[len] < 0x7f)
		len++;
	return len > 1 && len < text.len_bytes && !text.data[len];
}

/* Returns whether a name is at OFF, and after it the links of the list of clocksources. */
static bool is_name_in_list(const struct hv_kernel_core *core, const struct clock *c, uint32_t off)
{
	const uint64_t source = u64_of(c->fast, FAST_BASE), links = source + off + 8;
	uint64_t back = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!is_name(core, u64_of(c->source, off)))
		return false;
	err = hv_read_u64(&core->as, hv_gva(u64_of(c->source, off + 8) + 8), &back);
	return !err && back == links;
}

static void add(struct hv_deriving *d, const char *type, const char *member, uint32_t off,
		uint32_t len_bytes, unsigned proofs)
{
	hv_facts_add(&d->facts, &(struct hv_fact){type, member, off, len_bytes, NULL, proofs});
}

static void derive_source(struct hv_deriving *d, const struct clock *c)
{
	uint32_t found = 0;
	unsigned nr = 0;

	for (uint32_t off = SOURCE_SHIFT + 4; off + 16 <= SOURCE_BYTES; off += 8)
		if (is_name_in_list(d->core, c, off)) {
			found = off;
			nr++;
		}
	if (nr == 1)
		add(d, "clocksource", "name", found, 8, HV_PROVED_BY_MEMORY);
}

static void derive_fast(struct hv_deriving *d)
{
	static const char type[] = "tk_read_base";
	const unsigned memory = HV_PROVED_BY_MEMORY, code = code_of_bases(d->core);

	if (!code)
		return;
	add(d, "tk_fast", "seq", 0, 4, memory);
	hv_facts_add(&d->facts,
		     &(struct hv_fact){"tk_fast", "base", FAST_BASE, 2 * BASE_BYTES, type, memory});
	add(d, type, "clock", 0, 8, memory);
	add(d, type, "cycle_last", 16, 8, code);
	add(d, type, "mult", BASE_MULT, 4, memory);
	add(d, type, "shift", BASE_SHIFT, 4, memory);
	add(d, type, "xtime_nsec", 32, 8, code);
	add(d, type, "base", BASE_MONO, 8, code);
	add(d, type, "base_real", BASE_REAL, 8, code);
}

/* offs_real, offs_boot and offs_tai follow each other. The first is the difference of the bases of
 * both clocks, and the last is larger by whole seconds. */
static bool are_offsets(const struct clock *c, uint32_t off)
{
	uint64_t real =
		u64_of(c->fast, FAST_BASE + BASE_REAL) - u64_of(c->fast, FAST_BASE + BASE_MONO);
	uint64_t tai = u64_of(c->core, off + 16) - real;

	return u64_of(c->core, off) == real && tai % NSEC_PER_SEC == 0 &&
	       tai / NSEC_PER_SEC <= TAI_MAX;
}

static void derive_keeper(struct hv_deriving *d, const struct clock *c, struct hv_gva keeper)
{
	const uint64_t source = u64_of(c->fast, FAST_BASE);
	uint32_t start = 0, found = 0;
	unsigned nr = 0, proofs = HV_PROVED_BY_MEMORY;

	while (start < LOCK_MAX && u64_of(c->core, start) != source)
		start += 8;
	for (uint32_t off = start + BASE_BYTES; start < LOCK_MAX && off + 24 <= CORE_BYTES;
	     off += 8)
		if (are_offsets(c, off)) {
			found = off;
			nr++;
		}
	if (nr != 1)
		return;
	if (hv_function_uses(d->core, "ktime_get_boot_fast_ns", hv_gva_add(keeper, found + 8)))
		proofs |= HV_PROVED_BY_CODE;
	add(d, "timekeeper", "tkr_mono", 0, BASE_BYTES, HV_PROVED_BY_MEMORY);
	add(d, "timekeeper", "offs_boot", found + 8 - start, 8, proofs);
	add(d, "timekeeper", "offs_tai", found + 16 - start, 8, HV_PROVED_BY_MEMORY);
}

/* The 8-byte words of struct sched_clock_data that a function writes: a bit for each. */
struct written {
	uint32_t percpu; /* the variable's address, which a displacement can include */
	unsigned words;
};

#define OTHER_WORD (1u << 31)

static void note_written(void *ctx, const struct hv_member_use *use)
{
	struct written *w = ctx;
	uint32_t off = use->off >= w->percpu ? use->off - w->percpu : use->off;

	if (use->kind == HV_MEMBER_WRITE && use->len_bytes == 8)
		w->words |= off % 8 || off >= 24 ? OTHER_WORD : 1u << off / 8;
}

/* sched_clock_tick() writes tick_raw and tick_gtod, and then `clock`, which follows them. */
static void derive_ticks(struct hv_deriving *d)
{
	static const char type[] = "sched_clock_data";
	struct written w = {.words = 0};
	struct hv_gva at;

	if (!hv_core_symbol(d->core, type, &at))
		return;
	w.percpu = (uint32_t)at.v;
	if (!hv_code_list(d->core, "sched_clock_tick", note_written, &w) || (w.words | 4) != 7)
		return;
	add(d, type, "tick_raw", 0, 8, HV_PROVED_BY_CODE);
	add(d, type, "tick_gtod", 8, 8, HV_PROVED_BY_CODE);
}

void hv_clock_members_derive(struct hv_deriving *d)
{
	struct clock c = {0};
	struct hv_gva fast, keeper;

	derive_ticks(d);
	if (!hv_core_symbol(d->core, "tk_fast_mono", &fast) ||
	    (!hv_core_symbol(d->core, "tk_core", &keeper) &&
	     !hv_core_symbol(d->core, "timekeeper_data", &keeper)) ||
	    !read_clock(d->core, fast, keeper, &c) || !is_read_base(&c))
		return;
	derive_source(d, &c);
	derive_fast(d);
	derive_keeper(d, &c, keeper);
}
