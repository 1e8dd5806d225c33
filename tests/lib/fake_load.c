/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_load.h"

#include "kernel/kernel.h"
#include "tracer/session.h"
#include "tracer/sites/site_trampolines.h"

struct hv_load {
	const struct hv_session *session;
};

static struct {
	uint64_t ppm;
	const uint64_t *ips;
	const uint64_t *costs;
	size_t nr;
} fake;

void hv_fake_load(uint64_t ppm, const uint64_t *ips, const uint64_t *costs, size_t nr)
{
	fake.ppm = ppm;
	fake.ips = ips;
	fake.costs = costs;
	fake.nr = nr;
}

struct hv_load *hv_load_new(const struct hv_session *s)
{
	struct hv_load *l = hv_alloc(sizeof(*l));

	l->session = s;
	return l;
}

void hv_load_free(struct hv_load *l)
{
	free(l);
}

void hv_load_view_deinit(struct hv_load_view *view)
{
	free(view->functions);
}

/* An address without a site counts as called: its records stay in the rings. */
static bool is_called(const struct hv_session *s, uint64_t ip)
{
	const uint8_t *now = hv_site_trampolines_now(s->trampolines);

	for (size_t i = 0; i < s->kernel->sites.nr; i++)
		if (s->kernel->sites.list[i].ip.v == ip)
			return now[i];
	return true;
}

void hv_load_look(struct hv_load *l, uint64_t now_ns, struct hv_load_view *ret)
{
	uint64_t whole = 0;

	(void)now_ns;
	*ret = (struct hv_load_view){.functions = hv_alloc(fake.nr * sizeof(*ret->functions))};
	for (size_t i = 0; i < fake.nr; i++) {
		whole += fake.costs[i];
		if (!is_called(l->session, fake.ips[i]))
			continue;
		ret->functions[ret->nr].ip = hv_gva(fake.ips[i]);
		ret->functions[ret->nr++].cost = fake.costs[i];
		ret->cost += fake.costs[i];
	}
	ret->ppm = whole ? fake.ppm * ret->cost / whole : 0;
}
