/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds an image that was moved, with each number of levels of riscv64's page tables. Debian's
 * kernels are never moved, so no guest tests this. test_image.c covers the rest. */
#include <check.h>
#include <string.h>

#include "kernel/image/image.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"

#define RAM_START  0x80000000ull
#define RAM_BYTES  (32u << 20)
#define TABLES_OFF (24u << 20)
#define MIB	   0x100000ull
#define TEXT	   0xffffffffa1c00000ull
#define MODULES	   (TEXT - 64 * MIB)
#define PHYS	   (RAM_START + 4 * MIB)
#define DATA	   (4 * MIB) /* from TEXT */
#define TABLE_BITS 1	     /* entry that leads to a table: V */

static const struct hv_arch *const arch = &hv_arch_riscv64;
static uint8_t *ram;
static struct hv_guest *guest;
static uint64_t next_table;

static struct hv_err *read_ram(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	uint64_t off = gpa.v - RAM_START;

	(void)self;
	if (off > RAM_BYTES || len > RAM_BYTES - off)
		return hv_err_new(EFAULT, "no RAM at 0x%llx", (unsigned long long)gpa.v);
	memcpy(buf, ram + off, len);
	return NULL;
}

static void free_nothing(void *self)
{
	(void)self;
}

static void setup(void)
{
	static struct hv_guest_ops ops = {.read = read_ram, .free = free_nothing};
	const struct hv_guest_info info = {
		.name = "test",
		.id = "test",
		.nr_vcpus = 2,
		.arch = arch,
		.ram_bytes = RAM_BYTES,
		.transport = "test",
	};

	ram = hv_alloc(RAM_BYTES);
	next_table = RAM_START + TABLES_OFF;
	guest = part_guest_new(&ops, NULL, &info);
}

static void teardown(void)
{
	hv_guest_free(guest);
	free(ram);
}

static struct hv_gpa new_table(void)
{
	next_table += 4096;
	return hv_gpa(next_table - 4096);
}

static uint64_t *entry_at(struct hv_gpa table, unsigned level, uint64_t gva)
{
	return (uint64_t *)(void *)(ram +
				    (arch->entry_at(table, level, hv_gva(gva)).v - RAM_START));
}

/* Maps 2 MiB. */
static void map(struct hv_gpa root, unsigned levels, uint64_t gva, uint64_t gpa,
		enum hv_access access)
{
	struct hv_gpa table = root;

	for (unsigned level = levels; level > 2; level--) {
		uint64_t *entry = entry_at(table, level, gva);

		if (!*entry)
			*entry = new_table().v >> 12 << 10 | TABLE_BITS;
		table = arch->decode_entry(level, *entry).to;
	}
	*entry_at(table, 2, gva) = arch->make_leaf(2, 0, hv_gpa(gpa), access);
}

/* _i: levels. The first vCPU runs a nested guest and does not reveal its tables. */
START_TEST(a_moved_image_is_found)
{
	unsigned levels = (unsigned)_i;
	struct hv_gpa root = new_table();
	struct hv_vcpu_regs regs[2] = {
		{.levels = 0},
		{.root = (levels + 5ull) << 60 | 7ull << 44 | root.v >> 12, .levels = levels},
	};
	struct hv_address_space as;
	struct hv_image image;
	struct hv_err *err;

	map(root, levels, TEXT, PHYS, HV_ACCESS_READ_EXECUTE);
	map(root, levels, TEXT + 2 * MIB, PHYS + 2 * MIB, HV_ACCESS_READ_EXECUTE);
	map(root, levels, TEXT + DATA, PHYS + DATA, HV_ACCESS_READ_WRITE);
	map(root, levels, MODULES, RAM_START + 16 * MIB, HV_ACCESS_READ_EXECUTE);
	memset(ram + (PHYS - RAM_START), 't', 4 * MIB);
	err = hv_image_find(guest, regs, 2, &as, &image);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(as.root.v, root.v);
	ck_assert_uint_eq(as.levels, levels);
	ck_assert_uint_eq(image.all.start.v, TEXT);
	ck_assert_uint_eq(image.all.end.v, TEXT + DATA + 2 * MIB);
	ck_assert_uint_eq(image.text.end.v, TEXT + DATA);
	ck_assert_uint_eq(image.gpa.v, PHYS);
	ck_assert_int_eq(hv_image_at(&image, hv_gva(TEXT + DATA - 1)).data[0], 't');
	hv_image_deinit(&image);
}
END_TEST

/* Before the kernel enables translation. */
START_TEST(no_tables)
{
	const struct hv_vcpu_regs regs[2] = {{.ip = {0x80200000}}, {.ip = {0x80000400}}};
	struct hv_address_space as;
	struct hv_image image;
	HV_AUTO_ERR struct hv_err *err = hv_image_find(guest, regs, 2, &as, &image);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOENT);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_moved_image_is_found, 3, 6);
	tcase_add_test(tc, no_tables);
}

int main(void)
{
	return run_suite("riscv64_image", add_tests);
}
