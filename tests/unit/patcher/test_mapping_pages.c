/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the region is mapped in a kernel with 64 KiB pages, whose root entries cover 512 MiB: by
 * pages in the table that maps the image. */
#include <check.h>

#include "patcher/mapping.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/arm64_machine.h"

#define MIB	   (UINT64_C(1) << 20)
#define PAGE	   UINT64_C(65536)
#define ENTRY_SPAN UINT64_C(0xffffd000a0000000)
#define IMAGE	   (ENTRY_SPAN + 294 * MIB)
#define IMAGE_LEN  (24 * MIB)
#define IMAGE_END  (IMAGE + IMAGE_LEN)
#define LEN	   (58 * MIB)
#define TIMES	   32

static struct am am;
static struct hv_kernel k;
static const struct hv_region region = {.gpa = {0x8000000000}, .len_bytes = 64 << 20};

/* The kernel's area for modules begins at MODULES, its image at IMAGE. */
static void set_up_at(uint64_t image, uint64_t modules)
{
	uint64_t end = image + IMAGE_LEN;

	am_init(&am, hv_arch_arm64.formats[8], 32 * MIB); /* 48 bits */
	am_map(&am, 1, hv_gva(image), hv_gpa(AM_RAM_START), IMAGE_LEN / PAGE,
	       HV_ACCESS_READ_EXECUTE);
	k = (struct hv_kernel){
		.core = {
			.as = {am.guest, am.format, am.root, 3},
			.image = {.all = {{image}, {end}}},
			.reach =
				{
					.text_base = {image - 3000 * MIB},
					.free_range = {{end - 128 * MIB}, {image + 1024 * MIB}},
					.code = {{end - 128 * MIB}, {image + 127 * MIB}},
					.module_areas = {{{modules}, {modules + 2048 * MIB}}},
				},
		}};
}

static void setup(void)
{
	set_up_at(IMAGE, IMAGE - 1000 * MIB);
}

static void teardown(void)
{
	am_deinit(&am);
}

static uint64_t *entry_of(uint64_t at)
{
	struct hv_mapping m;

	ck_assert_ptr_null(hv_walk(&k.core.as, hv_gva(at), &m));
	ck_assert_uint_eq(m.level, 1);
	return (uint64_t *)(void *)(am.ram + (m.entry_gpa.v - AM_RAM_START));
}

static void map_page(uint64_t at)
{
	*entry_of(at) = am.format->make_leaf(1, 3, hv_gpa(AM_RAM_START + 40 * MIB), HV_ACCESS_READ);
}

static uint64_t plan_start(void)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};

	ck_assert_ptr_null(hv_mapping_plan(&k, &region, LEN, &plan));
	ck_assert_uint_eq(plan.nr, LEN / PAGE);
	ck_assert(hv_gva_in(plan.range.start, k.core.reach.code));
	return plan.range.start.v;
}

static void set_entries(const struct hv_mapping_plan *plan, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		memcpy(am.ram + (plan->changes[i].gpa.v - AM_RAM_START), plan->changes[i].to, 8);
}

START_TEST(each_page_is_where_it_belongs)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_gpa leads_to;
	bool present = true;

	ck_assert_ptr_null(hv_mapping_plan(&k, &region, LEN, &plan));
	ck_assert_uint_eq(plan.tables_bytes, 0);
	for (size_t i = 0; i < plan.nr; i++) {
		ck_assert_ptr_eq(am.ram + (plan.changes[i].gpa.v - AM_RAM_START),
				 entry_of(plan.changes[i].gva.v));
		ck_assert_uint_eq(*entry_of(plan.changes[i].gva.v), 0);
	}
	set_entries(&plan, plan.nr - 1);
	ck_assert_ptr_null(hv_mapping_is_present(&k, &region, plan.range, &present));
	ck_assert(!present);
	set_entries(&plan, plan.nr);
	ck_assert_ptr_null(hv_mapping_is_present(&k, &region, plan.range, &present));
	ck_assert(present);
	ck_assert_uint_eq(hv_mapping_first(&k, &region, plan.range, plan.veneers, &leads_to).v,
			  plan.range.start.v);
	ck_assert_uint_eq(leads_to.v, region.gpa.v + HV_REGION_TRAMPOLINES_OFF);
	for (uint64_t off = 0; off < LEN; off += PAGE) {
		struct hv_mapping m;

		ck_assert_ptr_null(hv_walk(&k.core.as, hv_gva_add(plan.range.start, off), &m));
		ck_assert(m.present && m.len_bytes == PAGE);
		ck_assert_uint_eq(m.gpa.v, region.gpa.v + HV_REGION_TRAMPOLINES_OFF + off);
		ck_assert(m.executable ==
			  (off + HV_REGION_TRAMPOLINES_OFF < HV_REGION_WRITABLE_OFF));
		ck_assert(m.writable != m.executable);
	}
	ck_assert_uint_eq(*entry_of(plan.range.start.v - PAGE), 0);
	ck_assert_uint_eq(*entry_of(plan.range.end.v), 0);
}
END_TEST

