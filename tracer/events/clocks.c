/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/clocks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bisect.h"
#include "base/clock.h"
#include "base/guard.h"
#include "kernel/clock/clock.h"
#include "patcher/patcher.h"
#include "vmm/tsc.h"

/* -- the host's clock -------------------------------------------------------------------------- */

#define EPOCHS_MAX 8
#define SKEW_TICKS 1000000
#define WARM_UP_NS 5000000 /* between the first two samples; a rate is needed immediately */

/* A period in which KVM's offset and ratio of each vCPU's counter were constant. */
struct epoch {
	uint64_t from_ticks; /* host counter at the last check before the epoch was seen */
	uint64_t to_ticks;   /* host counter at the first check that saw another epoch */
	struct hv_tsc *tscs; /* owned, one per vCPU */
};

struct hv_host_clock {
	struct hv_guest *guest; /* borrowed */
	unsigned nr_vcpus;
	struct hv_host_time time;
	struct epoch epochs[EPOCHS_MAX]; /* newest first */
	unsigned nr_epochs;
	uint64_t looked_ticks;
};

/* Returns NULL if unknown now. */
static struct hv_tsc *read_tscs(const struct hv_host_clock *c)
{
	struct hv_tsc *tscs = hv_alloc(c->nr_vcpus * sizeof(*tscs));

	for (unsigned i = 0; i < c->nr_vcpus; i++) {
		HV_AUTO_ERR struct hv_err *err = hv_guest_tsc(c->guest, i, &tscs[i]);

		if (err) {
			free(tscs);
			return NULL;
		}
	}
	return tscs;
}

static bool are_same(const struct hv_host_clock *c, const struct hv_tsc *a, const struct hv_tsc *b)
{
	for (unsigned i = 0; i < c->nr_vcpus; i++)
		if (a[i].ratio != b[i].ratio || a[i].frac_bits != b[i].frac_bits ||
		    a[i].offset != b[i].offset)
			return false;
	return true;
}

/* Takes ownership of TSCS. */
static void begin_epoch(struct hv_host_clock *c, struct hv_tsc *tscs, uint64_t now_ticks)
{
	if (c->nr_epochs == EPOCHS_MAX)
		free(c->epochs[--c->nr_epochs].tscs);
	memmove(c->epochs + 1, c->epochs, c->nr_epochs * sizeof(c->epochs[0]));
	if (c->nr_epochs++)
		c->epochs[1].to_ticks = now_ticks;
	c->epochs[0] = (struct epoch){c->looked_ticks, UINT64_MAX, tscs};
}

static void look(struct hv_host_clock *c, uint64_t now_ticks)
{
	struct hv_tsc *tscs = read_tscs(c);

	if (!tscs)
		return;
	if (!c->nr_epochs || !are_same(c, tscs, c->epochs[0].tscs))
		begin_epoch(c, tscs, now_ticks);
	else
		free(tscs);
	c->looked_ticks = now_ticks;
}

void hv_host_clock_refresh(struct hv_host_clock *c)
{
	uint64_t ticks = 0;

	hv_host_time_sample(&c->time);
	if (hv_host_ticks(&ticks))
		look(c, ticks);
}

struct hv_host_clock *hv_host_clock_new(struct hv_guest *g)
{
	struct hv_host_clock *c = hv_alloc(sizeof(*c));
	struct timespec warm_up = {0, WARM_UP_NS};
	uint64_t ticks;

	c->guest = g;
	c->nr_vcpus = hv_guest_info(g)->nr_vcpus;
	if (hv_host_ticks(&ticks))
		look(c, ticks);
	if (!c->nr_epochs) {
		hv_host_clock_free(c);
		return NULL;
	}
	hv_host_time_sample(&c->time);
	nanosleep(&warm_up, NULL);
	hv_host_time_sample(&c->time);
	return c;
}

