/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/shares.h"

#include <stdlib.h>

void hv_shares_deinit(struct hv_shares *s)
{
	free(s->list);
	*s = (struct hv_shares){0};
}

uint64_t hv_share_taken_ns(const struct hv_share *s)
{
	uint64_t taken_ns = s->waited_ns + s->stopped_ns;

	return taken_ns < s->window_ns ? taken_ns : s->window_ns;
}

uint64_t hv_share_halted_ns(const struct hv_share *s)
{
	uint64_t used_ns = s->ran_ns + hv_share_taken_ns(s);

	return used_ns < s->window_ns ? s->window_ns - used_ns : 0;
}

bool hv_share_decides(const struct hv_share *s)
{
	return s->window_ns && hv_share_taken_ns(s) >= s->window_ns / HV_SHARE_PART;
}

const struct hv_share *hv_shares_deciding(const struct hv_shares *s, unsigned cpu)
{
	return s && cpu < s->nr && hv_share_decides(&s->list[cpu]) ? &s->list[cpu] : NULL;
}

const struct hv_share *hv_shares_worst(const struct hv_shares *s)
{
	const struct hv_share *worst = NULL;

	for (unsigned cpu = 0; s && cpu < s->nr; cpu++)
		if (hv_shares_deciding(s, cpu) &&
		    (!worst || hv_share_taken_ns(&s->list[cpu]) > hv_share_taken_ns(worst)))
			worst = &s->list[cpu];
	return worst;
}
