/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user of a region, as recorded in its header. The guest's root can write the header. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/guest/tracee.h"

#define REGION_GPA 0x200000000ull

static struct fr r;

static void setup(void)
{
	fr_init(&r);
	r.tracee.region.gpa = hv_gpa(REGION_GPA);
	r.tracee.range.end = hv_gva(FR_RANGE + HV_REGION_LEN_MIN - HV_REGION_TRAMPOLINES_OFF);
	hv_region_write_header(&r.tracee);
}

static void teardown(void)
{
	fr_deinit(&r);
}

static void map_region(void)
{
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(FR_RANGE), hv_gpa(REGION_GPA), 1,
	       XM_W);
}

static enum hv_region_use use(void)
{
	struct hv_region_header header;
	enum hv_region_use ret = HV_REGION_UNUSED;

	ck_assert_ptr_null(hv_region_use(&r.tracee, &header, &ret));
	return ret;
}

static void check_refused(const char *message)
{
	struct hv_region_header header;
	enum hv_region_use ret;
	struct hv_err *err = hv_region_use(&r.tracee, &header, &ret);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EUCLEAN);
	ck_assert_msg(strstr(err->message, message) != NULL, "%s", err->message);
	hv_err_free(err);
}

START_TEST(page_tables_show_whether_it_is_live)
{
	ck_assert_int_eq(use(), HV_REGION_STALE);
	map_region();
	ck_assert_int_eq(use(), HV_REGION_LIVE);
	hv_region_header(&r.tracee.region)->magic[0] = 0;
	check_refused("its journal is gone");
}
END_TEST

/* Writes by the guest have no effect while a dead session's changes are being undone. */
START_TEST(recovery_reads_the_saved_copy)
{
	struct hv_region *region = &r.tracee.region;
	uint8_t *host = region->host;

	region->kept = hv_alloc(HV_REGION_KEPT_BYTES);
	hv_region_write_header(&r.tracee);
	map_region();
	memset(host, 0xff, HV_REGION_KEPT_BYTES);
	ck_assert_int_eq(use(), HV_REGION_LIVE);
	ck_assert_uint_eq(hv_region_journal(region)->state, HV_JOURNAL_FREE);
	ck_assert_uint_lt(strnlen(hv_region_release(region), HV_REGION_RELEASE_LEN), 16);
	free(region->kept);
	region->kept = NULL;
}
END_TEST

/* With part of the region mapped, the boot can be identified, but no trampoline called. */
START_TEST(a_partly_mapped_region)
{
	bool mapped = true;

	ck_assert(!hv_tracee_is_partly_mapped(&r.tracee));
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(FR_RANGE),
	       hv_gpa(REGION_GPA + HV_REGION_TRAMPOLINES_OFF), 1, XM_W);
	ck_assert_ptr_null(hv_tracee_is_mapped(&r.tracee, &mapped));
	ck_assert(!mapped);
	ck_assert(hv_tracee_is_partly_mapped(&r.tracee));
}
END_TEST

/* Veneers are mapped elsewhere. The header may contain their address, and no other address is
 * accepted. */
START_TEST(veneers_are_found_by_their_address)
{
	const uint64_t at = FR_RANGE - 0x10000000;
	struct hv_region_header *header = hv_region_header(&r.tracee.region);
	struct hv_region_header checked;
	struct hv_arch elsewhere = *r.t.f.k.core.as.arch;
	enum hv_region_use ret;

	elsewhere.text_base = hv_gva(0);
	r.t.f.k.core.reach = hv_reach_of(&r.t.f.k.core);
	r.t.f.k.core.reach.free_range =
		(struct hv_gva_range){hv_gva(FR_RANGE), elsewhere.free_range.end};
	r.t.f.k.core.reach.veneers =
		(struct hv_gva_range){hv_gva(at - 0x400000), hv_gva(at + 0x400000)};
	r.t.f.k.core.as.arch = &elsewhere;
	header->veneers_gva = at;
	ck_assert_int_eq(use(), HV_REGION_STALE);
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(at), hv_gpa(REGION_GPA), 1, 0);
	ck_assert_ptr_null(hv_region_use(&r.tracee, &checked, &ret));
	ck_assert_int_eq(ret, HV_REGION_LIVE);
	ck_assert_uint_eq(hv_region_veneers(&checked).start.v, at);
	ck_assert_uint_eq(hv_region_veneers(&checked).end.v, at + HV_REGION_UNIT);
	header->veneers_gva = at + 0x1000;
	check_refused("its journal is gone");
	header->veneers_gva = at + 0x400000;
	check_refused("its journal is gone");
	header->veneers_gva = 0;
	check_refused("its journal is gone");
	r.t.f.k.core.as.arch = &hv_arch_x86_64;
}
END_TEST

