/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the region is mapped in a fake kernel's page tables. */
#include <check.h>

#include "patcher/mapping.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/arm64_machine.h"
#include "tests/unit/kernel/fake_kernel.h"

#define ENTRY_SPAN (UINT64_C(2) << 20)
#define LEN	   (26 * ENTRY_SPAN)
#define TIMES	   64

static struct fk f;
static const struct hv_region region = {.gpa = {0x100000000}, .len_bytes = 64 << 20};

static void setup(void)
{
	fk_init(&f);
}

static void teardown(void)
{
	fk_deinit(&f);
}

static uint64_t plan_start(void)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};

	ck_assert_ptr_null(hv_mapping_plan(&f.k, &region, LEN, &plan));
	ck_assert_uint_eq(plan.nr, LEN / ENTRY_SPAN);
	ck_assert_uint_eq(plan.range.end.v - plan.range.start.v, LEN);
	ck_assert(plan.range.end.v + ENTRY_SPAN <= FK_BASE ||
		  plan.range.start.v >= FK_END + ENTRY_SPAN);
	for (size_t i = 0; i < plan.nr; i++) {
		struct hv_mapping m;

		ck_assert_uint_eq(plan.changes[i].gva.v, plan.range.start.v + i * ENTRY_SPAN);
		ck_assert_ptr_null(hv_walk(&f.k.core.as, plan.changes[i].gva, &m));
		ck_assert(!m.present);
		ck_assert_uint_eq(m.entry_gpa.v, plan.changes[i].gpa.v);
	}
	return plan.range.start.v;
}

START_TEST(the_address_is_random)
{
	uint64_t first = plan_start();
	unsigned nr_others = 0, nr_below = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_start();

		nr_others += start != first;
		nr_below += start < FK_BASE;
	}
	ck_assert_uint_ge(nr_others, TIMES / 2);
	ck_assert_uint_lt(nr_below, TIMES);
}
END_TEST

START_TEST(no_room)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};

	expect_error(hv_mapping_plan(&f.k, &region, UINT64_C(1) << 30, &plan), ENOSPC,
		     "kernel page tables: no unused entries for a contiguous 1024 MiB below 0x");
}
END_TEST

static struct hv_err *plan(void *ctx hv_unused)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};

	return hv_mapping_plan(&f.k, &region, LEN, &plan);
}

START_TEST(no_random_numbers)
{
	static const struct failing_call calls[] = {{SCMP_SYS(getrandom), ENOSYS}, {0}};

	expect_failure(
		calls, plan, NULL, EIO,
		"kernel page tables: the host gave no random number for the region's address");
}
END_TEST

#define MIB (UINT64_C(1) << 20)

/* A kernel whose image can be at any address. The region's code begins at most CODE_MIB MiB after
 * the image, and the area for modules AREA_MIB MiB after it. */
static struct hv_arch moved;

static void move(uint64_t code_mib, uint64_t area_mib)
{
	moved = hv_arch_x86_64;
	moved.text_base = hv_gva(0);
	moved.free_range = (struct hv_gva_range){0};
	f.k.core.as.arch = &moved;
	f.k.core.reach = (struct hv_reach){
		.text_base = hv_gva(0xfffffffe80000000),
		.free_range = {hv_gva(FK_BASE - 3 * MIB), hv_gva(FK_END + 400 * MIB)},
		.code = {hv_gva(FK_END), hv_gva(FK_END + code_mib * MIB)},
		.module_areas = {{hv_gva(FK_END + area_mib * MIB),
				  hv_gva(FK_END + (area_mib + 500) * MIB)}},
	};
}

static unsigned nr_reads_left;

/* After nr_reads_left more reads, the guest maps everything above its image. */
static void map_everything(struct xm *m, struct hv_gpa gpa hv_unused)
{
	if (nr_reads_left-- != 1)
		return;
	for (uint64_t at = FK_END; at < FK_END + 2 * LEN; at += ENTRY_SPAN)
		*xm_path(m, f.k.core.as.root, 4, 2, hv_gva(at)) = 0x200083;
}

