/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses an address for the region, and decodes links in /proc/PID/fd. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/lib/run_suite.h"
#include "vmm/inject/kvm.h"
#include "vmm/inject/shadow.h"
#include "vmm/qemu/memory_tree.h"

#define GIB (1ull << 30)
#define LEN (64ull << 20)

START_TEST(nothing_taken)
{
	struct hv_taken_list taken = {0};
	struct hv_gpa gpa = {0};

	ck_assert(hv_free_gpa_choose(&taken, 40, 0, LEN, &gpa));
	ck_assert_uint_eq(gpa.v % HV_FREE_GPA_UNIT, 0);
	ck_assert_uint_eq(gpa.v, 768 * GIB - 16 * GIB - LEN);
	ck_assert(hv_free_gpa_choose(&taken, 36, 0, LEN, &gpa));
	ck_assert_uint_eq(gpa.v, 32 * GIB - LEN);
	ck_assert(hv_free_gpa_choose(&taken, 64, 0, LEN, &gpa));
	ck_assert_uint_lt(gpa.v, 1ull << 52);
}
END_TEST

START_TEST(taken_ranges_are_avoided)
{
	struct hv_taken_list taken = {0};
	struct hv_gpa gpa = {0};

	/* the address first moves below the second range in the list, and only then overlaps the
	 * first range */
	hv_taken_add(&taken, 600 * GIB + 5, 700 * GIB);
	hv_taken_add(&taken, 700 * GIB, 760 * GIB);
	ck_assert(hv_free_gpa_choose(&taken, 40, 0, LEN, &gpa));
	ck_assert_uint_eq(gpa.v, 600 * GIB - LEN);
	ck_assert_uint_le(gpa.v + LEN, 600 * GIB + 5);
	hv_taken_add(&taken, 4 * GIB, 600 * GIB);
	ck_assert(!hv_free_gpa_choose(&taken, 40, 0, LEN, &gpa));
	hv_taken_deinit(&taken);
}
END_TEST

START_TEST(no_low_address_is_chosen)
{
	struct hv_taken_list taken = {0};
	struct hv_gpa gpa = {1};

	ck_assert(!hv_free_gpa_choose(&taken, 32, 0, LEN, &gpa));
	ck_assert(!hv_free_gpa_choose(&taken, 36, 40 * GIB, LEN, &gpa));
	ck_assert(!hv_free_gpa_choose(&taken, 40, 0, 0, &gpa));
	hv_taken_add(&taken, 0, UINT64_MAX);
	ck_assert(!hv_free_gpa_choose(&taken, 40, 0, LEN, &gpa));
	ck_assert_uint_eq(gpa.v, 1);
	hv_taken_deinit(&taken);
}
END_TEST

START_TEST(ranges_of_the_tree)
{
	static const char text[] =
		"address-space: memory\n"
		"  0000000000000000-00000000000bffff (prio 0, ram): pc.ram KVM\n"
		"  00000000fee00000-00000000feefffff (prio 4096, i/o): kvm-apic-msi\n"
		"  0000000100000000-000000013fffffff (prio 0, ram): pc.ram @00000000c0000000 KVM\n"
		"  0000000000000000-ffffffffffffffff (prio 0, i/o): io\n"
		"  0000000000000000-fffffffffffffffe (prio 0, i/o): bus master container\n";
	struct hv_taken_list taken = {0};

	ck_assert(hv_taken_parse(&taken, text));
	ck_assert_uint_eq(taken.nr, 3);
	ck_assert_uint_eq(taken.list[2].start, 4 * GIB);
	ck_assert_uint_eq(taken.list[2].end, 5 * GIB);
	hv_taken_deinit(&taken);
}
END_TEST

