/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the image among all mappings in the range for images. */
#include <check.h>

#include "kernel/image/image.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/x86_machine.h"

#define M	0x100000ull
#define TEXT	0xffffffff9ac00000ull
#define PHYS	(4 * M)
#define MODULES 0xffffffffa4000000ull
#define IDT	0xfffffe0000000000ull
#define IDT_GPA 0x1000

static struct xm machine;
static struct hv_vcpu_regs regs[2];
static struct hv_gpa root;
static struct hv_address_space as;
static struct hv_image image;

static void map(unsigned level, uint64_t gva, uint64_t gpa, unsigned nr, unsigned access)
{
	xm_map(&machine, root, regs[0].levels, level, hv_gva(gva), hv_gpa(gpa), nr, access);
}

/* Makes gate 14 lead to AT. */
static void set_trap_target(uint64_t at)
{
	uint8_t *gate = machine.ram + IDT_GPA + 14 * 16;

	memcpy(gate, &at, 2);
	gate[5] = 0x8e;
	memcpy(gate + 6, (uint8_t *)&at + 2, 2);
	memcpy(gate + 8, (uint8_t *)&at + 4, 4);
}

/* Makes these mappings, relative to TEXT:
 *
 *    +0         2 MiB text
 *    +2M        8 KiB text
 *    +2M+64K    4 KiB rodata
 *    +4M        2 MiB data
 *    +18M       4 KiB bss; the 12 MiB before it were freed
 *
 * At MODULES are 4 MiB of executable memory. 2 MiB directly before the image and 4 KiB directly
 * after it are hvtrace's memory. */
static void setup(unsigned levels)
{
	xm_init(&machine);
	root = xm_table(&machine);
	root = xm_table(&machine); /* the page above stays free for the KPTI test */
	if (root.v & 0x1000)
		root = xm_table(&machine);
	regs[0] = (struct hv_vcpu_regs){.root = root.v, .levels = levels, .trap_table = {IDT}};
	regs[1] = (struct hv_vcpu_regs){0};
	map(1, IDT, IDT_GPA, 1, 0);
	set_trap_target(TEXT + 0x1234);
	map(2, TEXT, PHYS, 1, XM_X);
	map(1, TEXT + 2 * M, PHYS + 2 * M, 2, XM_X);
	map(1, TEXT + 2 * M + 0x10000, PHYS + 2 * M + 0x10000, 1, 0);
	map(2, TEXT + 4 * M, PHYS + 4 * M, 1, XM_W);
	map(1, TEXT + 18 * M, PHYS + 18 * M, 1, XM_W);
	map(1, TEXT + 18 * M + 0x1000, 0x2000, 1, XM_X);
	map(2, TEXT - 2 * M, 26 * M, 1, XM_X);
	map(2, MODULES, 24 * M, 2, XM_X);
	memset(machine.ram + PHYS, 't', 2 * M + 0x2000);
	memset(machine.ram + PHYS + 2 * M + 0x2000, 'x', 16 * M);
	memset(machine.ram + PHYS + 2 * M + 0x10000, 'r', 0x1000);
	memset(machine.ram + PHYS + 4 * M, 'd', 2 * M);
	memset(machine.ram + PHYS + 18 * M, 'b', 0x1000);
}

static void teardown(void)
{
	hv_image_deinit(&image);
	xm_deinit(&machine);
}

static int byte_at(uint64_t gva)
{
	struct hv_span s = hv_image_at(&image, hv_gva(gva));

	return s.len_bytes ? s.data[0] : -1;
}

