/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks and reads through valid and hostile page tables. */
#include <check.h>

#include "kernel/image/address_space.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/x86_machine.h"

#define GVA 0xffffffff81234567ull

static struct xm machine;
static struct hv_address_space as;

static void setup(unsigned levels)
{
	xm_init(&machine);
	as = (struct hv_address_space){machine.guest, &hv_arch_x86_64, xm_table(&machine), levels};
}

static void map(unsigned level, uint64_t gva, uint64_t gpa, unsigned access)
{
	xm_map(&machine, as.root, as.levels, level, hv_gva(gva), hv_gpa(gpa), 1, access);
}

static struct hv_mapping walk(uint64_t gva)
{
	struct hv_mapping m;
	struct hv_err *err = hv_walk(&as, hv_gva(gva), &m);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return m;
}

/* _i: 4 or 5 levels */
START_TEST(walks_to_leaves_of_every_size)
{
	static const uint64_t spans[] = {0, 0x1000, 0x200000, 0x40000000};

	for (unsigned level = 1; level <= 3; level++) {
		struct hv_mapping m;

		setup((unsigned)_i);
		map(level, GVA & ~(spans[level] - 1), 0x80000000, XM_X);
		m = walk(GVA);
		ck_assert(m.present && m.executable && !m.writable);
		ck_assert_uint_eq(m.level, level);
		ck_assert_uint_eq(m.gpa.v, 0x80000000 + (GVA & (spans[level] - 1)));
		ck_assert_uint_eq(m.len_bytes, spans[level] - (GVA & (spans[level] - 1)));
		ck_assert_uint_eq(m.entry, *(uint64_t *)(machine.ram + m.entry_gpa.v));
		ck_assert_ptr_eq(machine.ram + m.entry_gpa.v,
				 xm_path(&machine, as.root, as.levels, level, hv_gva(GVA)));
		xm_deinit(&machine);
	}
}
END_TEST

START_TEST(a_hole_is_as_large_as_its_entry)
{
	setup((unsigned)_i);
	for (unsigned level = (unsigned)_i; level >= 1; level--) {
		uint64_t span = 1ull << (12 + 9 * (level - 1));
		struct hv_mapping m;

		xm_path(&machine, as.root, as.levels, level, hv_gva(GVA));
		m = walk(GVA);
		ck_assert(!m.present && !m.writable && !m.executable);
		ck_assert_uint_eq(m.level, level);
		ck_assert_uint_eq(m.len_bytes, span - (GVA & (span - 1)));
		ck_assert_uint_eq(m.entry, 0);
	}
	xm_deinit(&machine);
}
END_TEST

START_TEST(every_level_must_permit)
{
	struct hv_mapping m;

	setup((unsigned)_i);
	map(1, GVA & ~0xfffull, 0x5000, XM_X | XM_W);
	m = walk(GVA);
	ck_assert(m.writable && m.executable);
	*xm_path(&machine, as.root, as.levels, 3, hv_gva(GVA)) &= ~2ull;
	m = walk(GVA);
	ck_assert(!m.writable && m.executable);
	*xm_path(&machine, as.root, as.levels, 2, hv_gva(GVA)) |= 1ull << 63;
	m = walk(GVA);
	ck_assert(m.present && !m.writable && !m.executable);
	xm_deinit(&machine);
}
END_TEST

START_TEST(a_table_outside_ram_is_an_error)
{
	struct hv_mapping m = {.level = 99};
	struct hv_err *err;

	setup((unsigned)_i);
	*xm_path(&machine, as.root, as.levels, 3, hv_gva(GVA)) = 0x70000000 | 3;
	err = hv_walk(&as, hv_gva(GVA), &m);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EFAULT);
	ck_assert_str_eq(err->message, "page table of level 2 for 0xffffffff81234567: no RAM at "
				       "guest physical 0x70000048 (8 bytes)");
	ck_assert_uint_eq(m.level, 99);
	hv_err_free(err);
	xm_deinit(&machine);
}
END_TEST

/* All entries of the table lead to the table itself. The walk must end after the number of
 * levels. */
