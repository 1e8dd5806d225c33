/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the guest's clock from each CPU's scale. */
#include "kernel/clock.h"

#include <string.h>

#include "kernel/fields.h"
#include "kernel/kernel.h"
#include "kernel/kernel_arch.h"
#include "kernel/wall_clock.h"

struct hv_clock {
	struct hv_kernel *k; /* borrowed */
	unsigned nr_cpus;
	struct hv_clock_source *source; /* owned; NULL: HV_CLOCK_RAW */
	struct hv_clock_scale scales[HV_CLOCK_CPUS_MAX];
};

static struct hv_err *refresh_cpu(struct hv_clock *c, unsigned cpu)
{
	struct hv_clock_scale now = {0};
	struct hv_err *err = c->source->read(c->source, &c->k->core, cpu, &now);

	if (!err && now.mul)
		c->scales[cpu] = now;
	return err;
}

struct hv_err *hv_clock_refresh(struct hv_clock *c)
{
	struct hv_err *err = NULL;

	for (unsigned cpu = 0; !err && c->source && cpu < c->nr_cpus; cpu++)
		if (hv_cpu_in(&c->k->core, "__cpu_possible_mask", cpu))
			err = refresh_cpu(c, cpu);
	return hv_err_in(err, "clock");
}

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret)
{
	struct hv_clock *c = hv_alloc(sizeof(*c));
	struct hv_err *err;

	c->k = k;
	c->nr_cpus = k->layout.nr_cpus < HV_CLOCK_CPUS_MAX ? k->layout.nr_cpus : HV_CLOCK_CPUS_MAX;
	err = hv_err_in(hv_kernel_arch_of(&k->core)->find_clock(&k->core, &c->source), "clock");
	if (!err)
		err = hv_clock_refresh(c);
	if (err) {
		hv_clock_free(c);
		return err;
	}
	*ret = c;
	return NULL;
}

void hv_clock_free(struct hv_clock *c)
{
	if (c)
		free(c->source);
	free(c);
}

enum hv_clock_kind hv_clock_kind(const struct hv_clock *c)
{
	return c->source ? c->source->kind : HV_CLOCK_RAW;
}

static inline uint64_t scaled(const struct hv_clock_scale *s, uint64_t ticks)
{
	unsigned up = s->up < 64 ? s->up : 63, down = s->down < 64 ? s->down : 63;
	unsigned __int128 product = (unsigned __int128)(ticks << up >> down) * s->mul;

	return s->shift < 128 ? (uint64_t)(product >> s->shift) : 0;
}

/* If CPU had no scale yet when the scales were last read, another CPU's is used. */
static const struct hv_clock_scale *scale_of(const struct hv_clock *c, unsigned cpu)
{
	const struct hv_clock_scale *s = &c->scales[cpu < c->nr_cpus ? cpu : 0];

	for (unsigned i = 0; !s->mul && i < c->nr_cpus; i++)
		s = &c->scales[i];
	return s;
}

static inline uint64_t ns_of(const struct hv_clock_scale *s, uint64_t tsc)
{
	/* The scale is newer than the record: computed backwards from it. */
	if (tsc < s->base_tsc)
		return s->base_ns - scaled(s, s->base_tsc - tsc);
	return s->base_ns + scaled(s, tsc - s->base_tsc);
}

uint64_t hv_clock_ns(const struct hv_clock *c, unsigned cpu, uint64_t tsc)
{
	return c->source ? ns_of(scale_of(c, cpu), tsc) : tsc;
}

void hv_clock_all_ns(const struct hv_clock *c, unsigned cpu, uint64_t *times, size_t nr)
{
	const struct hv_clock_scale s = *scale_of(c, cpu);

	for (size_t i = 0; c->source && i < nr; i++)
		times[i] = ns_of(&s, times[i]);
}

static const struct hv_clock_scale *any_scale(const struct hv_clock *c)
{
	const struct hv_clock_scale *s = &c->scales[0];

	for (unsigned i = 1; !s->mul && i < c->nr_cpus; i++)
		s = &c->scales[i];
	return s;
}

uint64_t hv_clock_span_ns(const struct hv_clock *c, uint64_t ticks)
{
	return !c->source ? ticks : scaled(any_scale(c), ticks);
}

uint64_t hv_clock_ticks(const struct hv_clock *c, uint64_t ns)
{
	const struct hv_clock_scale *s = any_scale(c);
	uint64_t low = 0, high = UINT64_C(1) << 62;

	if (!c->source)
		return ns;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (scaled(s, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The time on the clock when its guest's clocksource showed the cycles of M. */
static struct hv_err *clock_at(const struct hv_clock *c, const struct hv_wall_moment *m,
			       uint64_t *ret_ns)
{
	const struct hv_clock_source *source = c->source;
	uint64_t offset_ns;
	struct hv_err *err;

	if (strcmp(m->clocksource, source->counter_name) == 0) {
		*ret_ns = hv_clock_ns(c, 0, m->cycles);
		return NULL;
	}
	if (!source->ns_name || strcmp(m->clocksource, source->ns_name) != 0)
		return hv_err_new(ENOENT, "time of day: it is kept by another counter");
	err = source->read_offset(source, &c->k->core, &offset_ns);
	if (!err)
		*ret_ns = m->cycles - offset_ns;
	return err;
}

bool hv_clock_epoch_ns(const struct hv_clock *c, uint64_t *ret)
{
	struct hv_wall_moment m;
	uint64_t ns = 0;
	struct hv_err *err;

	if (!c->source)
		return false;
	err = hv_wall_clock_read(&c->k->core, &m);
	if (!err)
		err = clock_at(c, &m, &ns);
	if (!err && m.realtime_ns > ns && m.realtime_ns - ns <= INT64_MAX)
		*ret = m.realtime_ns - ns;
	else if (!err)
		err = hv_err_new(ERANGE, "time of day: before 1970, or after 2262");
	if (!err)
		return true;
	hv_err_free(err);
	return false;
}
