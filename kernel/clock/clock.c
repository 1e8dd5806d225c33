/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the guest's clock from each CPU's scale. */
#include "kernel/clock/clock.h"

#include <string.h>

#include "base/bisect.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"
#include "kernel/arch/kernel_arch.h"

struct hv_clock {
	struct hv_kernel *k; /* borrowed */
	unsigned nr_cpus;
	struct hv_clock_source *source; /* owned; NULL: HV_CLOCK_RAW */
	struct hv_clock_scale scales[HV_CLOCK_CPUS_MAX];
	struct hv_timekeeper_layout keeper;
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
	hv_err_free(hv_timekeeper_find(&k->core, &c->keeper));
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

/* Uses another CPU's scale if CPU had none when the scales were last read. */
static const struct hv_clock_scale *scale_of(const struct hv_clock *c, unsigned cpu)
{
	const struct hv_clock_scale *s = &c->scales[cpu < c->nr_cpus ? cpu : 0];

	for (unsigned i = 0; !s->mul && i < c->nr_cpus; i++)
		s = &c->scales[i];
	return s;
}

static inline uint64_t ns_of(const struct hv_clock_scale *s, uint64_t tsc)
{
	/* The scale is newer than the record: compute backwards. */
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

	return c->source ? HV_BISECT(ticks, UINT64_C(1) << 62, scaled(s, ticks) < ns) : ns;
}

/* Finds out whether the clocksource NAME counts the counter's cycles or ns of this clock. */
static struct hv_err *find_cycles(const struct hv_clock *c, const char *name, struct hv_cycles *ret)
{
	const struct hv_clock_source *source = c->source;
	struct hv_cycles found = {.are_ns = false};
	struct hv_err *err = NULL;

	if (!source)
		return hv_err_new(ENOENT, "the guest's clock is not known");
	found.are_ns = source->ns_name && strcmp(name, source->ns_name) == 0;
	if (!found.are_ns && strcmp(name, source->counter_name) != 0)
		return hv_err_new(ENOENT, "the guest keeps the time by another counter than its "
					  "trace clock");
	if (found.are_ns)
		err = source->read_offset(source, &c->k->core, &found.offset_ns);
	if (!err)
		*ret = found;
	return err;
}

struct hv_err *hv_clock_read_keeper(const struct hv_clock *c, struct hv_timekeeper_moment *ret,
				    struct hv_cycles *ret_cycles)
{
	struct hv_timekeeper_moment m;
	struct hv_err *err = NULL;

	if (!c->keeper.fast.v)
		err = hv_err_new(ENOENT, "the guest's timekeeper has an unknown layout");
	if (!err)
		err = hv_timekeeper_read(&c->k->core, &c->keeper, &m);
	if (!err)
		err = find_cycles(c, m.clocksource, ret_cycles);
	if (err)
		return err;
	*ret = m;
	return NULL;
}

uint64_t hv_clock_cycles(const struct hv_clock *c, const struct hv_cycles *what, unsigned cpu,
			 uint64_t tsc)
{
	return what->are_ns ? hv_clock_ns(c, cpu, tsc) + what->offset_ns : tsc;
}

static bool read_symbol(const struct hv_kernel_core *core, const char *name, uint64_t *ret)
{
	struct hv_gva at;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_core_symbol(core, name, &at))
		return false;
	err = hv_read_u64(&core->as, at, ret);
	return !err;
}

/* Reads the newest tick from per-CPU data of a kernel with an unstable sched_clock() (struct
 * sched_clock_data, kernel/sched/clock.c). */
static struct hv_err *read_ticks(const struct hv_clock *c, struct hv_clock_global *ret)
{
	const struct hv_kernel_core *core = &c->k->core;
	uint32_t raw, gtod;
	const struct hv_field fields[] = {{"tick_raw", 8, &raw}, {"tick_gtod", 8, &gtod}};
	struct hv_gva data, at;
	struct hv_err *err = hv_fields_find(core, "sched_clock_data", fields, HV_ARRAY_LEN(fields));

	if (!err && !hv_core_symbol(core, "sched_clock_data", &data))
		err = hv_err_new(ENOENT, "kernel without the symbol sched_clock_data");
	for (unsigned cpu = 0; !err && cpu < c->nr_cpus; cpu++) {
		uint64_t tick = 0, global = 0;

		if (!hv_cpu_in(core, "__cpu_online_mask", cpu))
			continue;
		err = hv_core_percpu(core, data.v, cpu, &at);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, raw), &tick);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, gtod), &global);
		if (err || tick <= ret->tick_ns)
			continue;
		ret->tick_ns = tick;
		ret->global_ns = global;
	}
	return err;
}

struct hv_err *hv_clock_read_global(const struct hv_clock *c, struct hv_clock_global *ret)
{
	const struct hv_kernel_core *core = &c->k->core;
	struct hv_clock_global found = {.is_stable = true};
	struct hv_gva key;
	uint32_t enabled = 1;
	uint64_t offset = 0;
	struct hv_err *err = NULL;

	if (!c->source)
		return hv_err_new(ENOENT, "the guest's clock is not known");
	if (hv_core_symbol(core, "__sched_clock_stable", &key))
		err = hv_read_u32(&core->as, key, &enabled); /* atomic_t enabled is first */
	if (err)
		return err;
	found.is_stable = enabled != 0;
	if (found.is_stable) {
		read_symbol(core, "__sched_clock_offset", &found.offset_ns);
	} else {
		err = read_ticks(c, &found);
		if (!err && !found.tick_ns)
			err = hv_err_new(ENOENT, "the guest's clock has not ticked yet");
		read_symbol(core, "__gtod_offset", &offset);
		found.global_ns += offset;
	}
	if (!err)
		*ret = found;
	return err;
}

bool hv_clock_epoch_ns(const struct hv_clock *c, uint64_t *ret)
{
	struct hv_timekeeper_moment m;
	struct hv_cycles cycles;
	uint64_t ns;
	HV_AUTO_ERR struct hv_err *err = hv_clock_read_keeper(c, &m, &cycles);

	if (err)
		return false;
	ns = cycles.are_ns ? m.cycles - cycles.offset_ns : hv_clock_ns(c, 0, m.cycles);
	/* Not before 1970, nor after 2262. */
	if (m.realtime_ns <= ns || m.realtime_ns - ns > INT64_MAX)
		return false;
	*ret = m.realtime_ns - ns;
	return true;
}
