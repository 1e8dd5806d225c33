/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merges host events into the guest's events, and passes calls as briefs if all consumers accept
 * them. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/fake_host.h"
#include "tests/lib/fake_session.h"
#include "tests/lib/run_suite.h"
#include "tree/instance/core/drain.h"

static struct hv_session *session;
static struct hv_drain *drain;
static char passed[256]; /* "g1000 h2000 ": guest and host events with their times */

static void note(char whose, const struct hv_event *event)
{
	size_t len = strlen(passed);

	snprintf(passed + len, sizeof(passed) - len, "%c%llu ", whose,
		 (unsigned long long)event->time_ns);
}

static void take(struct hv_consumer *consumer, const struct hv_cursor *cursor,
		 const struct hv_event *event)
{
	(void)consumer;
	(void)cursor;
	note('g', event);
}

static void take_host(struct hv_consumer *consumer, const struct hv_host_item *item)
{
	(void)consumer;
	note('h', &item->event);
}

static unsigned brief_kinds(const struct hv_consumer *consumer)
{
	(void)consumer;
	return HV_BRIEF_KIND(HV_EVENT_FUNCTION);
}

static void take_briefs(struct hv_consumer *consumer, const struct hv_cursor *cursor,
			const struct hv_brief *briefs, size_t nr)
{
	(void)consumer;
	(void)cursor;
	for (size_t i = 0; i < nr; i++)
		note('b', &(struct hv_event){.time_ns = briefs[i].time_ns});
}

static struct hv_consumer consumer = {.take = take, .take_host = take_host};
static struct hv_consumer brief_consumer = {.take = take,
					    .brief_kinds = brief_kinds,
					    .take_briefs = take_briefs,
					    .take_host = take_host};

static void setup(void)
{
	session = hv_fake_new();
	drain = hv_drain_new(session);
	hv_drain_add(drain, &consumer);
}

static void teardown(void)
{
	hv_drain_free(drain);
	hv_fake_free(session);
}

static void guest_event(uint64_t time_ns)
{
	hv_fake_event(session, &(struct hv_event){.kind = HV_EVENT_FUNCTION, .time_ns = time_ns});
}

START_TEST(host_events_between_guest_events)
{
	hv_fake_host_event(500, HV_HOST_ID_FIRST);
	hv_fake_host_event(2000, HV_HOST_ID_FIRST);
	hv_fake_host_event(2500, HV_HOST_ID_FIRST);
	guest_event(1000);
	guest_event(2100);
	guest_event(3000);
	hv_drain_run(drain);
	ck_assert_str_eq(passed, "h500 g1000 h2000 g2100 h2500 g3000 ");
}
END_TEST

/* The host events after the settled time wait: a vCPU may still be writing an earlier record. */
START_TEST(unsettled_host_events_wait)
{
	hv_fake_host_event(2000, HV_HOST_ID_FIRST);
	hv_fake_host_event(5000, HV_HOST_ID_FIRST);
	hv_fake_host_settled(4000);
	guest_event(1000);
	hv_drain_run(drain);
	ck_assert_str_eq(passed, "g1000 h2000 ");
	guest_event(4500);
	guest_event(6000);
	hv_drain_run(drain);
	ck_assert_str_eq(passed, "g1000 h2000 g4500 h5000 g6000 ");
}
END_TEST

START_TEST(settled_host_events_alone)
{
	hv_fake_host_event(2000, HV_HOST_ID_FIRST);
	hv_fake_host_settled(2001);
	hv_drain_run(drain);
	ck_assert_str_eq(passed, "h2000 ");
}
END_TEST

static void graph_event(uint64_t time_ns)
{
	hv_fake_event(session,
		      &(struct hv_event){.kind = HV_EVENT_GRAPH_ENTRY, .time_ns = time_ns});
}

/* Only requested kinds, in order with the other events. */
START_TEST(briefs_on_request)
{
	hv_drain_remove(drain, &consumer);
	hv_drain_add(drain, &brief_consumer);
	guest_event(1000);
	guest_event(2000);
	graph_event(3000);
	guest_event(4000);
	hv_drain_run(drain);
	ck_assert_str_eq(passed, "b1000 b2000 g3000 b4000 ");
}
END_TEST

START_TEST(briefs_for_all_consumers_or_none)
{
	hv_drain_add(drain, &brief_consumer);
	guest_event(1000);
	hv_drain_run(drain);
	ck_assert_str_eq(passed, "g1000 g1000 ");
}
END_TEST

START_TEST(no_briefs_between_host_events)
{
	hv_drain_remove(drain, &consumer);
	hv_drain_add(drain, &brief_consumer);
	hv_fake_host_event(1500, HV_HOST_ID_FIRST);
	guest_event(1000);
	guest_event(2000);
	hv_drain_run(drain);
	ck_assert_str_eq(passed, "g1000 h1500 g2000 ");
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, host_events_between_guest_events);
	tcase_add_test(tc, unsettled_host_events_wait);
	tcase_add_test(tc, settled_host_events_alone);
	tcase_add_test(tc, briefs_on_request);
	tcase_add_test(tc, briefs_for_all_consumers_or_none);
	tcase_add_test(tc, no_briefs_between_host_events);
}

int main(void)
{
	return run_suite_in(CK_FORK, "drain", add);
}
