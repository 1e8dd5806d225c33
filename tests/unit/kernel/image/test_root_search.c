/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the page tables, their format, and the image if registers do not contain the root. */
#include <check.h>

#include "base/cancel.h"
#include "kernel/image/image.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/arm64_machine.h"

#define NR_FORMATS 10
#define IMAGE_OFF  0x200000ull /* in RAM: 128 KiB of text, then 128 KiB of data */
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
	text = f->image_range.start.v + 0x15600000;
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
	/* A root before the right one. Its tables map a different page at the ip. */
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

/* With KPTI, user mode has a separate root before the kernel's. It maps only the kernel's entry
 * code. */
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

/* A vCPU may be in hvtrace's own code, which is not RAM. Such positions give no information,
 * however many there are. */
START_TEST(positions_outside_ram_are_skipped)
{
	struct hv_vcpu_regs ours[10];
	HV_AUTO_ERR struct hv_err *err = NULL;

	setup(0);
	for (unsigned i = 0; i < HV_ARRAY_LEN(ours); i++)
		ours[i] = (struct hv_vcpu_regs){
			.ip = {text + 16 * i},
			.ip_gpa = {AM_RAM_START + AM_RAM_BYTES + 0x10000 + 16 * i}};
	err = hv_root_search(machine.guest, ours, HV_ARRAY_LEN(ours), &as);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(as.root.v, machine.root.v);
	teardown();
}
END_TEST

START_TEST(all_vcpus_in_user_mode)
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
	expect_error("no page tables at 0x");
	expect_error(": firmware or a boot loader, or a kernel that is starting");
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

/* A guest's page tables may be circular: all entries of each level lead to one table. */
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
	ck_assert_str_eq(err->message, "page tables: they have more than 33554432 entries, or map "
				       "more than 4194304 pieces");
	teardown();
}
END_TEST

static bool after_some(void *ctx)
{
	unsigned *left = ctx;

	return *left == 0 || (*left)-- == 0;
}

static struct hv_image image;

static struct hv_err *find_image(void)
{
	image = (struct hv_image){0};
	return hv_image_find(machine.guest, &machine.vcpu, 1, &as, &image);
}

/* The search must stop when its client has left. */
START_TEST(looking_at_registers_can_be_given_up)
{
	unsigned left = 3;
	HV_AUTO_ERR struct hv_err *err = NULL;

	setup(0);
	machine.user_looks = ~0u;
	machine.vcpu = (struct hv_vcpu_regs){.ip = {0x401000}};
	hv_cancel_when(after_some, &left);
	err = search();
	hv_cancel_when(NULL, NULL);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ECANCELED);
	ck_assert_uint_eq(machine.nr_looks, 3);
	teardown();
}
END_TEST

/* Makes the empty entries of the TABLE of LEVEL lead to the table TO. */
static void fill(struct hv_gpa table, unsigned level, struct hv_gpa to)
{
	uint64_t from = machine.format->image_range.start.v,
		 span = machine.format->entry_span(level);
	uint64_t nr = machine.format->entry_span(1) / 8, left = -from / span;

	for (uint64_t i = 0; i < (left < nr ? left : nr); i++) {
		uint64_t *entry = am_entry(&machine, table, level, hv_gva(from + i * span));

		if (!*entry)
			*entry = to.v | 3;
	}
}

/* All tables of a level are one, and the tables of the last level are empty. */
static void share_tables(int format)
{
	struct hv_gpa table, below;

	setup(format);
	table = machine.root;
	for (unsigned level = machine.format->format_levels; level > 1; level--, table = below) {
		below = level > 2 ? machine.format
					    ->decode_entry(level, *am_entry(&machine, table, level,
									    hv_gva(text)))
					    .to
				  : am_table(&machine);
		fill(table, level, below);
	}
	machine.nr_bytes = 0;
}

START_TEST(table_reads_are_bounded)
{
	static const int formats[] = {1, 8}; /* tables of 4 KiB and of 64 KiB */
	HV_AUTO_ERR struct hv_err *err = NULL;

	share_tables(formats[_i]);
	err = find_image();
	ck_assert_msg(!err || err->code == E2BIG, "%s", err->message);
	hv_image_deinit(&image);
	ck_assert_uint_le(machine.nr_bytes, 1ull << 30);
	teardown();
}
END_TEST

/* hvtrace maps the region through its own tables if leaves would be too large, which is the case
 * with 16 KiB pages. */
START_TEST(tables_in_the_region_are_skipped)
{
	static const int formats[] = {4, 1, 8}; /* 16, 4 and 64 KiB */
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_gpa table;

	setup(formats[_i]);
	table = machine.root;
	for (unsigned l = machine.format->format_levels; l > 2; l--)
		table = machine.format->decode_entry(l, *am_entry(&machine, table, l, hv_gva(text)))
				.to;
	*am_entry(&machine, table, 2, hv_gva(text + machine.format->entry_span(2))) =
		0x100000000 | 3;
	err = find_image();
	ck_assert_int_eq(err ? err->code : 0, _i ? EFAULT : 0);
	hv_image_deinit(&image);
	/* There must not be many such entries. */
	for (unsigned i = 1; !_i && i < 100; i++)
		*am_entry(&machine, table, 2, hv_gva(text + i * machine.format->entry_span(2))) =
			0x100000000 | 3;
	if (!_i)
		err = find_image();
	ck_assert_int_eq(err->code, EFAULT);
	hv_image_deinit(&image);
	teardown();
}
END_TEST

START_TEST(reading_tables_can_be_given_up)
{
	unsigned left = ~0u;
	HV_AUTO_ERR struct hv_err *err = NULL;

	share_tables(1);
	hv_cancel_when(after_some, &left);
	expect_found();
	left = ~0u - left; /* number of checks during the search of the root */
	err = find_image();
	hv_cancel_when(NULL, NULL);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ECANCELED);
	teardown();
}
END_TEST

START_TEST(a_read_that_fails_is_not_the_end_of_ram)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	setup(0);
	machine.read_error = EIO;
	err = search();
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EIO);
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
	tcase_add_test(tc, positions_outside_ram_are_skipped);
	tcase_add_test(tc, all_vcpus_in_user_mode);
	tcase_add_test(tc, no_tables);
	tcase_add_loop_test(tc, the_image_is_found_by_them, 0, NR_FORMATS);
	tcase_add_test(tc, endless_tables_end);
	tcase_add_test(tc, looking_at_registers_can_be_given_up);
	tcase_add_loop_test(tc, table_reads_are_bounded, 0, 2);
	tcase_add_loop_test(tc, tables_in_the_region_are_skipped, 0, 3);
	tcase_add_test(tc, reading_tables_can_be_given_up);
	tcase_add_test(tc, a_read_that_fails_is_not_the_end_of_ram);
}

int main(void)
{
	return run_suite("root_search", add_tests);
}