/* The region fits at one address only, so all plans make equally many reads. The last reads check
 * the entries at that address. */
START_TEST(entries_that_the_guest_starts_to_use)
{
	move(4, 450);
	f.machine.nr_reads = 0;
	expect_success(plan(NULL));
	nr_reads_left = f.machine.nr_reads - LEN / ENTRY_SPAN;
	f.machine.after_read = map_everything;
	expect_error(plan(NULL), EBUSY, "kernel page tables: modified during the search; retry");
}
END_TEST

START_TEST(code_stays_near_the_image)
{
	move(20, 450);
	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_start();

		ck_assert_uint_ge(start, FK_END);
		ck_assert_uint_lt(start, FK_END + 20 * MIB);
	}
}
END_TEST

/* The first free 64 MiB of an area stay free for the kernel. */
START_TEST(room_for_modules_is_left)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_err *err;

	move(100, 16);
	for (unsigned i = 0; i < TIMES; i++)
		ck_assert_uint_ge(plan_start(), FK_END + 80 * MIB);
	move(70, 16);
	err = hv_mapping_plan(&f.k, &region, LEN, &plan);
	ck_assert(err && err->code == ENOSPC);
	hv_err_free(err);
}
END_TEST

START_TEST(plans_that_are_refused)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	HV_AUTO_ERR struct hv_err *unknown = NULL;

	ck_assert_ptr_null(hv_mapping_refusal(&f.k.core));
	f.k.core.no_reach = hv_err_new(ENOTSUP, "nobody knows");
	unknown = hv_mapping_plan(&f.k, &region, LEN, &plan);
	ck_assert(unknown && !strcmp(unknown->message, "nobody knows"));
	hv_err_free(f.k.core.no_reach);
	f.k.core.no_reach = NULL;
}
END_TEST

/* A kernel with 16 KiB pages, whose root entries cover 32 MiB each. */
#define PAGE16	  UINT64_C(16384)
#define SPAN16	  (32 * MIB)
#define IMAGE16	  UINT64_C(0xffffd000b2600000) /* last 10 MiB of an entry, and the next */
#define IMAGE_LEN (24 * MIB)
#define NR_FORMAT 5 /* 47 bits */

static struct am am;
static struct hv_kernel k16;
static struct hv_region region16 = {.gpa = {0x8000000000}, .len_bytes = 64 << 20};

static void setup16(void)
{
	am_init(&am, hv_arch_arm64.formats[NR_FORMAT], 32 * MIB);
	am_map(&am, 1, hv_gva(IMAGE16), hv_gpa(AM_RAM_START), IMAGE_LEN / PAGE16,
	       HV_ACCESS_READ_EXECUTE);
	k16 = (struct hv_kernel){
		.core = {
			.as = {am.guest, am.format, am.root, 3},
			.image = {.all = {{IMAGE16}, {IMAGE16 + IMAGE_LEN}}},
			.reach =
				{
					.text_base = {IMAGE16 - 3000 * MIB},
					.free_range = {{IMAGE16 - 104 * MIB},
						       {IMAGE16 + 400 * MIB}},
					.code = {{IMAGE16 - 104 * MIB}, {IMAGE16 + 127 * MIB}},
					.module_areas = {{{IMAGE16 - 1000 * MIB},
							  {IMAGE16 + 1048 * MIB}}},
				},
		}};
	region16.host = hv_alloc(HV_REGION_KEPT_BYTES);
	region16.kept = hv_alloc(HV_REGION_KEPT_BYTES);
}

static void teardown16(void)
{
	free(region16.host);
	free(region16.kept);
	am_deinit(&am);
}

/* Walks from the root to the tables in the region, as the guest's CPU does. Returns the last-level
 * entry of AT, or 0 if AT is not mapped. */
static uint64_t page_entry(uint64_t at)
{
	struct hv_mapping m;
	uint64_t off;

	ck_assert_ptr_null(hv_walk_to_entry(&k16.core.as, hv_gva(at), &m));
	if (!m.present || m.gpa.v < region16.gpa.v)
		return 0;
	off = am.format->entry_at(m.gpa, 1, hv_gva(at)).v - region16.gpa.v;
	ck_assert_uint_ge(off, HV_REGION_TABLES_OFF);
	ck_assert_uint_lt(off, HV_REGION_TRAMPOLINES_OFF);
	return *(uint64_t *)(void *)(region16.host + off);
}