void hv_host_clock_free(struct hv_host_clock *c)
{
	for (unsigned i = 0; c && i < c->nr_epochs; i++)
		free(c->epochs[i].tscs);
	free(c);
}

static const struct hv_tsc *tsc_of(const struct hv_host_clock *c, unsigned epoch, unsigned cpu)
{
	return &c->epochs[epoch].tscs[cpu < c->nr_vcpus ? cpu : 0];
}

/* Returns the host's counter when the guest's was TICKS. */
static uint64_t host_ticks(const struct hv_tsc *t, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)(ticks - t->offset) << t->frac_bits) / t->ratio);
}

uint64_t hv_host_clock_ns(const struct hv_host_clock *c, unsigned cpu, uint64_t ticks)
{
	uint64_t at = host_ticks(tsc_of(c, 0, cpu), ticks), ns = 0, now = 0;

	hv_host_ticks(&now);
	for (unsigned i = 0; i < c->nr_epochs; i++) {
		uint64_t candidate = host_ticks(tsc_of(c, i, cpu), ticks);

		/* No time stamp is in the future, except for the difference between two CPUs. */
		if (candidate < c->epochs[i].from_ticks || candidate > c->epochs[i].to_ticks ||
		    candidate > now + SKEW_TICKS)
			continue;
		at = candidate;
		break;
	}
	hv_host_time_at(&c->time, at, &ns);
	return ns;
}

static uint64_t to_guest(const struct hv_tsc *t, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * t->ratio >> t->frac_bits) + t->offset;
}

/* Returns CPU's counter when the host's was TICKS. */
static uint64_t host_clock_guest_ticks_at(const struct hv_host_clock *c, unsigned cpu,
					  uint64_t ticks)
{
	unsigned epoch = 0;

	while (epoch + 1 < c->nr_epochs && ticks < c->epochs[epoch].from_ticks)
		epoch++;
	return to_guest(tsc_of(c, epoch, cpu), ticks);
}

uint64_t hv_host_clock_guest_ticks(const struct hv_host_clock *c, unsigned cpu)
{
	uint64_t ticks = 0;

	hv_host_ticks(&ticks);
	return to_guest(tsc_of(c, 0, cpu), ticks);
}

/* -- the guest's timekeeper -------------------------------------------------------------------- */

#define SLEW_MAX 100 /* NTP changes the speed of a clock by less than 1/SLEW_MAX */

static void thin_out(struct hv_timekeeping *t)
{
	size_t half = t->nr / 2, nr = 0;

	for (size_t i = 0; i < half; i += 2)
		t->list[nr++] = t->list[i];
	memmove(t->list + nr, t->list + half, (t->nr - half) * sizeof(*t->list));
	t->nr = nr + t->nr - half;
}

void hv_timekeeping_add(struct hv_timekeeping *t, const struct hv_timekeeper_moment *m)
{
	if (t->nr && m->cycles < t->list[t->nr - 1].cycles)
		t->nr = 0; /* the counter restarted */
	if (t->nr && m->cycles == t->list[t->nr - 1].cycles)
		t->nr--;
	if (!t->list)
		t->list = hv_alloc(HV_MOMENTS_MAX * sizeof(*t->list));
	if (t->nr == HV_MOMENTS_MAX)
		thin_out(t);
	t->list[t->nr++] = *m;
}

void hv_timekeeping_deinit(struct hv_timekeeping *t)
{
	free(t->list);
	*t = (struct hv_timekeeping){0};
}

/* Returns the index of the last moment at or before CYCLES, or 0. */
static size_t moment_before(const struct hv_timekeeping *t, uint64_t cycles)
{
	size_t nr = HV_BISECT(i, t->nr, t->list[i].cycles <= cycles);

	return nr ? nr - 1 : 0;
}

static uint64_t ns_before(const struct hv_timekeeper_moment *m, uint64_t cycles)
{
	uint64_t at = hv_moment_mono_ns(m, 0);

	return at - (hv_moment_mono_ns(m, m->cycles - cycles) - at);
}

