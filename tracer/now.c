/* What the guest's trace clock shows at this moment. */
#include "tracer/session_state.h"

void hv_session_sample_now(struct hv_session *s)
{
	uint64_t nr_holds = hv_patcher_holds(s->patcher)->nr;

	if (nr_holds != s->now_holds)
		hv_now_restart(&s->now);
	s->now_holds = nr_holds;
	if (hv_clock_kind(s->clock) != HV_CLOCK_RAW)
		hv_now_sample(&s->now, hv_now_ns());
}

bool hv_session_now_ns(struct hv_session *s, uint64_t *ret)
{
	hv_session_sample_now(s);
	return hv_now_at(&s->now, hv_now_ns(), ret);
}
