/* SPDX-License-Identifier: GPL-2.0-or-later */
/* There are two copies of struct tk_read_base: the kernel updates one while readers use the other.
 * The lowest bit of seq selects the copy to read (__ktime_get_fast_ns()). */
#include "kernel/clock/timekeeper.h"

#include <string.h>

#include "kernel/core/fields.h"

#define COPY_MAX  256u /* maximum size of struct tk_fast */
#define READS_MAX 16
#define LOCK_MAX  64u /* maximum size of the seqcount before the timekeeper */

/* Finds struct timekeeper, which is in the variable tk_core, or in newer kernels in the first of an
 * array of struct tk_data. If the type is anonymous, a seqcount whose size depends on the
 * configuration precedes the timekeeper: the right offset is where the clocksource equals that of
 * tk_fast_mono. */
static struct hv_err *find_core(const struct hv_kernel_core *core,
				const struct hv_timekeeper_layout *l, uint32_t tkr,
				struct hv_gva *ret)
{
	static const char *const names[] = {"tk_core", "timekeeper_data"};
	struct hv_gva at = {0};
	uint64_t clock, other;
	uint32_t off;
	struct hv_err *err;

	for (size_t i = 0; i < HV_ARRAY_LEN(names) && !at.v; i++)
		hv_core_symbol(core, names[i], &at);
	if (!at.v)
		return hv_err_new(ENOENT, "kernel without the symbol %s", names[0]);
	if (hv_btf_member(core->btf, "tk_data", "timekeeper", &off, NULL)) {
		*ret = hv_gva_add(at, off);
		return NULL;
	}
	err = hv_read_u64(&core->as, hv_gva_add(l->fast, l->base + l->clock), &clock);
	for (off = 0; !err && off < LOCK_MAX; off += sizeof(uint64_t)) {
		err = hv_read_u64(&core->as, hv_gva_add(at, off + tkr + l->clock), &other);
		if (err || other != clock || !clock)
			continue;
		*ret = hv_gva_add(at, off);
		return NULL;
	}
	return err ? err : hv_err_new(ENOENT, "the timekeeper is not in %s", names[0]);
}

/* Without the offsets, boot and tai are unavailable. */
static void find_offsets(const struct hv_kernel_core *core, struct hv_timekeeper_layout *l)
{
	uint32_t tkr, boot, tai;
	const struct hv_field fields[] = {
		{"tkr_mono", 8, &tkr}, {"offs_boot", 8, &boot}, {"offs_tai", 8, &tai}};
	struct hv_gva at = {0};
	struct hv_err *err = hv_fields_find(core, "timekeeper", fields, HV_ARRAY_LEN(fields));

	if (!err)
		err = find_core(core, l, tkr, &at);
	if (!err) {
		l->boot_at = hv_gva_add(at, boot);
		l->tai_at = hv_gva_add(at, tai);
	}
	hv_err_free(err);
}

struct hv_err *hv_timekeeper_find(const struct hv_kernel_core *core,
				  struct hv_timekeeper_layout *ret)
{
	struct hv_timekeeper_layout l = {.fast_bytes = 0};
	const struct hv_field outer[] = {{"seq", 4, &l.seq}, {"base", 16, &l.base}};
	const struct hv_field inner[] = {{"clock", 8, &l.clock},
					 {"cycle_last", 8, &l.cycle_last},
					 {"mult", 4, &l.mult},
					 {"shift", 4, &l.shift},
					 {"xtime_nsec", 8, &l.xtime_nsec},
					 {"base", 8, &l.base_mono},
					 {"base_real", 8, &l.base_real}};
	const struct hv_field source[] = {{"name", 8, &l.name}};
	struct hv_err *err;