/* Computes the time between A and the next moment B. */
static uint64_t ns_between(const struct hv_timekeeper_moment *a,
			   const struct hv_timekeeper_moment *b, uint64_t cycles,
			   const struct hv_timekeeper_moment **ret_of)
{
	uint64_t delta = cycles - a->cycles, span = b->cycles - a->cycles;
	uint64_t from = hv_moment_mono_ns(a, 0), to = hv_moment_mono_ns(b, 0);
	uint64_t ns = hv_moment_mono_ns(a, delta), end = hv_moment_mono_ns(a, span);
	int64_t off = (int64_t)(to - end), max = (int64_t)((end - from) / SLEW_MAX);

	*ret_of = a;
	if (off >= -max && off <= max)
		return ns + (uint64_t)(int64_t)((__int128)off * delta / span);
	/* The guest was suspended in between while its counter continued. CYCLES belong to the time
	 * before the suspend if counting back from B would give a time before A. */
	ns = ns_before(b, cycles);
	if ((int64_t)(ns - from) >= 0) {
		*ret_of = b;
		return ns;
	}
	ns = hv_moment_mono_ns(a, delta);
	return (int64_t)(ns - to) > 0 ? to : ns;
}

uint64_t hv_timekeeping_ns(const struct hv_timekeeping *t, uint64_t cycles,
			   const struct hv_timekeeper_moment **ret_of)
{
	size_t i = moment_before(t, cycles);
	const struct hv_timekeeper_moment *m = &t->list[i];

	if (i + 1 < t->nr && cycles >= m->cycles)
		return ns_between(m, m + 1, cycles, ret_of);
	*ret_of = m;
	return cycles < m->cycles ? ns_before(m, cycles) : hv_moment_mono_ns(m, cycles - m->cycles);
}

/* -- clocks of events -------------------------------------------------------------------------- */

#define SEARCH_MAX 63

struct hv_clocks {
	struct hv_clock *guest;		  /* owned */
	struct hv_host_clock *host;	  /* owned; NULL: unknown relation to the guest's counter */
	struct hv_now now;		  /* used without a host clock */
	const struct hv_hold_stat *holds; /* borrowed */
	uint64_t nr_holds;		  /* holds already passed to NOW */
	struct hv_timekeeping keeper; /* the guest's timekeeper, and the source of its cycles: */
	struct hv_cycles cycles;
	bool has_keeper; /* the last read succeeded */
	/* The guest's clock "global". If it is unstable, TICKS has a moment for each of its ticks,
	 * whose cycles are times of GUEST in ns. */
	struct hv_clock_global global;
	struct hv_timekeeping ticks;
	bool has_global;
	int64_t doubtful_ns; /* lead of a tick rejected by add_tick(); 0: none */
};

#define DOUBT_NS 500000 /* less than a tick */

/* Returns by how much `base_ns` gained on `cycles` from A to B. */
static int64_t lead_grows(const struct hv_timekeeper_moment *a,
			  const struct hv_timekeeper_moment *b)
{
	return (int64_t)((b->base_ns - b->cycles) - (a->base_ns - a->cycles));
}

static bool is_small(int64_t ns)
{
	return ns > -DOUBT_NS && ns < DOUBT_NS;
}

/* Adds the last tick. Rejects it at first if the difference of its two times has changed, because
 * the guest may have been writing the tick, so that one time still belongs to the tick before.
 * Accepts the next tick if it has the same difference, which then has another cause. */
static void add_tick(struct hv_clocks *c)
{
	const struct hv_timekeeper_moment m = {
		.cycles = c->global.tick_ns, .base_ns = c->global.global_ns, .mult = 1};
	int64_t off = c->ticks.nr ? lead_grows(&c->ticks.list[c->ticks.nr - 1], &m) : 0;
	bool is_again =
		c->doubtful_ns && is_small((int64_t)((uint64_t)off - (uint64_t)c->doubtful_ns));

	c->doubtful_ns = is_small(off) || is_again ? 0 : off;
	if (!c->doubtful_ns)
		hv_timekeeping_add(&c->ticks, &m);
}

