/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Releases pages of an image's copy and reads them again from a guest that may have changed them. */
#include <check.h>

#include "kernel/image/release.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/x86_machine.h"

#define START	  0xffffffff81000000ull
#define GPA	  0x200000ull
#define PAGES	  64u
#define LEN_BYTES (PAGES * HV_IMAGE_PAGE - 100) /* the last page is not whole */
#define ZERO_PAGE 7u
#define CODE_OFF  (5 * HV_IMAGE_PAGE - 3) /* on two pages */
#define PATCH_OFF (20 * HV_IMAGE_PAGE + 9)

static struct xm machine;
static struct hv_image image;
static uint8_t whole[LEN_BYTES]; /* as it was copied first */

static void setup(void)
{
	xm_init(&machine);
	image = (struct hv_image){
		.all = {hv_gva(START), hv_gva(START + LEN_BYTES)},
		.gpa = {GPA},
		.bytes = hv_alloc(LEN_BYTES),
		.len_bytes = LEN_BYTES,
		.pages = hv_image_pages_new(machine.guest),
	};
	for (size_t i = 0; i < LEN_BYTES; i++)
		whole[i] = i / HV_IMAGE_PAGE == ZERO_PAGE ? 0 : (uint8_t)(i / 4096 + i * 7 + 1);
	memcpy(image.bytes, whole, LEN_BYTES);
	memcpy(machine.ram + GPA, whole, LEN_BYTES);
	hv_image_note_code(&image, hv_gva(START + CODE_OFF));
	hv_image_note_code(&image, hv_gva(START + LEN_BYTES - 3)); /* outside: ignored */
	hv_image_note_code(&image, hv_gva(START - 1));
	hv_image_allow_release(&image, NULL, NULL);
}

static void teardown(void)
{
	hv_image_deinit(&image);
	xm_deinit(&machine);
}

static void release_all(void)
{
	/* The first call only notes that the pages were used. */
	for (unsigned i = 0; i < 2; i++)
		while (hv_image_release_some(&image))
			;
}

static struct hv_gva page(unsigned nr)
{
	return hv_gva(START + (uint64_t)nr * HV_IMAGE_PAGE);
}

static void expect_whole(void)
{
	struct hv_span s = hv_image_at(&image, hv_gva(START));

	ck_assert_uint_eq(s.len_bytes, LEN_BYTES);
	ck_assert_mem_eq(s.data, whole, LEN_BYTES);
	for (unsigned i = 0; i < PAGES; i++)
		ck_assert(!hv_image_is_changed(&image, page(i)));
}

START_TEST(released_pages_are_read_again)
{
	struct hv_span s;

	setup();
	release_all();
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 1) * HV_IMAGE_PAGE);
	ck_assert_uint_eq(image.bytes[10 * HV_IMAGE_PAGE], 0); /* the memory was returned */
	s = hv_image_part(&image, hv_gva_add(page(9), 10), HV_IMAGE_PAGE);
	ck_assert_uint_eq(s.len_bytes, HV_IMAGE_PAGE);
	ck_assert_mem_eq(s.data, whole + 9 * HV_IMAGE_PAGE + 10, HV_IMAGE_PAGE);
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 3) * HV_IMAGE_PAGE);
	expect_whole();
	ck_assert_uint_eq(hv_image_released_bytes(&image), 0);
	release_all();
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 1) * HV_IMAGE_PAGE);
	expect_whole();
	teardown();
}
END_TEST

START_TEST(pages_in_use_stay)
{
	setup();
	release_all();
	(void)hv_image_part(&image, page(3), 1);
	ck_assert(!hv_image_release_some(&image));
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 2) * HV_IMAGE_PAGE);
	ck_assert(!hv_image_release_some(&image));
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 1) * HV_IMAGE_PAGE);
	teardown();
}
END_TEST

START_TEST(held_pages_stay)
{
	struct hv_gva_range range = {hv_gva_add(page(3), 100), hv_gva_add(page(5), 1)};

	setup();
	hv_image_hold(&image, range);
	hv_image_hold(&image, range);
	release_all();
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 4) * HV_IMAGE_PAGE);
	ck_assert_mem_eq(image.bytes + 3 * HV_IMAGE_PAGE, whole + 3 * HV_IMAGE_PAGE,
			 3 * HV_IMAGE_PAGE);
	hv_image_unhold(&image, range);
	hv_image_unhold(&image, (struct hv_gva_range){page(0), page(1)}); /* not held */
	(void)hv_image_part(&image, page(3), 1);
	release_all();
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 4) * HV_IMAGE_PAGE);
	hv_image_unhold(&image, range);
	(void)hv_image_part(&image, page(3), 1);
	release_all();
	ck_assert_uint_eq(hv_image_released_bytes(&image), (PAGES - 1) * HV_IMAGE_PAGE);
	expect_whole();
	teardown();
}
END_TEST

