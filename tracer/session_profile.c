/* The counts of a profile: from the guest's tables to functions. The guest may have written
 * anything into them. */
#include "tracer/session_state.h"

#include <string.h>

#define TWO_TO_64 18446744073709551616.0L
#define SPAN_TICKS                                                                                 \
	(UINT64_C(1) << 30) /* of which the ns are told by a clock that knows ns only              \
			     */

static struct hv_count *table_of(const struct hv_session *s, unsigned cpu)
{
	return (struct hv_count *)(s->region.host + s->plan.counts_off) +
	       (size_t)cpu * s->plan.nr_counts;
}

void hv_session_clear_profile(struct hv_session *s)
{
	memset(table_of(s, 0), 0, sizeof(struct hv_count) * s->plan.nr_cpus * s->plan.nr_counts);
}

static uint64_t whole(long double value)
{
	if (!(value > 0))
		return 0;
	return value < TWO_TO_64 ? (uint64_t)value : UINT64_MAX;
}

/* The sample variance: s^2 = (sum of x^2 - (sum of x)^2 / n) / (n - 1). */
static uint64_t spread(const struct hv_count *c, long double ns_per_tick)
{
	long double squares = (long double)c->squares_high * TWO_TO_64 + (long double)c->squares;
	long double sum = (long double)c->ticks, n = (long double)c->hits;

	if (c->hits <= 1)
		return 0;
	return whole((squares - sum * sum / n) / (n - 1) * ns_per_tick * ns_per_tick / 1000);
}

/* NULL: it was not called. */
static const struct hv_count *find(const struct hv_session *s, const struct hv_count *table,
				   struct hv_gva site)
{
	uint32_t function_low = (uint32_t)(site.v - s->decode.text_base.v);
	unsigned home = hv_count_home(function_low, s->plan.nr_counts);

	for (unsigned i = home; i < home + HV_COUNT_PROBES; i++)
		if (__atomic_load_n(&table[i].function_low, __ATOMIC_RELAXED) == function_low)
			return &table[i];
	return NULL;
}

size_t hv_session_profile(struct hv_session *s, unsigned cpu, struct hv_profile_count **ret)
{
	const struct hv_sites *sites = &s->kernel->sites;
	const struct hv_count *table = table_of(s, cpu);
	long double ns_per_tick =
		(long double)hv_clock_span_ns(s->clock, SPAN_TICKS) / (long double)SPAN_TICKS;
	struct hv_profile_count *list = hv_alloc((sites->nr + 1) * sizeof(*list));
	size_t nr = 0;

	for (size_t i = 0; i < sites->nr; i++) {
		const struct hv_site *site = &sites->list[i];
		const struct hv_count *at = site->invalid ? NULL : find(s, table, site->ip);
		struct hv_count c;

		if (!at)
			continue;
		memcpy(&c, at, sizeof(c));
		if (!c.hits)
			continue;
		list[nr++] = (struct hv_profile_count){
			.site = i,
			.hits = c.hits,
			.time_ns = whole((long double)c.ticks * ns_per_tick),
			.spread_ns2 = spread(&c, ns_per_tick),
		};
	}
	*ret = list;
	return nr;
}
