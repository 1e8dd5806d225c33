/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's counter on the host's clock: offsets, scaling, and changes of both. The host's counter
 * is the real one, so all times are in its past or future. */
#include <check.h>
#include <time.h>

#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/clocks.h"
#include "vmm/tsc.h"

#define PER_NS 4 /* ticks per ns of an imaginary host */

static struct hv_tsc tscs[2];
static int failing;
static struct hv_guest *guest;
static struct hv_host_clock *c;
static uint64_t origin; /* ticks when the host's clock is 0 */

static struct hv_err *read_tsc(void *self, unsigned vcpu, struct hv_tsc *ret)
{
	(void)self;
	if (failing)
		return hv_err_new(failing, "no offset");
	*ret = tscs[vcpu];
	return NULL;
}

static struct hv_guest_ops ops = {.tsc = read_tsc};
static const struct hv_guest_info info = {.name = "fake", .id = "fake", .nr_vcpus = 2};

static uint64_t ticks_at(uint64_t ns)
{
	return origin + ns * PER_NS;
}

static uint64_t guest_ticks(unsigned cpu, uint64_t ns)
{
	const struct hv_tsc *t = &tscs[cpu];

	return (uint64_t)((unsigned __int128)ticks_at(ns) * t->ratio >> t->frac_bits) + t->offset;
}

static uint64_t now_ticks(void)
{
	uint64_t ticks = 0;

	hv_host_ticks(&ticks);
	return ticks;
}

static void begin(void)
{
	struct hv_guest *g = part_guest_new(&ops, NULL, &info);

	guest = g;
	c = hv_host_clock_new(g);
}

static void setup(void)
{
	failing = 0;
	tscs[0] = tscs[1] = (struct hv_tsc){.ratio = 1, .offset = (uint64_t)-1000000};
	origin = now_ticks();
}

static void teardown(void)
{
	hv_host_clock_free(c);
	hv_guest_free(guest);
}

START_TEST(an_unknown_tsc_gives_no_clock)
{
	failing = ENOTSUP;
	begin();
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(the_hosts_clock_of_now)
{
	struct timespec before, after;
	uint64_t ns;

	begin();
	if (!c)
		return; /* a host without a counter */
	clock_gettime(CLOCK_MONOTONIC, &before);
	ns = hv_host_clock_ns(c, 0, hv_host_clock_guest_ticks(c, 0));
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* 1 ms: two samples 5 ms apart give a rough rate. */
	ck_assert_uint_ge(ns + 1000000,
			  (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
	ck_assert_uint_le(ns,
			  (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec + 1000000);
}
END_TEST

/* Compares CPU 0 with CPU 1, which never changes, so the result does not depend on the samples of
 * the host's clock. */
static void expect_alike(uint64_t moment_ticks)
{
	uint64_t a, b;

	origin = moment_ticks;
	a = hv_host_clock_ns(c, 0, guest_ticks(0, 0));
	b = hv_host_clock_ns(c, 1, guest_ticks(1, 0));
	ck_assert_uint_le(a > b ? a - b : b - a, 2);
}

START_TEST(scaled_and_moved)
{
	uint64_t before, ns, after;

	tscs[0] = (struct hv_tsc){.ratio = UINT64_C(3) << 30, .frac_bits = 32, .offset = 12345};
	begin();
	if (!c)
		return;
	ck_assert_uint_ne(guest_ticks(0, 0), guest_ticks(1, 0));
	expect_alike(origin);
	before = hv_host_clock_ns(c, 1, hv_host_clock_guest_ticks(c, 1));
	ns = hv_host_clock_ns(c, 0, hv_host_clock_guest_ticks(c, 0));
	after = hv_host_clock_ns(c, 1, hv_host_clock_guest_ticks(c, 1));
	ck_assert_uint_le(before, ns + 2);
	ck_assert_uint_le(ns, after + 2);
}
END_TEST

START_TEST(scaled_anew)
{
	begin();
	if (!c)
		return;
	tscs[0].ratio = 5;
	hv_host_clock_refresh(c);
	expect_alike(now_ticks());
	tscs[0].frac_bits = 2;
	hv_host_clock_refresh(c);
	expect_alike(now_ticks());
}
END_TEST

/* A time stamp is converted with the offset that was valid at its time, even if a later offset
 * gives a possible time as well. */
START_TEST(moved_forth_and_back)
{
	const uint64_t far = origin / 2; /* longer than the test takes: half of the host's uptime */
	struct hv_tsc first = tscs[0];
	uint64_t early, stamp;

	begin();
	if (!c)
		return;
	tscs[0].offset = first.offset - far;
	hv_host_clock_refresh(c);
	tscs[0].offset = first.offset + (1 << 24);
	hv_host_clock_refresh(c);
	/* with the second offset, the stamp is after that offset's end; with the third, before its
	 * start */
	early = now_ticks() - far;
	stamp = early + first.offset;
	origin = early;
	ck_assert_uint_le(hv_host_clock_ns(c, 0, stamp),
			  hv_host_clock_ns(c, 1, guest_ticks(1, 0)) + 2);
	ck_assert_uint_ge(hv_host_clock_ns(c, 0, stamp) + 2,
			  hv_host_clock_ns(c, 1, guest_ticks(1, 0)));
	expect_alike(now_ticks());
}
END_TEST

START_TEST(times_before_a_change_are_kept)
{
	uint64_t early, late, early_ns;

	begin();
	if (!c)
		return;
	/* Uses values of the counter itself, so that its samples do not matter. */
	hv_host_clock_refresh(c);
	hv_host_ticks(&origin);
	early = guest_ticks(0, 0);
	early_ns = hv_host_clock_ns(c, 0, early);
	hv_host_clock_refresh(c);
	tscs[0].offset += UINT64_C(1) << 55;
	tscs[1].offset += UINT64_C(1) << 55;
	hv_host_clock_refresh(c);
	hv_host_ticks(&origin);
	late = guest_ticks(0, 0);
	ck_assert_uint_gt(late, early + (UINT64_C(1) << 54));
	ck_assert_uint_gt(hv_host_clock_ns(c, 0, late), early_ns);
	ck_assert_uint_lt(hv_host_clock_ns(c, 0, late) - early_ns, UINT64_C(10000000000));
	late = hv_host_clock_ns(c, 0, early);
	ck_assert_uint_le(late > early_ns ? late - early_ns : early_ns - late, 100000);
	failing = EIO; /* the last known values stay in use */
	hv_host_clock_refresh(c);
	ck_assert_uint_gt(hv_host_clock_ns(c, 0, guest_ticks(0, 0)), early_ns);
}
END_TEST

START_TEST(many_changes)
{
	begin();
	if (!c)
		return;
	for (unsigned i = 0; i < 30; i++) {
		tscs[0].offset += 1000;
		hv_host_clock_refresh(c);
	}
	expect_alike(now_ticks());
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_unknown_tsc_gives_no_clock);
	tcase_add_test(tc, the_hosts_clock_of_now);
	tcase_add_test(tc, scaled_and_moved);
	tcase_add_test(tc, scaled_anew);
	tcase_add_test(tc, moved_forth_and_back);
	tcase_add_test(tc, times_before_a_change_are_kept);
	tcase_add_test(tc, many_changes);
}

int main(void)
{
	return run_suite("host_clock", add_tests);
}