/* A hostile VMM answers with a text of the monitor's maximum length. */
START_TEST(very_many_ranges)
{
	static const char other[] = "what is that\n";
	struct hv_taken_list taken = {0};
	struct hv_gpa gpa = {0};
	struct hv_text text = {0};

	for (unsigned i = 0; i < HV_TAKEN_MAX; i++)
		hv_text_printf(&text, "  %016llx-%016llx (prio 0, ram): r\n", 5 * GIB + i * 4096ull,
			       5 * GIB + i * 4096ull);
	while (text.len_bytes < 32u << 20)
		hv_text_add_bytes(&text, other, strlen(other));
	hv_text_add(&text, "");
	ck_assert(hv_taken_parse(&taken, text.data));
	ck_assert(hv_free_gpa_choose(&taken, 40, 0, LEN, &gpa));
	ck_assert(!hv_taken_parse(&taken, text.data));
	hv_taken_deinit(&taken);
	hv_text_deinit(&text);
}
END_TEST

START_TEST(links)
{
	char name[HV_REGION_NAME_LEN], target[HV_REGION_NAME_LEN + 32];
	struct hv_fd_link link;

	ck_assert_int_eq(hv_fd_link_parse("anon_inode:kvm-vm").kind, HV_FD_VM);
	ck_assert_int_eq(hv_fd_link_parse("anon_inode:kvm-vmx").kind, HV_FD_OTHER);
	link = hv_fd_link_parse("anon_inode:kvm-vcpu:12");
	ck_assert_int_eq(link.kind, HV_FD_VCPU);
	ck_assert_uint_eq(link.vcpu, 12);
	ck_assert_int_eq(hv_fd_link_parse("/memfd:hvtrace-ring (deleted)").kind, HV_FD_OTHER);
	ck_assert_int_eq(hv_fd_link_parse("/memfd:hvtrace-pin (deleted)").kind, HV_FD_PIN);
	ck_assert_int_eq(hv_fd_link_parse("/memfd:hvtrace-pins (deleted)").kind, HV_FD_OTHER);
	ck_assert_int_eq(hv_fd_link_parse("/tmp/memfd:hvtrace-pin (deleted)").kind, HV_FD_OTHER);
	hv_region_name(32763, hv_gpa(0xbbfc000000), name);
	snprintf(target, sizeof(target), "/memfd:%s (deleted)", name);
	link = hv_fd_link_parse(target);
	ck_assert_int_eq(link.kind, HV_FD_REGION);
	ck_assert_uint_eq(link.slot, 32763);
	ck_assert_uint_eq(link.gpa.v, 0xbbfc000000);
}
END_TEST

START_TEST(shadow_names)
{
	struct hv_shadow s = {.fd = 30,
			      .start = {0x40000000},
			      .len_bytes = 0x1ffff000,
			      .hva = 0x7f1234000000,
			      .ram_fd = 14,
			      .ram_off = 0x20000000};
	struct hv_shadow got = {.fd = -1, .ram_here = -1};
	char name[HV_SHADOW_NAME_LEN], target[HV_SHADOW_NAME_LEN + 32];

	hv_shadow_name(&s, name);
	snprintf(target, sizeof(target), "/memfd:%s (deleted)", name);
	ck_assert(hv_shadow_parse(target, &got));
	ck_assert_uint_eq(got.start.v, s.start.v);
	ck_assert_uint_eq(got.len_bytes, s.len_bytes);
	ck_assert_uint_eq(got.hva, s.hva);
	ck_assert_int_eq(got.ram_fd, 14);
	ck_assert_uint_eq(got.ram_off, s.ram_off);
	ck_assert_int_eq(got.fd, -1);
	ck_assert(!hv_shadow_parse("/memfd:hvtrace-region-5-6 (deleted)", &got));
	ck_assert(!hv_shadow_parse("/memfd:hvtrace-shadow-1-2-3 (deleted)", &got));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, nothing_taken);
	tcase_add_test(tc, taken_ranges_are_avoided);
	tcase_add_test(tc, no_low_address_is_chosen);
	tcase_add_test(tc, ranges_of_the_tree);
	tcase_add_test(tc, very_many_ranges);
	tcase_add_test(tc, links);
	tcase_add_test(tc, shadow_names);
}

int main(void)
{
	return run_suite("inject_names", add_tests);
}