static void check_page(uint64_t at, uint64_t off)
{
	uint64_t entry = page_entry(at);
	struct hv_pt_entry e = am.format->decode_entry(1, entry);

	ck_assert(e.present && e.leaf);
	ck_assert_uint_eq(e.to.v, region16.gpa.v + off);
	ck_assert(e.executable == (off < HV_REGION_WRITABLE_OFF));
	ck_assert(e.writable == (off >= HV_REGION_WRITABLE_OFF));
}

static void make_changes(const struct hv_mapping_plan *plan)
{
	for (size_t i = 0; i < plan->nr; i++) {
		uint8_t *entry = am.ram + (plan->changes[i].gpa.v - AM_RAM_START);

		ck_assert(!memcmp(entry, &(uint64_t){0}, 8));
		ck_assert(hv_gva_in(plan->changes[i].gva, plan->range) ||
			  hv_gva_in(plan->changes[i].gva, plan->veneers));
		ck_assert_uint_eq(plan->changes[i].gva.v % HV_REGION_UNIT, 0);
		memcpy(entry, plan->changes[i].to, 8);
	}
}

static void undo_changes(const struct hv_mapping_plan *plan)
{
	for (size_t i = 0; i < plan->nr; i++)
		memset(am.ram + (plan->changes[i].gpa.v - AM_RAM_START), 0, 8);
	memset(region16.host, 0, HV_REGION_KEPT_BYTES);
	memset(region16.kept, 0, HV_REGION_KEPT_BYTES);
}

/* Plans, makes and undoes a mapping: each of its pages must be at its address, and the pages next
 * to it must stay unmapped. Returns its start. */
static uint64_t plan_pages(void)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_gpa leads_to;
	bool present = true;
	uint64_t start;

	ck_assert_ptr_null(hv_mapping_plan(&k16, &region16, LEN, &plan));
	start = plan.range.start.v;
	ck_assert_uint_eq(plan.range.end.v - start, LEN);
	ck_assert_uint_eq(plan.nr, (start % SPAN16 + LEN - 1) / SPAN16 + 1);
	ck_assert_ptr_null(hv_mapping_is_present(&k16, &region16, plan.range, &present));
	ck_assert(!present);
	hv_mapping_put_tables(&plan, &region16);
	make_changes(&plan);
	ck_assert_ptr_null(hv_mapping_is_present(&k16, &region16, plan.range, &present));
	ck_assert(present);
	ck_assert_uint_eq(hv_mapping_first(&k16, &region16, plan.range, plan.veneers, &leads_to).v,
			  start);
	ck_assert(hv_entry_leads_to(&k16.core.as, plan.range.start, leads_to));
	for (uint64_t off = 0; off < LEN; off += PAGE16)
		check_page(start + off, HV_REGION_TRAMPOLINES_OFF + off);
	ck_assert_uint_eq(page_entry(start - PAGE16), 0);
	ck_assert_uint_eq(page_entry(start + LEN), 0);
	ck_assert(!memcmp(region16.host, region16.kept, HV_REGION_KEPT_BYTES));
	undo_changes(&plan);
	return start;
}

START_TEST(pages_where_leaves_are_too_large)
{
	unsigned nr_within = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_pages();

		ck_assert(start + LEN + ENTRY_SPAN <= IMAGE16 ||
			  start >= IMAGE16 + IMAGE_LEN + ENTRY_SPAN);
		ck_assert(hv_gva_in(hv_gva(start), k16.core.reach.code));
		nr_within += start % SPAN16 != 0;
	}
	ck_assert_uint_gt(nr_within, 0);
}
END_TEST

/* The area for modules begins in the last MiB of the third entry from FIRST on, and its first 64
 * MiB reach into two more entries. The region must use none of the three. */