START_TEST(a_loop_ends)
{
	setup((unsigned)_i);
	for (unsigned i = 0; i < 512; i++)
		((uint64_t *)(machine.ram + as.root.v))[i] = as.root.v | 3;
	machine.nr_reads = 0;
	ck_assert(walk(GVA).present);
	ck_assert_uint_eq(machine.nr_reads, (unsigned)_i);
	xm_deinit(&machine);
}
END_TEST

START_TEST(reads_across_mappings)
{
	uint8_t buf[0x1800];
	uint64_t value;
	uint32_t half;

	setup((unsigned)_i);
	map(1, 0xffffffff81000000, 0x9000, 0);
	map(1, 0xffffffff81001000, 0x3000, 0);
	map(1, 0xffffffff81002000, 0x6000, 0);
	memset(machine.ram + 0x9000, 'a', 0x1000);
	memset(machine.ram + 0x3000, 'b', 0x1000);
	memset(machine.ram + 0x6000, 'c', 0x1000);
	ck_assert_ptr_null(hv_read(&as, hv_gva(0xffffffff81000c00), buf, sizeof(buf)));
	ck_assert_int_eq(buf[0], 'a');
	ck_assert_int_eq(buf[0x3ff], 'a');
	ck_assert_int_eq(buf[0x400], 'b');
	ck_assert_int_eq(buf[0x13ff], 'b');
	ck_assert_int_eq(buf[0x1400], 'c');
	ck_assert_int_eq(buf[0x17ff], 'c');
	ck_assert_ptr_null(hv_read_u64(&as, hv_gva(0xffffffff81000ffe), &value));
	ck_assert_uint_eq(value, 0x6262626262626161);
	ck_assert_ptr_null(hv_read_u32(&as, hv_gva(0xffffffff81000ffe), &half));
	ck_assert_uint_eq(half, 0x62626161);
	ck_assert_ptr_null(hv_read(&as, hv_gva(1), buf, 0));
	xm_deinit(&machine);
}
END_TEST

static void check_fault(uint64_t gva, size_t len, const char *message)
{
	uint8_t buf[64];
	HV_AUTO_ERR struct hv_err *err = hv_read(&as, hv_gva(gva), buf, len);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EFAULT);
	ck_assert_str_eq(err->message, message);
}

START_TEST(errors_name_the_unmapped_address)
{
	uint64_t value = 7;
	struct hv_err *err;

	setup((unsigned)_i);
	map(1, 0xffffffff81000000, 0x9000, 0);
	map(1, 0xffffffff81002000, 0x70000000, 0);
	map(1, 0xfffffffffffff000, 0x9000, 0);
	check_fault(0xffffffff81000ff8, 16, "nothing is mapped at 0xffffffff81001000");
	check_fault(0xffffffff81002010, 4,
		    "0xffffffff81002010: no RAM at guest physical 0x70000010 (4 bytes)");
	check_fault(0xfffffffffffffff8, 9,
		    "9 bytes at 0xfffffffffffffff8 end beyond the address space");
	ck_assert_ptr_null(hv_read_u64(&as, hv_gva(0xfffffffffffffff8), &value));
	ck_assert_uint_eq(value, 0);
	value = 7;
	err = hv_read_u64(&as, hv_gva(0xffffffff81001000), &value);
	ck_assert_ptr_nonnull(err);
	ck_assert_uint_eq(value, 7);
	hv_err_free(err);
	xm_deinit(&machine);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, walks_to_leaves_of_every_size, 4, 6);
	tcase_add_loop_test(tc, a_hole_is_as_large_as_its_entry, 4, 6);
	tcase_add_loop_test(tc, every_level_must_permit, 4, 6);
	tcase_add_loop_test(tc, a_table_outside_ram_is_an_error, 4, 6);
	tcase_add_loop_test(tc, a_loop_ends, 4, 6);
	tcase_add_loop_test(tc, reads_across_mappings, 4, 6);
	tcase_add_loop_test(tc, errors_name_the_unmapped_address, 4, 6);
}

int main(void)
{
	return run_suite("address_space", add_tests);
}
