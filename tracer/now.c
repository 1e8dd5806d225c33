/* The clocks of a session: what time an event has, and what time it is now. */
#include "tracer/session_state.h"

enum hv_clock_kind hv_session_guest_clock(const struct hv_session *s)
{
	return hv_clock_kind(s->clock);
}

enum hv_clock_kind hv_session_clock(const struct hv_session *s)
{
	return s->uses_host_clock ? HV_CLOCK_HOST : hv_clock_kind(s->clock);
}

bool hv_session_has_host_clock(const struct hv_session *s)
{
	return s->host_clock != NULL;
}

void hv_session_use_host_clock(struct hv_session *s, unsigned on)
{
	s->uses_host_clock = on && s->host_clock;
}

void hv_session_refresh_clock(struct hv_session *s)
{
	/* The parameters read last go on to serve when the guest's memory cannot be read now. */
	hv_err_free(hv_clock_refresh(s->clock));
	if (s->host_clock)
		hv_host_clock_refresh(s->host_clock);
}

uint64_t hv_session_event_ns(const struct hv_session *s, unsigned cpu, uint64_t tsc)
{
	if (s->uses_host_clock)
		return hv_host_clock_ns(s->host_clock, cpu, tsc);
	return hv_clock_ns(s->clock, cpu, tsc);
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

bool hv_session_now_ns(struct hv_session *s, uint64_t *ret)
{
	uint64_t ticks;

	if (hv_session_now_ticks(s, 0, &ticks)) {
		*ret = hv_session_event_ns(s, 0, ticks);
		return true;
	}
	hv_session_sample_now(s);
	return hv_now_at(&s->now, hv_now_ns(), ret);
}