START_TEST(no_entry_is_shared_with_modules)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	uint64_t first = (IMAGE16 + IMAGE_LEN + SPAN16) & ~(SPAN16 - 1);
	struct hv_err *err;

	k16.core.reach.module_areas[0] =
		(struct hv_gva_range){{first + 3 * SPAN16 - MIB}, {first + 1000 * MIB}};
	k16.core.reach.code = (struct hv_gva_range){{first}, {first + 400 * MIB}};
	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_pages();

		ck_assert(start + LEN <= first + 2 * SPAN16 || start >= first + 5 * SPAN16);
	}
	k16.core.reach.code = (struct hv_gva_range){{first + SPAN16}, {first + 5 * SPAN16}};
	err = hv_mapping_plan(&k16, &region16, LEN, &plan);
	ck_assert(err && err->code == ENOSPC);
	hv_err_free(err);
}
END_TEST

START_TEST(too_many_tables)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_err *err;

	k16.core.reach.free_range.end.v = IMAGE16 + 1000 * MIB;
	err = hv_mapping_plan(&k16, &region16, 512 * MIB + ENTRY_SPAN, &plan);
	ck_assert(err && err->code == ENOSPC);
	ck_assert_msg(
		strstr(err->message, " MiB is too large for aarch64 guests with pages of 16 KiB"),
		"%s", err->message);
	hv_err_free(err);
}
END_TEST

/* A separate page-table entry for veneers, outside the region and the modules. */
START_TEST(veneers_get_a_separate_entry)
{
	unsigned nr_below = 0;
	struct hv_gpa leads_to;

	move(20, 150);
	f.k.core.reach.veneers =
		(struct hv_gva_range){hv_gva(FK_END + 10 * MIB), hv_gva(FK_END + 240 * MIB)};
	for (unsigned i = 0; i < TIMES; i++) {
		hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
		const struct hv_change *last;
		struct hv_gva at;
		bool has = true;

		ck_assert_ptr_null(hv_mapping_plan(&f.k, &region, LEN, &plan));
		ck_assert_uint_eq(plan.nr, LEN / ENTRY_SPAN + 1);
		last = &plan.changes[plan.nr - 1];
		at = plan.veneers.start;
		ck_assert_uint_eq(last->gva.v, at.v);
		ck_assert(!memcmp(last->to, plan.changes[0].to, 8)); /* both lead to the code */
		ck_assert_uint_eq(plan.veneers.end.v - at.v, ENTRY_SPAN);
		ck_assert(hv_gva_in(at, f.k.core.reach.veneers));
		ck_assert(!hv_gva_in(at, plan.range));
		ck_assert(at.v + ENTRY_SPAN <= FK_END + 150 * MIB || at.v >= FK_END + 214 * MIB);
		nr_below += at.v < FK_END + 150 * MIB;
		ck_assert_ptr_null(
			hv_mapping_has_veneers(&f.k, &region, plan.range, plan.veneers, &has));
		ck_assert(!has);
		/* a killed process may have left only this */
		memcpy(xm_path(&f.machine, f.k.core.as.root, 4, 2, at), last->to, 8);
		ck_assert_ptr_null(
			hv_mapping_has_veneers(&f.k, &region, plan.range, plan.veneers, &has));
		ck_assert(has);
		ck_assert_uint_eq(
			hv_mapping_first(&f.k, &region, plan.range, plan.veneers, &leads_to).v,
			at.v);
		ck_assert_uint_eq(leads_to.v, region.gpa.v + HV_REGION_TRAMPOLINES_OFF);
		memset(xm_path(&f.machine, f.k.core.as.root, 4, 2, at), 0, 8);
		ck_assert_uint_eq(
			hv_mapping_first(&f.k, &region, plan.range, plan.veneers, &leads_to).v,
			plan.range.start.v);
	}
	ck_assert_uint_gt(nr_below, 0);
	ck_assert_uint_lt(nr_below, TIMES);
	/* no room for veneers is not an error */
	f.k.core.reach.veneers =
		(struct hv_gva_range){hv_gva(FK_END + 150 * MIB), hv_gva(FK_END + 210 * MIB)};
	{
		hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};

		ck_assert_ptr_null(hv_mapping_plan(&f.k, &region, LEN, &plan));
		ck_assert_uint_eq(plan.veneers.start.v, plan.veneers.end.v);
		ck_assert_uint_eq(plan.nr, LEN / ENTRY_SPAN);
	}
}
END_TEST

