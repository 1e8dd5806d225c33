/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the page tables, their format, and the image, where registers do not tell the tables. */
#include <check.h>

#include "kernel/image.h"
#include "kernel/root_search.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/arm64_machine.h"

#define NR_FORMATS 10
#define IMAGE_OFF  0x200000ull /* of RAM; the text has 128 KiB there, then data as much */
#define TEXT_BYTES 0x20000ull
#define TABLES_OFF 0x400000ull
#define IP_OFF	   0x11234ull

static struct am machine;
static struct hv_address_space as;
static uint64_t text;

static void setup(int format)
{
	const struct hv_arch *f = hv_arch_arm64.formats[format];
	uint64_t page_bytes = f->entry_span(1);
	unsigned nr = (unsigned)(TEXT_BYTES / page_bytes);

	am_init(&machine, f, TABLES_OFF);
	text = f->image_window.start.v + 0x15600000;
	am_map(&machine, 1, hv_gva(text), hv_gpa(AM_RAM_START + IMAGE_OFF), nr,
	       HV_ACCESS_READ_EXECUTE);
	am_map(&machine, 1, hv_gva(text + TEXT_BYTES),
	       hv_gpa(AM_RAM_START + IMAGE_OFF + TEXT_BYTES), nr, HV_ACCESS_READ_WRITE);
	machine.vcpu = (struct hv_vcpu_regs){
		.ip = {text + IP_OFF},
		.ip_gpa = {AM_RAM_START + IMAGE_OFF + IP_OFF},
	};
}

static void teardown(void)
{
	am_deinit(&machine);
}

static struct hv_err *search(void)
{
	as = (struct hv_address_space){0};
	return hv_root_search(machine.guest, &machine.vcpu, 1, &as);
}

static void expect_found(void)
{
	HV_AUTO_ERR struct hv_err *err = search();

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(as.root.v, machine.root.v);
	ck_assert_ptr_eq(as.arch, machine.format);
	ck_assert_uint_eq(as.levels, machine.format->format_levels);
}

static void expect_error(const char *words)
{
	HV_AUTO_ERR struct hv_err *err = search();

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOENT);
	ck_assert_msg(strstr(err->message, words), "%s", err->message);
}

START_TEST(each_format_is_found)
{
	setup(_i);
	expect_found();
	ck_assert_uint_eq(machine.nr_looks, 0);
	teardown();
}
END_TEST

START_TEST(tables_that_lead_elsewhere_are_not_taken)
{
	struct hv_gva ip;
	struct hv_gpa decoy, below;

	setup(1);
	ip = machine.vcpu.ip;
	/* A root before the right one, whose tables map another page there. */
	decoy = (struct hv_gpa){AM_RAM_START + TABLES_OFF - 0x10000};
	for (unsigned l = 4; l > 1; l--, decoy = below) {
		below = (struct hv_gpa){decoy.v + 0x1000};
		*am_entry(&machine, decoy, l, ip) = below.v | 3;
	}
	*am_entry(&machine, decoy, 1, ip) = machine.format->make_leaf(
		1, 3, hv_gpa(AM_RAM_START + IMAGE_OFF), HV_ACCESS_READ_EXECUTE);
	expect_found();
	teardown();
}
END_TEST

/* With KPTI user mode has a root of its own, before the kernel's: it leads to the text by which the
 * kernel is entered, and nowhere else. */
START_TEST(the_tables_of_user_mode_are_not_taken)
{
	struct hv_gpa user = {AM_RAM_START + TABLES_OFF - 0x10000};

	setup(_i);
	am_map(&machine, 1, hv_gva(machine.format->kernel_start(machine.format->format_levels).v),
	       hv_gpa(AM_RAM_START), 1, HV_ACCESS_READ_WRITE);
	*am_entry(&machine, user, machine.format->format_levels, machine.vcpu.ip) =
		*am_entry(&machine, machine.root, machine.format->format_levels, machine.vcpu.ip);
	expect_found();
	teardown();
}
END_TEST

START_TEST(registers_are_read_until_a_vcpu_is_in_the_kernel)
{
	struct hv_vcpu_regs user = {.ip = {0x401000}};
	HV_AUTO_ERR struct hv_err *err = NULL;

	setup(0);
	machine.user_looks = 3;
	err = hv_root_search(machine.guest, &user, 1, &as);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(machine.nr_looks, 4);
	ck_assert_uint_eq(as.root.v, machine.root.v);
	teardown();
}
END_TEST

START_TEST(all_of_them_in_user_mode)
{
	setup(0);
	machine.user_looks = ~0u;
	machine.vcpu = (struct hv_vcpu_regs){.ip = {0x401000}};
	expect_error("no vCPU was seen in a kernel");
	teardown();
}
END_TEST

START_TEST(no_tables)
{
	setup(0);
	memset(machine.ram + TABLES_OFF, 0, AM_RAM_BYTES - TABLES_OFF);
	expect_error("no page tables behind 0x");
	teardown();
}
END_TEST

START_TEST(the_image_is_found_by_them)
{
	struct hv_image image;
	HV_AUTO_ERR struct hv_err *err = NULL;

	setup(_i);
	memset(machine.ram + IMAGE_OFF, 't', TEXT_BYTES);
	err = hv_image_find(machine.guest, &machine.vcpu, 1, &as, &image);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(image.text.start.v, text);
	ck_assert_uint_eq(image.text.end.v, text + TEXT_BYTES);
	ck_assert_uint_eq(image.all.end.v, text + 2 * TEXT_BYTES);
	ck_assert_uint_eq(image.gpa.v, AM_RAM_START + IMAGE_OFF);
	ck_assert_int_eq(image.bytes[TEXT_BYTES - 1], 't');
	hv_image_deinit(&image);
	teardown();
}
END_TEST

/* The tables of a guest may lead round: each level of these has all its entries for one table. */
START_TEST(endless_tables_end)
{
	struct hv_image image;
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_gpa table;

	setup(1);
	table = machine.format->decode_entry(4, *am_entry(&machine, machine.root, 4, hv_gva(text)))
			.to;
	for (unsigned i = 0; i < 512; i++) {
		uint64_t *entry = (uint64_t *)(void *)(machine.ram + (table.v - AM_RAM_START)) + i;

		if (!*entry)
			*entry = table.v | 3;
	}
	err = hv_image_find(machine.guest, &machine.vcpu, 1, &as, &image);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, E2BIG);
	teardown();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, each_format_is_found, 0, NR_FORMATS);
	tcase_add_test(tc, tables_that_lead_elsewhere_are_not_taken);
	tcase_add_loop_test(tc, the_tables_of_user_mode_are_not_taken, 0, NR_FORMATS);
	tcase_add_test(tc, registers_are_read_until_a_vcpu_is_in_the_kernel);
	tcase_add_test(tc, all_of_them_in_user_mode);
	tcase_add_test(tc, no_tables);
	tcase_add_loop_test(tc, the_image_is_found_by_them, 0, NR_FORMATS);
	tcase_add_test(tc, endless_tables_end);
}

int main(void)
{
	return run_suite("root_search", add_tests);
}