/* A process that died while it filled or emptied entries has left some of them. */
START_TEST(a_partly_written_mapping_is_found)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_gva_range window = k.core.reach.free_range;
	struct hv_gpa leads_to;
	bool any = true;

	ck_assert_ptr_null(hv_mapping_plan(&k, &region, LEN, &plan));
	ck_assert_ptr_null(hv_mapping_any_present(&k, &region, window, &any));
	ck_assert(!any);
	set_entries(&plan, plan.nr);
	for (size_t i = 0; i < plan.nr; i++)
		if (i != 37)
			*entry_of(plan.changes[i].gva.v) = 0;
	ck_assert_ptr_null(hv_mapping_any_present(&k, &region, window, &any));
	ck_assert(any);
	ck_assert_uint_eq(hv_mapping_first(&k, &region, plan.range, plan.veneers, &leads_to).v,
			  plan.range.start.v + 37 * PAGE);
	ck_assert_uint_eq(leads_to.v, region.gpa.v + HV_REGION_TRAMPOLINES_OFF + 37 * PAGE);
}
END_TEST

START_TEST(pages_in_use_are_left_alone)
{
	unsigned nr_below = 0;

	map_page(IMAGE_END + 63 * MIB);
	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_start();

		ck_assert(start + LEN + HV_REGION_UNIT <= IMAGE ||
			  start >= IMAGE_END + HV_REGION_UNIT);
		ck_assert(start + LEN <= IMAGE_END + 62 * MIB || start >= IMAGE_END + 64 * MIB);
		nr_below += start < IMAGE;
	}
	ck_assert_uint_gt(nr_below, 0);
	ck_assert_uint_lt(nr_below, TIMES);
	*entry_of(IMAGE_END + 20 * MIB + PAGE) = 2; /* not present, and not empty */
	for (unsigned i = 0; i < TIMES; i++) {
		uint64_t start = plan_start();

		ck_assert(start < IMAGE || start >= IMAGE_END + 64 * MIB);
	}
}
END_TEST

/* The first free 64 MiB of an area stay free for the kernel. */
START_TEST(room_for_modules_is_left)
{
	k.core.reach.module_areas[1] =
		(struct hv_gva_range){{IMAGE - 4 * MIB}, {IMAGE + 124 * MIB}};
	k.core.reach.code.start.v = IMAGE;
	for (unsigned i = 0; i < TIMES; i++)
		ck_assert_uint_ge(plan_start(), IMAGE_END + 60 * MIB);
	/* the area begins in the middle of a unit: LEN fits before it at one address */
	k.core.reach.module_areas[1].start.v = IMAGE - 45 * MIB;
	k.core.reach.code = (struct hv_gva_range){{IMAGE - 104 * MIB}, {IMAGE}};
	for (unsigned i = 0; i < TIMES; i++)
		ck_assert_uint_eq(plan_start(), IMAGE - 104 * MIB);
}
END_TEST

/* The next entry has no table, and hvtrace adds none: the kernel would replace it by its own. */
START_TEST(no_table_is_added)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	HV_AUTO_ERR struct hv_err *large = hv_mapping_plan(&k, &region, 200 * MIB, &plan);

	ck_assert(large && large->code == ENOSPC);
	ck_assert(strstr(large->message, "no unused entries for a contiguous 200 MiB"));
}
END_TEST

#define NR_VENEERS (HV_REGION_UNIT / PAGE)

/* A second mapping of the code near a module, in the table that the kernel has made for the
 * module. */
START_TEST(veneers_get_separate_pages)
{
	uint64_t module = k.core.reach.module_areas[0].start.v;
	unsigned nr_below = 0;

	am_map(&am, 1, hv_gva(module), hv_gpa(AM_RAM_START), 1, HV_ACCESS_READ_EXECUTE);
	k.core.reach.veneers = (struct hv_gva_range){{module - 62 * MIB}, {module + 127 * MIB}};
	for (unsigned i = 0; i < TIMES; i++) {
		hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
		const struct hv_change *last;
		uint64_t at;

		ck_assert_ptr_null(hv_mapping_plan(&k, &region, LEN, &plan));
		ck_assert_uint_eq(plan.nr, LEN / PAGE + NR_VENEERS);
		last = &plan.changes[LEN / PAGE];
		at = plan.veneers.start.v;
		ck_assert_uint_eq(plan.veneers.end.v - at, HV_REGION_UNIT);
		for (size_t n = 0; n < NR_VENEERS; n++) {
			ck_assert_uint_eq(last[n].gva.v, at + n * PAGE);
			ck_assert_mem_eq(last[n].to, plan.changes[n].to, 8);
		}
		/* the first 64 MiB after the module stay free for the kernel */
		ck_assert(at + HV_REGION_UNIT <= module || at >= module + 64 * MIB);
		ck_assert(hv_gva_in(hv_gva(at), k.core.reach.veneers));
		nr_below += at < module;
	}
	ck_assert_uint_gt(nr_below, 0);
	ck_assert_uint_lt(nr_below, TIMES);
}
END_TEST