static void check_found(void)
{
	struct hv_err *err = hv_image_find(machine.guest, regs, 2, &as, &image);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(as.root.v, root.v);
	ck_assert_uint_eq(as.levels, regs[0].levels ? regs[0].levels : regs[1].levels);
	ck_assert_uint_eq(image.all.start.v, TEXT);
	ck_assert_uint_eq(image.gpa.v, PHYS);
	ck_assert_uint_eq(image.all.end.v, TEXT + 18 * M + 0x1000);
	ck_assert_uint_eq(image.len_bytes, 18 * M + 0x1000);
	ck_assert_uint_eq(image.text.start.v, TEXT);
	ck_assert_uint_eq(image.text.end.v, TEXT + 2 * M + 0x2000);
	ck_assert_int_eq(byte_at(TEXT - 1), -1);
	ck_assert_int_eq(byte_at(TEXT), 't');
	ck_assert_int_eq(byte_at(TEXT + 2 * M + 0x1fff), 't');
	ck_assert_int_eq(byte_at(TEXT + 2 * M + 0x2000), 0);
	ck_assert_int_eq(byte_at(TEXT + 2 * M + 0x10fff), 'r');
	ck_assert_int_eq(byte_at(TEXT + 6 * M - 1), 'd');
	ck_assert_int_eq(byte_at(TEXT + 6 * M), 0);
	ck_assert_int_eq(byte_at(TEXT + 18 * M + 0xfff), 'b');
	ck_assert_int_eq(byte_at(TEXT + 18 * M + 0x1000), -1);
}

START_TEST(finds_the_image)
{
	setup((unsigned)_i);
	check_found();
	teardown();
}
END_TEST

/* Copies the first two thirds, up to 12 MiB. */
static void find_first(void)
{
	hv_image_deinit(&image);
	ck_assert_ptr_null(hv_image_find_first(machine.guest, regs, 2, &as, &image));
	ck_assert(hv_image_has_rest(&image));
	ck_assert_uint_eq(image.all.end.v, TEXT + 18 * M + 0x1000);
	ck_assert_uint_eq(image.len_bytes, 12 * M);
	ck_assert_int_eq(byte_at(TEXT + 6 * M - 1), 'd');
	ck_assert_int_eq(byte_at(TEXT + 12 * M - 1), 'x');
	ck_assert_int_eq(byte_at(TEXT + 12 * M), -1);
}

static void copy_rest_without(uint64_t end, uint64_t from, uint64_t to)
{
	struct hv_gva_range excluded = {hv_gva(from), hv_gva(to)}, none = {0};

	ck_assert_ptr_null(hv_image_copy_rest(&image, machine.guest, hv_gva(end), excluded));
	ck_assert(!hv_image_has_rest(&image));
	ck_assert_ptr_null(hv_image_copy_rest(&image, machine.guest, hv_gva(TEXT), none));
}

static void copy_rest(uint64_t end)
{
	copy_rest_without(end, 0, 0);
}

/* The rest is the mapping after the first part, 12 to 14 MiB, and bss, at 18 MiB. Bytes of the rest
 * in FROM..TO must be zero, all others equal to WHOLE. */
static void check_skipped(const struct hv_image *whole, uint64_t from, uint64_t to)
{
	HV_AUTO_FREE uint8_t *expected = hv_alloc(whole->len_bytes);

	memcpy(expected, whole->bytes, whole->len_bytes);
	for (uint64_t off = 12 * M; off < whole->len_bytes; off++)
		if (TEXT + off >= from && TEXT + off < to)
			expected[off] = 0;
	find_first();
	copy_rest_without(TEXT + whole->len_bytes, from, to);
	ck_assert_uint_eq(image.len_bytes, whole->len_bytes);
	ck_assert_mem_eq(image.bytes, expected, whole->len_bytes);
}

