/* SPDX-License-Identifier: GPL-2.0-or-later */
/* There are two copies of struct tk_read_base: while one is written, the other is read, which the
 * lowest bit of seq tells (__ktime_get_real_fast()). */
#include "kernel/wall_clock.h"

#include <string.h>

#include "kernel/fields.h"

#define COPY_MAX  256u /* bytes of struct tk_fast */
#define READS_MAX 16

/* Offsets of members. */
struct places {
	struct hv_gva at;   /* of struct tk_fast */
	uint32_t len_bytes; /* of struct tk_fast */
	uint32_t seq, base; /* struct tk_fast */
	uint32_t base_len_bytes;
	uint32_t clock, cycle_last, shift, xtime_nsec, base_real; /* struct tk_read_base */
	uint32_t name;						  /* struct clocksource */
};

static struct hv_err *find(const struct hv_kernel_core *core, struct places *ret)
{
	const struct hv_field outer[] = {{"seq", 4, &ret->seq}, {"base", 16, &ret->base}};
	const struct hv_field inner[] = {{"clock", 8, &ret->clock},
					 {"cycle_last", 8, &ret->cycle_last},
					 {"shift", 4, &ret->shift},
					 {"xtime_nsec", 8, &ret->xtime_nsec},
					 {"base_real", 8, &ret->base_real}};
	const struct hv_field source[] = {{"name", 8, &ret->name}};
	struct hv_err *err;

	if (!hv_core_symbol(core, "tk_fast_mono", &ret->at))
		return hv_err_new(ENOENT, "kernel without the symbol tk_fast_mono");
	err = hv_fields_find(core, "tk_fast", outer, HV_ARRAY_LEN(outer));
	if (!err)
		err = hv_fields_find(core, "tk_read_base", inner, HV_ARRAY_LEN(inner));
	if (!err)
		err = hv_fields_find(core, "clocksource", source, HV_ARRAY_LEN(source));
	if (err)
		return err;
	if (!hv_btf_size(core->btf, "tk_fast", &ret->len_bytes) || ret->len_bytes > COPY_MAX ||
	    !hv_btf_size(core->btf, "tk_read_base", &ret->base_len_bytes))
		return hv_err_new(ENOENT, "btf: struct tk_fast is not as known");
	return NULL;
}

/* Reads all of struct tk_fast while its seq stays the same. */
static struct hv_err *read_copy(const struct hv_kernel_core *core, const struct places *p,
				uint8_t *bytes)
{
	struct hv_span copy = {bytes, p->len_bytes};

	for (unsigned i = 0; i < READS_MAX; i++) {
		uint8_t now[4];
		struct hv_err *err = hv_read(&core->as, p->at, bytes, p->len_bytes);

		if (!err)
			err = hv_read(&core->as, hv_gva_add(p->at, p->seq), now, sizeof(now));
		if (err)
			return err;
		if (hv_copy_u32((struct hv_span){now, sizeof(now)}, 0) == hv_copy_u32(copy, p->seq))
			return NULL;
	}
	return hv_err_new(EAGAIN, "tk_fast_mono was written all the time");
}

/* The name may stand at the end of a page, so it is read byte by byte. */
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

struct hv_err *hv_wall_clock_read(const struct hv_kernel_core *core, struct hv_wall_moment *ret)
{
	struct hv_wall_moment moment;
	uint8_t bytes[COPY_MAX];
	struct places p;
	struct hv_span base;
	uint32_t seq, shift;
	struct hv_err *err = find(core, &p);

	if (!err)
		err = read_copy(core, &p, bytes);
	if (err)
		return hv_err_in(err, "time of day");
	seq = hv_copy_u32((struct hv_span){bytes, p.len_bytes}, p.seq);
	base = (struct hv_span){bytes, p.base + (1 + (seq & 1)) * p.base_len_bytes};
	if (base.len_bytes > p.len_bytes)
		return hv_err_new(ENOENT, "time of day: btf: struct tk_fast is too short");
	base = (struct hv_span){bytes + p.base + (seq & 1) * p.base_len_bytes, p.base_len_bytes};
	shift = hv_copy_u32(base, p.shift);
	moment.cycles = hv_copy_u64(base, p.cycle_last);
	moment.realtime_ns = hv_copy_u64(base, p.base_real) +
			     (shift < 64 ? hv_copy_u64(base, p.xtime_nsec) >> shift : 0);
	err = read_name(core, hv_gva(hv_copy_u64(base, p.clock)), p.name, moment.clocksource);
	if (err)
		return hv_err_in(err, "time of day");
	*ret = moment;
	return NULL;
}
