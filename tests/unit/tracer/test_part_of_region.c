/* SPDX-License-Identifier: GPL-2.0-or-later */
/* If the kernel's address space has no room for the whole region, a session and a recovering
 * process both put the rings where the plan for a part has them. The tests check both when they
 * request the pin, which is refused. */
#include <check.h>

#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/guest/tracee.h"
#include "tracer/session.h"

#define REGION_GPA   0x200000000ull
#define REGION_BYTES (64ull << 20)
#define PART_BYTES   (REGION_BYTES / 2)
#define WINDOW	     0xffffffffc0000000ull /* mapped by one page table */
#define WINDOW_END   0xffffffffff000000ull
#define ROOM_BYTES   (48ull << 20) /* between two used page-table entries */
#define PART_AT	     (WINDOW_END - ROOM_BYTES)

static struct fr r;
static struct hv_guest *guest;
static struct hv_region region;
/* The arguments of the last calls that set a session's rings. */
static const struct hv_state *states[FK_NR_CPUS];
static uint64_t rings_bytes[FK_NR_CPUS];

void __real_hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const struct hv_state *state,
			       uint64_t ring_bytes, uint64_t size_bytes);
void __wrap_hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const struct hv_state *state,
			       uint64_t ring_bytes, uint64_t size_bytes);

void __wrap_hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const struct hv_state *state,
			       uint64_t ring_bytes, uint64_t size_bytes)
{
	ck_assert_uint_lt(cpu, FK_NR_CPUS);
	states[cpu] = state;
	rings_bytes[cpu] = ring_bytes;
	__real_hv_buffer_set_ring(b, cpu, state, ring_bytes, size_bytes);
}

static struct hv_err *give_region(void *self, struct hv_region *ret)
{
	(void)self;
	*ret = region;
	return NULL;
}

static struct hv_err *refuse_pin(void *self)
{
	(void)self;
	return hv_err_new(EPERM, "no pin");
}

static struct hv_err *never_unpinned(void *self)
{
	(void)self;
	abort();
}

static void setup(void)
{
	static struct hv_guest_ops ops = {
		.read = fr_read, .region = give_region, .pin = refuse_pin, .unpin = never_unpinned};

	fr_init(&r);
	region = (struct hv_region){
		.host = hv_alloc(REGION_BYTES), .len_bytes = REGION_BYTES, .gpa = {REGION_GPA}};
	guest = part_guest_new(&ops, &r, hv_guest_info(r.t.f.machine.guest));
	r.t.f.k.guest = r.t.f.k.core.as.guest = guest;
	for (uint64_t at = WINDOW; at < WINDOW_END; at += ROOM_BYTES)
		xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(at), hv_gpa(0), 1, XM_X);
}

static void teardown(void)
{
	r.t.f.k.guest = r.t.f.k.core.as.guest = r.guest;
	hv_guest_free(guest);
	free(region.host);
	fr_deinit(&r);
}

static void check_rings(void)
{
	struct hv_tracee t = {.region = region};
	struct hv_region part = region;

	part.len_bytes = PART_BYTES;
	ck_assert_ptr_null(hv_region_plan_rings(&part, r.t.f.k.layout.nr_cpus, &t.plan));
	for (unsigned cpu = 0; cpu < t.plan.nr_cpus; cpu++) {
		ck_assert_ptr_eq(states[cpu], hv_tracee_state(&t, cpu));
		ck_assert_uint_eq(rings_bytes[cpu], hv_plan_ring_bytes(&t.plan));
	}
}

static void check_no_pin(struct hv_err *err)
{
	ck_assert_msg(err && strstr(err->message, "no pin"), "%s", err ? err->message : "no error");
	hv_err_free(err);
}

START_TEST(a_session_uses_the_mapped_rings)
{
	struct hv_session *s;

	check_no_pin(hv_session_attach(guest, &r.t.f.k, &s));
	check_rings();
}
END_TEST

START_TEST(recovery_finds_the_same_rings)
{
	struct hv_tracee t = {.region = region, .kernel = &r.t.f.k};
	HV_AUTO_TEXT struct hv_text report = {0};
	uint64_t start = PART_AT & ~(HV_REGION_UNIT - 1);
	bool found;

	t.plan.nr_cpus = r.t.f.k.layout.nr_cpus;
	t.range = (struct hv_gva_range){hv_gva(start),
					hv_gva(start + PART_BYTES - HV_REGION_TRAMPOLINES_OFF)};
	t.handler = t.range.start;
	hv_region_write_header(&t);
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, t.range.start,
	       hv_gpa(REGION_GPA + HV_REGION_TRAMPOLINES_OFF), 1, XM_X);
	check_no_pin(hv_session_recover(guest, &r.t.f.k, &report, &found));
	check_rings();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_session_uses_the_mapped_rings);
	tcase_add_test(tc, recovery_finds_the_same_rings);
}

int main(void)
{
	return run_suite("part_of_region", add_tests);
}
