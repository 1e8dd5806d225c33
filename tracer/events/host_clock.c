/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/host_clock.h"

#include <string.h>
#include <time.h>

#include "base/guard.h"

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

uint64_t hv_host_clock_guest_ticks_at(const struct hv_host_clock *c, unsigned cpu, uint64_t ticks)
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
