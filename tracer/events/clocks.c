/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/clocks.h"

#include "base/clock.h"
#include "base/guard.h"
#include "kernel/now.h"
#include "patcher/patcher.h"
#include "tracer/events/host_clock.h"

#define SEARCH_MAX 63

struct hv_clocks {
	struct hv_clock *guest;		  /* owned */
	struct hv_host_clock *host;	  /* owned; NULL: the guest's counter cannot be followed */
	struct hv_now now;		  /* used if there is no host clock */
	const struct hv_hold_stat *holds; /* borrowed */
	uint64_t nr_holds;		  /* holds that NOW knows of */
};

struct hv_clocks *hv_clocks_new(struct hv_clock *guest, struct hv_host_clock *host,
				struct hv_kernel *k, const struct hv_hold_stat *holds)
{
	struct hv_clocks *c = hv_alloc(sizeof(*c));

	c->guest = guest;
	c->host = host;
	hv_now_init(&c->now, k);
	c->holds = holds;
	return c;
}

void hv_clocks_free(struct hv_clocks *c)
{
	if (!c)
		return;
	hv_clock_free(c->guest);
	hv_host_clock_free(c->host);
	free(c);
}

void hv_clocks_refresh(struct hv_clocks *c)
{
	/* If the guest's memory cannot be read now, the parameters that were read last stay in
	 * use. */
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

uint64_t hv_clocks_event_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			    uint64_t tsc)
{
	if (clock == HV_TRACE_CLOCK_TSC)
		return tsc;
	if (clock == HV_TRACE_CLOCK_HOST)
		return hv_host_clock_ns(c->host, cpu, tsc);
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

/* If a clock was set to 0 long after the counter began, times before that wrap. */
static bool is_before(const struct hv_clocks *c, unsigned cpu, uint64_t tsc, uint64_t time_ns)
{
	return (int64_t)(hv_clock_ns(c->guest, cpu, tsc) - time_ns) < 0;
}

uint64_t hv_clocks_tsc_at(const struct hv_clocks *c, unsigned cpu, uint64_t time_ns)
{
	uint64_t low = 0, high = 1;

	if (hv_clock_kind(c->guest) == HV_CLOCK_RAW)
		return time_ns;
	for (unsigned i = 0; i < SEARCH_MAX - 1 && is_before(c, cpu, high, time_ns); i++)
		high *= 2;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (is_before(c, cpu, middle, time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void hv_clocks_sample(struct hv_clocks *c)
{
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
	return hv_host_clock_guest_ticks_at(c->host, cpu, host_ticks);
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
	*ret = clock == HV_TRACE_CLOCK_TSC ? hv_clocks_tsc_at(c, 0, ns) : ns;
	return true;
}