START_TEST(patched_code_is_put_back)
{
	setup();
	release_all();
	memset(machine.ram + GPA + CODE_OFF, 0xcc, HV_IMAGE_CODE_BYTES);
	(void)hv_image_part(&image, page(4), 1); /* one of both pages alone */
	expect_whole();
	teardown();
}
END_TEST

static void put_back(void *ctx, struct hv_gva at, uint8_t *bytes, size_t len_bytes)
{
	uint64_t off = START + PATCH_OFF - at.v;

	++*(unsigned *)ctx;
	if (off < len_bytes)
		bytes[off] = whole[PATCH_OFF];
}

START_TEST(our_patches_are_put_back)
{
	unsigned nr = 0;

	setup();
	hv_image_allow_release(&image, put_back, &nr);
	release_all();
	machine.ram[GPA + PATCH_OFF] ^= 1;
	expect_whole();
	ck_assert_uint_gt(nr, 0);
	/* Afterwards the callback is not called. */
	release_all();
	hv_image_forbid_release(&image);
	nr = 0;
	ck_assert(hv_image_part(&image, page(20), 1).len_bytes);
	ck_assert_uint_eq(nr, 0);
	ck_assert(hv_image_is_changed(&image, page(20)));
	teardown();
}
END_TEST

START_TEST(changed_pages_are_recognised)
{
	const struct hv_gva_range all = {hv_gva(START), hv_gva(START + LEN_BYTES)};

	setup();
	release_all();
	machine.ram[GPA + PATCH_OFF] ^= 0x10;
	machine.ram[GPA + LEN_BYTES - 1] ^= 0x10;
	machine.ram[GPA + ZERO_PAGE * HV_IMAGE_PAGE] = 1; /* was not copied from the guest */
	(void)hv_image_at(&image, hv_gva(START));
	for (unsigned i = 0; i < PAGES; i++)
		ck_assert_int_eq(hv_image_is_changed(&image, page(i)), i == 20 || i == PAGES - 1);
	ck_assert_uint_eq(image.bytes[PATCH_OFF], whole[PATCH_OFF] ^ 0x10);
	ck_assert_uint_eq(image.bytes[ZERO_PAGE * HV_IMAGE_PAGE], 0);
	/* A changed page that is released must still match the first copy. */
	release_all();
	(void)hv_image_at(&image, hv_gva(START));
	ck_assert(hv_image_is_changed(&image, page(20)));
	memcpy(machine.ram + GPA, whole, LEN_BYTES);
	ck_assert_ptr_null(hv_image_load(&image, 0, LEN_BYTES));
	ck_assert(hv_image_is_changed(&image, page(20)));
	ck_assert_ptr_null(hv_image_load_again(&image, all));
	expect_whole();
	teardown();
}
END_TEST

START_TEST(memory_that_is_gone_is_an_error)
{
	struct hv_err *err;

	setup();
	release_all();
	image.gpa = hv_gpa(XM_RAM_BYTES - 4 * HV_IMAGE_PAGE);
	ck_assert_uint_eq(hv_image_part(&image, page(4), 1).len_bytes, 0);
	err = hv_image_load(&image, 4 * HV_IMAGE_PAGE, 1);
	expect_error(err, EFAULT, "kernel image at 0xffffffff81004000");
	image.gpa = hv_gpa(GPA);
	expect_whole();
	teardown();
}
END_TEST

START_TEST(without_pages_the_copy_stays)
{
	setup();
	hv_image_pages_free(image.pages);
	image.pages = NULL;
	hv_image_allow_release(&image, NULL, NULL);
	hv_image_note_code(&image, page(1));
	hv_image_hold(&image, (struct hv_gva_range){page(1), page(2)});
	release_all();
	ck_assert_uint_eq(hv_image_released_bytes(&image), 0);
	expect_whole();
	teardown();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, released_pages_are_read_again);
	tcase_add_test(tc, pages_in_use_stay);
	tcase_add_test(tc, held_pages_stay);
	tcase_add_test(tc, patched_code_is_put_back);
	tcase_add_test(tc, our_patches_are_put_back);
	tcase_add_test(tc, changed_pages_are_recognised);
	tcase_add_test(tc, memory_that_is_gone_is_an_error);
	tcase_add_test(tc, without_pages_the_copy_stays);
}

int main(void)
{
	return run_suite("release", add_tests);
}