START_TEST(another_release_is_named)
{
	hv_region_header(&r.tracee.region)->version++;
	ck_assert_int_eq(use(), HV_REGION_STALE);
	map_region();
	strcpy(hv_region_release(&r.tracee.region), "7.1~rc2");
	check_refused("region: hvtrace 7.1~rc2 left changes in the guest");
	check_refused("only that release can take them back");
	strcpy(hv_region_release(&r.tracee.region), "1\n\x1b[2J");
	check_refused("hvtrace 1???2? left");
	memset(hv_region_release(&r.tracee.region), '9', HV_REGION_RELEASE_LEN);
	check_refused("hvtrace 9999999999999999999999999999999 left");
	hv_region_release(&r.tracee.region)[0] = 0;
	check_refused("hvtrace before 0.2.0 left");
}
END_TEST

/* There was never a session, but the guest may have a header, and tables that lead to the
 * region. */
START_TEST(an_architecture_that_cannot_be_traced)
{
	struct hv_arch without = *r.t.f.k.core.as.arch;

	map_region();
	ck_assert_int_eq(use(), HV_REGION_LIVE);
	without.free_range = (struct hv_gva_range){{0}, {0}};
	r.t.f.k.core.as.arch = &without;
	ck_assert_int_eq(use(), HV_REGION_STALE);
	r.t.f.k.core.as.arch = &hv_arch_x86_64;
}
END_TEST

/* A recovering process finds rings and return stacks where the session had them, from the mapped
 * size. */
START_TEST(the_mapped_size_determines_the_layout)
{
	static const unsigned cpus[] = {1, 2, 3, 8, 64, 300};
	struct hv_tracee t = {.region = {.gpa = {REGION_GPA}}};
	unsigned nr_halves = 0;

	for (uint64_t mib = 16; mib <= 4096; mib += mib / 8 * 2)
		for (size_t i = 0; i < HV_ARRAY_LEN(cpus); i++) {
			struct hv_ring_plan all, part;
			struct hv_err *err;

			t.region.len_bytes = mib << 20;
			err = hv_region_plan_rings(&t.region, cpus[i], &all);
			for (t.plan = part = all; !err; err = hv_tracee_use_half(&t)) {
				uint64_t len_bytes = hv_tracee_map_bytes(&t);

				part = t.plan;
				t.plan = all;
				hv_tracee_plan_as(&t, len_bytes);
				ck_assert_mem_eq(&t.plan, &part, sizeof(part));
				nr_halves += part.part_bytes < all.part_bytes;
			}
			hv_err_free(err);
			/* a size that no plan has */
			t.plan = all;
			hv_tracee_plan_as(&t, HV_REGION_UNIT);
			ck_assert_mem_eq(&t.plan, &all, sizeof(all));
		}
	ck_assert_uint_gt(nr_halves, 100);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, page_tables_show_whether_it_is_live);
	tcase_add_test(tc, an_architecture_that_cannot_be_traced);
	tcase_add_test(tc, another_release_is_named);
	tcase_add_test(tc, recovery_reads_the_saved_copy);
	tcase_add_test(tc, a_partly_mapped_region);
	tcase_add_test(tc, veneers_are_found_by_their_address);
	tcase_add_test(tc, the_mapped_size_determines_the_layout);
}

int main(void)
{
	return run_suite("region_use", add_tests);
}