START_TEST(a_part_of_the_rest_is_left_out)
{
	struct hv_image whole;

	setup((unsigned)_i);
	map(2, TEXT + 10 * M, PHYS + 10 * M, 2, XM_W);
	ck_assert_ptr_null(hv_image_find(machine.guest, regs, 2, &as, &whole));
	check_skipped(&whole, TEXT + 12 * M + 1, TEXT + 13 * M + 0x123);
	check_skipped(&whole, TEXT + 11 * M, TEXT + 13 * M);
	check_skipped(&whole, TEXT + 13 * M, TEXT + 15 * M);
	check_skipped(&whole, TEXT + 12 * M, TEXT + 14 * M);
	check_skipped(&whole, TEXT + 13 * M, TEXT + 18 * M + 0x10);
	check_skipped(&whole, TEXT + 13 * M, TEXT + 18 * M + 0x1000);
	/* Senseless bounds from a guest leave out nothing. */
	find_first();
	copy_rest_without(TEXT + whole.len_bytes, TEXT + 14 * M, TEXT + 13 * M);
	ck_assert_mem_eq(image.bytes, whole.bytes, whole.len_bytes);
	find_first();
	copy_rest_without(TEXT + 13 * M, TEXT + 12 * M, TEXT + 14 * M);
	ck_assert_mem_eq(image.bytes, whole.bytes, image.len_bytes);
	find_first();
	copy_rest_without(TEXT + 13 * M, TEXT - 2 * M, TEXT + 13 * M);
	ck_assert_mem_eq(image.bytes, whole.bytes, image.len_bytes);
	hv_image_deinit(&whole);
	teardown();
}
END_TEST

START_TEST(the_rest_is_copied_later)
{
	struct hv_image whole;

	setup((unsigned)_i);
	map(2, TEXT + 10 * M, PHYS + 10 * M, 2, XM_W);
	ck_assert_ptr_null(hv_image_find(machine.guest, regs, 2, &as, &whole));
	ck_assert(!hv_image_has_rest(&whole));
	for (unsigned i = 0; i < 3; i++) { /* all of it if the end is outside the rest */
		static const uint64_t ends[] = {TEXT + 18 * M + 0x1000, TEXT + M, 0};

		find_first();
		copy_rest(ends[i]);
		ck_assert_uint_eq(image.len_bytes, whole.len_bytes);
		ck_assert_mem_eq(image.bytes, whole.bytes, whole.len_bytes);
	}
	find_first();
	copy_rest(TEXT + 13 * M + 0x123);
	ck_assert_uint_eq(image.len_bytes, 13 * M + 0x123);
	ck_assert_mem_eq(image.bytes, whole.bytes, image.len_bytes);
	find_first();
	copy_rest(TEXT + 17 * M);
	ck_assert_uint_eq(image.len_bytes, 17 * M);
	ck_assert_mem_eq(image.bytes, whole.bytes, image.len_bytes);
	hv_image_keep_until(&image, hv_gva(TEXT + 5 * M + 1));
	ck_assert_uint_eq(image.len_bytes, 5 * M + 1);
	ck_assert_mem_eq(image.bytes, whole.bytes, image.len_bytes);
	hv_image_deinit(&whole);
	teardown();
}
END_TEST

/* 24 MiB of modules are the largest extent, but no trap leads there. */
START_TEST(traps_identify_the_text)
{
	setup((unsigned)_i);
	map(2, MODULES, 8 * M, 12, XM_X);
	check_found();
	teardown();
}
END_TEST

START_TEST(without_traps_the_biggest_is_the_text)
{
	setup((unsigned)_i);
	map(2, MODULES, 24 * M, 2, 0);
	regs[0].trap_table = hv_gva(0);
	check_found();
	hv_image_deinit(&image);
	/* a trap table that cannot be read, and one that does not lead to text */
	regs[0].trap_table = hv_gva(0x1000);
	check_found();
	hv_image_deinit(&image);
	regs[0].trap_table = hv_gva(IDT);
	set_trap_target(TEXT + 4 * M);
	check_found();
	teardown();
}
END_TEST

START_TEST(user_tables_lead_to_kernel_tables)
{
	struct hv_gpa user;

	setup((unsigned)_i);
	user = hv_gpa(root.v | 0x1000);
	memset(machine.ram + user.v, 0, 4096);
	xm_map(&machine, user, regs[0].levels, 1, hv_gva(TEXT + 2 * M), hv_gpa(PHYS + 2 * M), 1,
	       XM_X);
	xm_map(&machine, user, regs[0].levels, 1, hv_gva(IDT), hv_gpa(IDT_GPA), 1, 0);
	regs[0].root = user.v;
	check_found();
	teardown();
}
END_TEST

