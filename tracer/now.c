/* The clocks of a session: what time an event has, and what time it is now. */
#include "tracer/session_state.h"

#define SEARCH_MAX 63

enum hv_clock_kind hv_session_guest_clock(const struct hv_session *s)
{
	return hv_clock_kind(s->clock);
}

bool hv_session_has_host_clock(const struct hv_session *s)
{
	return s->host_clock != NULL;
}

void hv_session_refresh_clock(struct hv_session *s)
{
	/* The parameters read last go on to serve when the guest's memory cannot be read now. */
	hv_err_free(hv_clock_refresh(s->clock));
	if (s->host_clock)
		hv_host_clock_refresh(s->host_clock);
}

uint64_t hv_session_event_ns(const struct hv_session *s, enum hv_trace_clock clock, unsigned cpu,
			     uint64_t tsc)
{
	if (clock == HV_TRACE_CLOCK_TSC)
		return tsc;
	if (clock == HV_TRACE_CLOCK_HOST)
		return hv_host_clock_ns(s->host_clock, cpu, tsc);
	return hv_clock_ns(s->clock, cpu, tsc);
}

/* A clock that was set to 0 long after the tsc began shows times before 0: they wrap. */
static bool is_before(const struct hv_session *s, unsigned cpu, uint64_t tsc, uint64_t time_ns)
{
	return (int64_t)(hv_clock_ns(s->clock, cpu, tsc) - time_ns) < 0;
}

uint64_t hv_session_ticks_at(const struct hv_session *s, unsigned cpu, uint64_t time_ns)
{
	uint64_t low = 0, high = 1;

	if (hv_clock_kind(s->clock) == HV_CLOCK_RAW)
		return time_ns;
	for (unsigned i = 0; i < SEARCH_MAX - 1 && is_before(s, cpu, high, time_ns); i++)
		high *= 2;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (is_before(s, cpu, middle, time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void hv_session_sample_now(struct hv_session *s)
{
	uint64_t nr_holds = hv_patcher_holds(s->patcher)->nr;

	if (s->host_clock)
		return;
	if (nr_holds != s->now_holds)
		hv_now_restart(&s->now);
	s->now_holds = nr_holds;
	if (hv_clock_kind(s->clock) != HV_CLOCK_RAW)
		hv_now_sample(&s->now, hv_now_ns());
}

bool hv_session_now_ticks(const struct hv_session *s, unsigned cpu, uint64_t *ret)
{
	if (!s->host_clock)
		return false;
	*ret = hv_host_clock_guest_ticks(s->host_clock, cpu);
	return true;
}

bool hv_session_now_ns(struct hv_session *s, enum hv_trace_clock clock, uint64_t *ret)
{
	uint64_t ticks, ns;

	if (hv_session_now_ticks(s, 0, &ticks)) {
		*ret = hv_session_event_ns(s, clock, 0, ticks);
		return true;
	}
	hv_session_sample_now(s);
	if (!hv_now_at(&s->now, hv_now_ns(), &ns))
		return false;
	*ret = clock == HV_TRACE_CLOCK_TSC ? hv_session_ticks_at(s, 0, ns) : ns;
	return true;
}