/* Addresses that the image cannot call are used only with veneers that it can call. */
START_TEST(all_call_veneers)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_reach *reach = &f.k.core.reach;

	move(20, 400);
	reach->code_else =
		(struct hv_gva_range){hv_gva(FK_END + 100 * MIB), hv_gva(FK_END + 200 * MIB)};
	reach->module_areas[1] =
		(struct hv_gva_range){hv_gva(FK_END + 10 * MIB), hv_gva(FK_END + 24 * MIB)};
	reach->veneers = (struct hv_gva_range){hv_gva(FK_END), hv_gva(FK_END + 300 * MIB)};
	for (unsigned i = 0; i < TIMES; i++) {
		hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan far = {0};

		ck_assert_ptr_null(hv_mapping_plan(&f.k, &region, LEN, &far));
		ck_assert(hv_gva_in(far.range.start, reach->code_else));
		ck_assert(hv_gva_in(far.veneers.start, reach->code));
	}
	reach->code.end = hv_gva(FK_END + 2 * MIB);
	expect_error(hv_mapping_plan(&f.k, &region, LEN, &plan), ENOSPC,
		     "veneers, which are needed to reach the region from the kernel image: kernel "
		     "page tables: ");
}
END_TEST

/* With 16 KiB pages, veneers have a separate table, which maps only the code. */
START_TEST(veneers_by_pages)
{
	k16.core.reach.veneers =
		(struct hv_gva_range){{IMAGE16 + 130 * MIB}, {IMAGE16 + 300 * MIB}};
	for (unsigned i = 0; i < TIMES; i++) {
		hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
		uint64_t at;
		bool has = false;

		ck_assert_ptr_null(hv_mapping_plan(&k16, &region16, LEN, &plan));
		at = plan.veneers.start.v;
		ck_assert(hv_gva_in(hv_gva(at), k16.core.reach.veneers));
		ck_assert(at / SPAN16 > (plan.range.end.v - 1) / SPAN16 ||
			  at / SPAN16 < plan.range.start.v / SPAN16);
		hv_mapping_put_tables(&plan, &region16);
		make_changes(&plan);
		for (uint64_t off = 0; off < LEN; off += PAGE16)
			check_page(plan.range.start.v + off, HV_REGION_TRAMPOLINES_OFF + off);
		for (uint64_t off = 0; off < ENTRY_SPAN; off += PAGE16)
			check_page(at + off, HV_REGION_TRAMPOLINES_OFF + off);
		if (at % SPAN16)
			ck_assert_uint_eq(page_entry(at - PAGE16), 0);
		if ((at + ENTRY_SPAN) % SPAN16)
			ck_assert_uint_eq(page_entry(at + ENTRY_SPAN), 0);
		ck_assert_ptr_null(
			hv_mapping_has_veneers(&k16, &region16, plan.range, plan.veneers, &has));
		ck_assert(has);
		undo_changes(&plan);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_checked_fixture(tc, setup16, teardown16);
	tcase_add_test(tc, the_address_is_random);
	tcase_add_test(tc, no_room);
	tcase_add_test(tc, entries_that_the_guest_starts_to_use);
	tcase_add_test(tc, no_random_numbers);
	tcase_add_test(tc, code_stays_near_the_image);
	tcase_add_test(tc, room_for_modules_is_left);
	tcase_add_test(tc, plans_that_are_refused);
	tcase_add_test(tc, pages_where_leaves_are_too_large);
	tcase_add_test(tc, no_entry_is_shared_with_modules);
	tcase_add_test(tc, too_many_tables);
	tcase_add_test(tc, veneers_get_a_separate_entry);
	tcase_add_test(tc, all_call_veneers);
	tcase_add_test(tc, veneers_by_pages);
}

int main(void)
{
	return run_suite("mapping", add_tests);
}