static void sample_keepers(struct hv_clocks *c)
{
	struct hv_timekeeper_moment m;
	struct hv_cycles cycles;
	HV_AUTO_ERR struct hv_err *err = hv_clock_read_keeper(c->guest, &m, &cycles);
	HV_AUTO_ERR struct hv_err *no_global = hv_clock_read_global(c->guest, &c->global);

	c->has_keeper = !err;
	c->has_global = !no_global;
	if (!err && (cycles.are_ns != c->cycles.are_ns || cycles.offset_ns != c->cycles.offset_ns))
		hv_timekeeping_deinit(&c->keeper);
	if (!err) {
		c->cycles = cycles;
		hv_timekeeping_add(&c->keeper, &m);
	}
	if (!no_global && !c->global.is_stable)
		add_tick(c);
}

struct hv_clocks *hv_clocks_new(struct hv_clock *guest, struct hv_host_clock *host,
				struct hv_kernel *k, const struct hv_hold_stat *holds)
{
	struct hv_clocks *c = hv_alloc(sizeof(*c));

	c->guest = guest;
	c->host = host;
	hv_now_init(&c->now, k);
	c->holds = holds;
	sample_keepers(c);
	return c;
}

void hv_clocks_free(struct hv_clocks *c)
{
	if (!c)
		return;
	hv_clock_free(c->guest);
	hv_host_clock_free(c->host);
	hv_timekeeping_deinit(&c->keeper);
	hv_timekeeping_deinit(&c->ticks);
	free(c);
}

void hv_clocks_refresh(struct hv_clocks *c)
{
	/* If the guest's memory cannot be read now, keep the last parameters. */
	hv_err_free(hv_clock_refresh(c->guest));
	if (c->host)
		hv_host_clock_refresh(c->host);
}

enum hv_clock_kind hv_clocks_guest_kind(const struct hv_clocks *c)
{
	return hv_clock_kind(c->guest);
}

bool hv_clocks_has_host(const struct hv_clocks *c)
{
	return c->host != NULL;
}

const char *hv_clocks_why_not(const struct hv_clocks *c, enum hv_trace_clock clock)
{
	switch (clock) {
	case HV_TRACE_CLOCK_GUEST:
		return hv_clock_kind(c->guest) == HV_CLOCK_RAW ? "cannot find the guest's clock"
							       : NULL;
	case HV_TRACE_CLOCK_HOST:
		return c->host ? NULL : "cannot tell how the guest's counter follows the host's";
	case HV_TRACE_CLOCK_MONO:
	case HV_TRACE_CLOCK_BOOT:
	case HV_TRACE_CLOCK_TAI:
		return c->has_keeper ? NULL
				     : "the guest's timekeeping uses another counter than its "
				       "trace clock, or has an unknown layout";
	case HV_TRACE_CLOCK_GLOBAL:
		return c->has_global ? NULL : "cannot find the guest's clock";
	default:
		return NULL;
	}
}

enum hv_trace_clock hv_clocks_default(const struct hv_clocks *c)
{
	return c->has_global && !c->global.is_stable ? HV_TRACE_CLOCK_GLOBAL : HV_TRACE_CLOCK_GUEST;
}

/* If the guest's timekeeper cannot be read any longer, the moments read before are used. */
static uint64_t keeper_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			  uint64_t tsc)
{
	const struct hv_timekeeper_moment *of;
	uint64_t ns;

	if (!c->keeper.nr)
		return hv_clock_ns(c->guest, cpu, tsc);
	ns = hv_timekeeping_ns(&c->keeper, hv_clock_cycles(c->guest, &c->cycles, cpu, tsc), &of);
	if (clock == HV_TRACE_CLOCK_BOOT)
		return ns + of->boot_ns;
	return clock == HV_TRACE_CLOCK_TAI ? ns + of->tai_ns : ns;
}