START_TEST(veneers_that_are_left_in_part_are_found)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	uint64_t module = k.core.reach.module_areas[0].start.v;
	struct hv_gpa leads_to;
	bool has = true;

	am_map(&am, 1, hv_gva(module), hv_gpa(AM_RAM_START), 1, HV_ACCESS_READ_EXECUTE);
	k.core.reach.veneers = (struct hv_gva_range){{module - 62 * MIB}, {module + 127 * MIB}};
	ck_assert_ptr_null(hv_mapping_plan(&k, &region, LEN, &plan));
	set_entries(&plan, plan.nr - 1);
	ck_assert_ptr_null(hv_mapping_has_veneers(&k, &region, plan.range, plan.veneers, &has));
	ck_assert(!has);
	set_entries(&plan, plan.nr);
	ck_assert_ptr_null(hv_mapping_has_veneers(&k, &region, plan.range, plan.veneers, &has));
	ck_assert(has);
	for (size_t i = 0; i < plan.nr; i++)
		if (i != LEN / PAGE + 5)
			*entry_of(plan.changes[i].gva.v) = 0;
	ck_assert_uint_eq(hv_mapping_first(&k, &region, plan.range, plan.veneers, &leads_to).v,
			  plan.veneers.start.v + 5 * PAGE);
	ck_assert_uint_eq(leads_to.v, region.gpa.v + HV_REGION_TRAMPOLINES_OFF + 5 * PAGE);
}
END_TEST

START_TEST(veneers_need_a_table)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	uint64_t module = k.core.reach.module_areas[0].start.v;

	k.core.reach.veneers = (struct hv_gva_range){{module - 62 * MIB}, {module + 127 * MIB}};
	ck_assert_ptr_null(hv_mapping_plan(&k, &region, LEN, &plan));
	ck_assert_uint_eq(plan.nr, LEN / PAGE);
	ck_assert_uint_eq(plan.veneers.start.v, plan.veneers.end.v);
}
END_TEST

static bool has_room(uint64_t len_bytes)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	HV_AUTO_ERR struct hv_err *err = hv_mapping_plan(&k, &region, len_bytes, &plan);

	ck_assert_msg(!err || err->code == ENOSPC, "%s", err ? err->message : "");
	return !err;
}

/* For any addresses of image and modules, the smallest region fits. A large one does not fit if the
 * image is near the end of its entry and the room for modules is below it. */
START_TEST(the_smallest_region_always_fits)
{
	unsigned nr_large = 0, nr = 0;

	for (uint64_t above = 0; above <= 80 * MIB; above += 20 * MIB)
		for (uint64_t below = 0; below <= 200 * MIB; below += 40 * MIB) {
			uint64_t image = ENTRY_SPAN + 512 * MIB - above - IMAGE_LEN;

			teardown();
			set_up_at(image, image - below);
			ck_assert_msg(has_room(HV_REGION_LEN_MIN - HV_REGION_TRAMPOLINES_OFF),
				      "%u MiB above, modules %u MiB below", (unsigned)(above / MIB),
				      (unsigned)(below / MIB));
			nr_large += has_room(LEN);
			nr++;
		}
	ck_assert_uint_gt(nr_large, nr / 2);
	ck_assert_uint_lt(nr_large, nr);
}
END_TEST

/* With 4 KiB pages, 2 MiB leaves map the region even if the image is too short for one. They have
 * the attributes of the image's pages. */
START_TEST(a_small_image_has_pages_only)
{
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};

	teardown();
	am_init(&am, hv_arch_arm64.formats[1], 32 * MIB); /* 48 bits */
	am_map(&am, 1, hv_gva(IMAGE), hv_gpa(AM_RAM_START), MIB / 4096, HV_ACCESS_READ_EXECUTE);
	k.core.as = (struct hv_address_space){am.guest, am.format, am.root, 4};
	k.core.image.all.end = hv_gva(IMAGE + MIB);
	ck_assert_ptr_null(hv_mapping_plan(&k, &region, LEN, &plan));
	ck_assert_uint_eq(plan.nr, LEN / (2 * MIB));
	for (size_t i = 0; i < plan.nr; i++) {
		struct hv_pt_entry entry;
		uint64_t to;

		memcpy(&to, plan.changes[i].to, sizeof(to));
		entry = am.format->decode_entry(2, to);
		ck_assert(entry.present && entry.leaf && entry.executable == !i);
		ck_assert_uint_eq(entry.to.v,
				  region.gpa.v + HV_REGION_TRAMPOLINES_OFF + i * 2 * MIB);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, each_page_is_where_it_belongs);
	tcase_add_test(tc, a_partly_written_mapping_is_found);
	tcase_add_test(tc, pages_in_use_are_left_alone);
	tcase_add_test(tc, room_for_modules_is_left);
	tcase_add_test(tc, no_table_is_added);
	tcase_add_test(tc, the_smallest_region_always_fits);
	tcase_add_test(tc, veneers_get_separate_pages);
	tcase_add_test(tc, veneers_that_are_left_in_part_are_found);
	tcase_add_test(tc, veneers_need_a_table);
	tcase_add_test(tc, a_small_image_has_pages_only);
}

int main(void)
{
	return run_suite("mapping_pages", add_tests);
}