START_TEST(finds_the_image_from_any_vcpu)
{
	setup((unsigned)_i);
	regs[1] = regs[0];
	regs[0] = (struct hv_vcpu_regs){0};
	check_found();
	hv_image_deinit(&image);
	regs[0] = regs[1];
	regs[0].root = 0x7000000000;
	check_found();
	teardown();
}
END_TEST

static void check_refused(const char *message)
{
	struct hv_err *err = hv_image_find(machine.guest, regs, 2, &as, &image);

	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, message), "%s", err->message);
	hv_err_free(err);
}

START_TEST(errors_explain_a_missing_image)
{
	setup((unsigned)_i);
	regs[0].levels = 0;
	check_refused("vCPU 0: not in 64-bit mode with paging: firmware, a boot loader or a 32-bit "
		      "kernel, not 64-bit Linux");
	regs[0].levels = (unsigned)_i;
	regs[0].root = XM_RAM_BYTES;
	check_refused("vCPU 0: page table of level");
	check_refused("no RAM at guest physical 0x2000ff8");
	root = xm_table(&machine);
	regs[0].root = root.v & ~0x1000ull;
	memset(machine.ram + regs[0].root, 0, 4096);
	check_refused(
		"vCPU 0: no Linux kernel, or none yet: nothing is mapped at 0xffffffff80000000..");
	root = hv_gpa(regs[0].root);
	map(1, TEXT, PHYS, 2, XM_W);
	check_refused(
		"vCPU 0: no Linux kernel, or none yet: nothing executable at 0xffffffff80000000..");
	map(1, TEXT + 0x1000, 0x7000000000, 1, XM_X);
	check_refused("vCPU 0: kernel image at 0xffffffff9ac01000: no RAM at guest physical "
		      "0x7000000000");
	expect_error(hv_image_find(machine.guest, regs, 0, &as, &image), ENOENT,
		     "the guest has no vCPU");
	teardown();
}
END_TEST

/* level2_kernel_pgt before cleanup_highmap(): the whole range is mapped and executable. */
START_TEST(refuses_an_early_mapping)
{
	setup((unsigned)_i);
	map(2, 0xffffffff80000000, 0, 512, XM_X);
	check_refused("vCPU 0: kernel image of 1024 MiB at 0xffffffff80000000: more than 512 MiB, "
		      "the kernel may still be starting");
	teardown();
}
END_TEST

/* Every entry leads to the same table, so the scan finds the same page many times. It must still
 * end. */
START_TEST(a_loop_ends)
{
	setup((unsigned)_i);
	for (unsigned i = 0; i < 512; i++)
		((uint64_t *)(machine.ram + root.v))[i] = root.v | 3;
	machine.nr_reads = 0;
	hv_err_free(hv_image_find(machine.guest, regs, 2, &as, &image));
	ck_assert_uint_lt(machine.nr_reads, 2000);
	teardown();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, finds_the_image, 4, 6);
	tcase_add_loop_test(tc, the_rest_is_copied_later, 4, 6);
	tcase_add_loop_test(tc, a_part_of_the_rest_is_left_out, 4, 6);
	tcase_add_loop_test(tc, traps_identify_the_text, 4, 6);
	tcase_add_loop_test(tc, without_traps_the_biggest_is_the_text, 4, 6);
	tcase_add_loop_test(tc, user_tables_lead_to_kernel_tables, 4, 6);
	tcase_add_loop_test(tc, finds_the_image_from_any_vcpu, 4, 6);
	tcase_add_loop_test(tc, errors_explain_a_missing_image, 4, 6);
	tcase_add_loop_test(tc, refuses_an_early_mapping, 4, 6);
	tcase_add_loop_test(tc, a_loop_ends, 4, 6);
	tcase_set_timeout(tc, 60);
}

int main(void)
{
	return run_suite("image", add_tests);
}