static uint64_t global_ns(const struct hv_clocks *c, unsigned cpu, uint64_t tsc)
{
	const struct hv_timekeeper_moment *of;
	uint64_t ns = hv_clock_ns(c->guest, cpu, tsc);

	if (c->global.is_stable)
		return ns + c->global.offset_ns;
	return c->ticks.nr ? hv_timekeeping_ns(&c->ticks, ns, &of) : ns;
}

uint64_t hv_clocks_event_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			    uint64_t tsc)
{
	if (clock == HV_TRACE_CLOCK_TSC)
		return tsc;
	if (clock == HV_TRACE_CLOCK_HOST)
		return hv_host_clock_ns(c->host, cpu, tsc);
	if (clock == HV_TRACE_CLOCK_GLOBAL)
		return global_ns(c, cpu, tsc);
	if (clock != HV_TRACE_CLOCK_GUEST)
		return keeper_ns(c, clock, cpu, tsc);
	return hv_clock_ns(c->guest, cpu, tsc);
}

void hv_clocks_events_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			 uint64_t *times, size_t nr)
{
	if (clock == HV_TRACE_CLOCK_GUEST) {
		hv_clock_all_ns(c->guest, cpu, times, nr);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		times[i] = hv_clocks_event_ns(c, clock, cpu, times[i]);
}

/* If a clock was set to 0 long after the counter started, earlier times wrap. */
static bool is_before(const struct hv_clocks *c, unsigned cpu, uint64_t tsc, uint64_t time_ns)
{
	return (int64_t)(hv_clock_ns(c->guest, cpu, tsc) - time_ns) < 0;
}

uint64_t hv_clocks_tsc_at(const struct hv_clocks *c, unsigned cpu, uint64_t time_ns)
{
	uint64_t high = 1;

	if (hv_clock_kind(c->guest) == HV_CLOCK_RAW)
		return time_ns;
	for (unsigned i = 0; i < SEARCH_MAX - 1 && is_before(c, cpu, high, time_ns); i++)
		high *= 2;
	return HV_BISECT(tsc, high, is_before(c, cpu, tsc, time_ns));
}

void hv_clocks_sample(struct hv_clocks *c)
{
	sample_keepers(c);
	if (c->host)
		return;
	if (c->holds->nr != c->nr_holds)
		hv_now_restart(&c->now);
	c->nr_holds = c->holds->nr;
	if (hv_clock_kind(c->guest) != HV_CLOCK_RAW)
		hv_now_sample(&c->now, hv_now_ns());
}

bool hv_clocks_now_tsc(const struct hv_clocks *c, unsigned cpu, uint64_t *ret)
{
	if (!c->host)
		return false;
	*ret = hv_host_clock_guest_ticks(c->host, cpu);
	return true;
}

uint64_t hv_clocks_tsc_of_host(const struct hv_clocks *c, unsigned cpu, uint64_t host_ticks)
{
	return host_clock_guest_ticks_at(c->host, cpu, host_ticks);
}

bool hv_clocks_epoch_ns(const struct hv_clocks *c, uint64_t *ret)
{
	return hv_clock_epoch_ns(c->guest, ret);
}

bool hv_clocks_now_ns(struct hv_clocks *c, enum hv_trace_clock clock, uint64_t *ret)
{
	uint64_t tsc, ns;

	if (hv_clocks_now_tsc(c, 0, &tsc)) {
		*ret = hv_clocks_event_ns(c, clock, 0, tsc);
		return true;
	}
	hv_clocks_sample(c);
	if (!hv_now_at(&c->now, hv_now_ns(), &ns))
		return false;
	*ret = ns;
	if (clock != HV_TRACE_CLOCK_GUEST)
		*ret = hv_clocks_event_ns(c, clock, 0, hv_clocks_tsc_at(c, 0, ns));
	return true;
}