	if (!hv_core_symbol(core, "tk_fast_mono", &l.fast))
		return hv_err_new(ENOENT, "kernel without the symbol tk_fast_mono");
	err = hv_fields_find(core, "tk_fast", outer, HV_ARRAY_LEN(outer));
	if (!err)
		err = hv_fields_find(core, "tk_read_base", inner, HV_ARRAY_LEN(inner));
	if (!err)
		err = hv_fields_find(core, "clocksource", source, HV_ARRAY_LEN(source));
	if (err)
		return err;
	if (!hv_btf_size(core->btf, "tk_fast", &l.fast_bytes) || l.fast_bytes > COPY_MAX ||
	    !hv_btf_size(core->btf, "tk_read_base", &l.base_bytes) ||
	    l.base + 2 * (uint64_t)l.base_bytes > l.fast_bytes)
		return hv_err_new(ENOENT, "BTF: struct tk_fast has an unknown layout");
	find_offsets(core, &l);
	*ret = l;
	return NULL;
}

/* Reads struct tk_fast, and retries if its seq changes. */
static struct hv_err *read_copy(const struct hv_kernel_core *core,
				const struct hv_timekeeper_layout *l, uint8_t *bytes)
{
	struct hv_span copy = {bytes, l->fast_bytes};

	for (unsigned i = 0; i < READS_MAX; i++) {
		uint8_t now[4];
		struct hv_err *err = hv_read(&core->as, l->fast, bytes, l->fast_bytes);

		if (!err)
			err = hv_read(&core->as, hv_gva_add(l->fast, l->seq), now, sizeof(now));
		if (err)
			return err;
		if (hv_copy_u32((struct hv_span){now, sizeof(now)}, 0) == hv_copy_u32(copy, l->seq))
			return NULL;
	}
	return hv_err_new(EAGAIN, "tk_fast_mono changed during each read; retry");
}

/* The name may be at the end of a page, so it is read byte by byte. */
static struct hv_err *read_name(const struct hv_kernel_core *core, struct hv_gva clock,
				uint32_t off, char ret[HV_CLOCKSOURCE_NAME_LEN])
{
	uint64_t at;
	struct hv_err *err = hv_read_u64(&core->as, hv_gva_add(clock, off), &at);

	memset(ret, 0, HV_CLOCKSOURCE_NAME_LEN);
	for (unsigned i = 0; !err && i < HV_CLOCKSOURCE_NAME_LEN - 1; i++) {
		err = hv_read(&core->as, hv_gva(at + i), &ret[i], 1);
		if (!ret[i])
			break;
	}
	return err;
}

static struct hv_err *read_offset(const struct hv_kernel_core *core, struct hv_gva at,
				  uint64_t *ret)
{
	return at.v ? hv_read_u64(&core->as, at, ret) : NULL;
}

/* The kernel, too, reads the offsets without the seqcount (ktime_get_boot_fast_ns()). */
struct hv_err *hv_timekeeper_read(const struct hv_kernel_core *core,
				  const struct hv_timekeeper_layout *l,
				  struct hv_timekeeper_moment *ret)
{
	struct hv_timekeeper_moment m = {.cycles = 0};
	uint8_t bytes[COPY_MAX];
	struct hv_span base;
	uint32_t seq;
	struct hv_err *err = read_copy(core, l, bytes);

	if (err)
		return err;
	seq = hv_copy_u32((struct hv_span){bytes, l->fast_bytes}, l->seq);
	base = (struct hv_span){bytes + l->base + (seq & 1) * l->base_bytes, l->base_bytes};
	m.cycles = hv_copy_u64(base, l->cycle_last);
	m.base_ns = hv_copy_u64(base, l->base_mono);
	m.shifted_ns = hv_copy_u64(base, l->xtime_nsec);
	m.mult = hv_copy_u32(base, l->mult);
	m.shift = hv_copy_u32(base, l->shift);
	m.realtime_ns =
		hv_copy_u64(base, l->base_real) + (m.shift < 64 ? m.shifted_ns >> m.shift : 0);
	err = read_name(core, hv_gva(hv_copy_u64(base, l->clock)), l->name, m.clocksource);
	if (!err)
		err = read_offset(core, l->boot_at, &m.boot_ns);
	if (!err)
		err = read_offset(core, l->tai_at, &m.tai_ns);
	if (!err)
		*ret = m;
	return err;
}
