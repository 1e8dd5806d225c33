/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The strings of printk_formats: their order, and limits for a guest's claims. */
#include "kernel/events/print_values.h"

#include "kernel/events/pages.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/events/fake_events.h"

#define STRINGS	    (FK_BASE + 0x200000) /* an array of pointers */
#define TEXT	    (FK_BASE + 0x600000)
#define STRINGS_MAX 100000u
#define LONG_LEN    60000u
#define BYTES_MAX   (32u << 20)

static struct fe e;
static struct hv_print_strings found;

static void set_up(void)
{
	fe_init(&e);
	found = (struct hv_print_strings){0};
}

static void tear_down(void)
{
	hv_print_strings_deinit(&found);
	fe_deinit(&e);
}

/* Makes an array of NR pointers to one string of LEN bytes. */
static void claim(size_t nr, size_t len)
{
	memset(fk_host(&e.f, TEXT), 'x', len);
	for (size_t i = 0; i < nr; i++)
		fk_u64(&e.f, STRINGS + 8 * i, TEXT);
	fk_symbol(&e.f, "__start___tracepoint_str", STRINGS);
	fk_symbol(&e.f, "__stop___tracepoint_str", STRINGS + 8 * nr);
	hv_symbols_index(&e.f.k.core.symbols);
}

static void read_them(void)
{
	struct hv_err *err = hv_print_strings_read(&e.f.k, &found);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void fails(const char *words)
{
	struct hv_err *err = hv_print_strings_read(&e.f.k, &found);

	ck_assert(err && err->code == E2BIG);
	ck_assert_msg(strstr(err->message, words) != NULL, "%s", err->message);
	hv_err_free(err);
	ck_assert_uint_eq(found.nr, 0);
}

START_TEST(as_many_as_a_kernel_may_have)
{
	claim(STRINGS_MAX, 1);
	read_them();
	ck_assert_uint_eq(found.nr, STRINGS_MAX);
	ck_assert_uint_eq(found.list[STRINGS_MAX - 1].at.v, TEXT);
	ck_assert_str_eq(found.list[STRINGS_MAX - 1].string, "x");
}
END_TEST

START_TEST(more_of_them_are_refused)
{
	claim(STRINGS_MAX + 1, 1);
	fails("printk_formats: the list does not end after 100000 entries");
}
END_TEST

/* Repeated strings count as well: a reader gets each of them. */
START_TEST(more_bytes_of_them_are_refused)
{
	claim(BYTES_MAX / LONG_LEN, LONG_LEN);
	read_them();
	ck_assert_uint_eq(found.nr, BYTES_MAX / LONG_LEN);
	tear_down();
	set_up();
	claim(BYTES_MAX / LONG_LEN + 1, LONG_LEN);
	fails("more than 32 MiB of them");
}
END_TEST

/* Strings that begin in another one are copied, too. */
START_TEST(more_bytes_of_all_strings_are_refused)
{
	const size_t len = (1 << 20) - 64;
	struct hv_pages pages;
	struct hv_store store = {0};
	struct hv_strings all;
	struct hv_err *err = NULL;
	const char *string;
	unsigned nr = 0;

	memset(fk_host(&e.f, TEXT), 'x', len + 64);
	hv_pages_init(&pages, &e.f.k.core.as);
	hv_strings_init(&all, &pages, &store);
	while (!err && nr <= 65)
		err = hv_strings_read(&all, hv_gva(TEXT + nr++), len + 64, &string);
	ck_assert_uint_gt(nr, 63);
	expect_error(err, E2BIG, "more than 67108864 bytes of strings");
	hv_strings_deinit(&all);
	hv_store_deinit(&store);
	hv_pages_deinit(&pages);
}
END_TEST

#define PAGES	  UINT64_C(0xffffffff90000000) /* maps the same memory repeatedly */
#define PAGES_MAX 32768u

START_TEST(more_pages_of_them_are_refused)
{
	struct hv_pages pages;
	uint64_t word;

	for (uint64_t off = 0; off <= PAGES_MAX * 4096ull; off += 2 << 20)
		xm_map(&e.f.machine, e.f.k.core.as.root, 4, 2, hv_gva(PAGES + off), hv_gpa(FK_GPA),
		       1, XM_W);
	hv_pages_init(&pages, &e.f.k.core.as);
	for (unsigned i = 0; i < PAGES_MAX; i++)
		expect_success(hv_pages_u64(&pages, hv_gva(PAGES + i * 4096ull), &word));
	expect_error(hv_pages_u64(&pages, hv_gva(PAGES + PAGES_MAX * 4096ull), &word), E2BIG,
		     "the list does not end after 32768 pages");
	hv_pages_deinit(&pages);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, as_many_as_a_kernel_may_have);
	tcase_add_test(tc, more_of_them_are_refused);
	tcase_add_test(tc, more_bytes_of_them_are_refused);
	tcase_add_test(tc, more_bytes_of_all_strings_are_refused);
	tcase_add_test(tc, more_pages_of_them_are_refused);
}

int main(void)
{
	return run_suite("print_strings", add_tests);
}
