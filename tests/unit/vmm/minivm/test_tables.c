/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the tables as a kernel does: from the root pointer on, with all checksums. */
#include <check.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/lib/run_suite.h"
#include "vmm/minivm/tables.h"

#define GPA 0xe0000u

static uint8_t bytes[HV_MINIVM_TABLES_MAX];
static struct hv_span all;

static void make(unsigned nr_cpus)
{
	all = (struct hv_span){bytes, hv_minivm_tables(bytes, hv_gpa(GPA), nr_cpus)};
}

static unsigned sum(size_t off, size_t len)
{
	uint8_t total = 0;

	ck_assert(hv_span_has(all, off, len));
	for (size_t i = 0; i < len; i++)
		total += bytes[off + i];
	return total;
}

static uint32_t u32(size_t off)
{
	uint32_t v = 0;

	ck_assert(hv_span_u32(all, off, &v));
	return v;
}

/* Returns the offset of the table that the 8 bytes at OFF point to. */
static size_t table(size_t off, const char *signature)
{
	size_t at = u32(off) - GPA;

	ck_assert_uint_eq(u32(off + 4), 0);
	ck_assert_int_eq(memcmp(bytes + at, signature, 4), 0);
	ck_assert_uint_eq(sum(at, u32(at + 4)), 0);
	return at;
}

START_TEST(tables_are_linked_from_the_root)
{
	size_t xsdt, fadt, dsdt;

	make(1);
	ck_assert_int_eq(memcmp(bytes, "RSD PTR ", 8), 0);
	ck_assert_uint_eq(sum(0, 20), 0);
	ck_assert_uint_eq(sum(0, 36), 0);
	xsdt = table(24, "XSDT");
	ck_assert_uint_eq(u32(xsdt + 4), 36 + 2 * 8);
	fadt = table(xsdt + 36, "FACP");
	ck_assert_uint_eq(u32(fadt + 4), 276);
	ck_assert_uint_eq(u32(fadt + 56), HV_MINIVM_PM_EVENT);
	ck_assert_uint_eq(u32(fadt + 64), HV_MINIVM_PM_CONTROL);
	ck_assert_uint_eq(bytes[fadt + 128], HV_MINIVM_RESET_VALUE);
	dsdt = table(fadt + 140, "DSDT");
	ck_assert_int_eq(memcmp(bytes + dsdt + 36, "\x08_S5_\x12\x04\x01\x0a\x05", 10), 0);
}
END_TEST

/* Counts the CPUs in the list of interrupt controllers. */
START_TEST(every_cpu_is_there)
{
	unsigned nr = (unsigned)_i, found = 0;
	size_t madt, at;

	make(nr);
	madt = table(table(24, "XSDT") + 44, "APIC");
	for (at = madt + 44; at < madt + u32(madt + 4); at += bytes[at + 1]) {
		ck_assert_uint_ge(bytes[at + 1], 2);
		if (bytes[at] != 0)
			continue;
		ck_assert_uint_eq(bytes[at + 3], found++);
		ck_assert_uint_eq(u32(at + 4), 1);
	}
	ck_assert_uint_eq(at, madt + u32(madt + 4));
	ck_assert_uint_eq(found, nr);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, tables_are_linked_from_the_root);
	tcase_add_loop_test(tc, every_cpu_is_there, 1, HV_MINIVM_CPUS_MAX + 1);
}

int main(void)
{
	return run_suite("minivm_tables", add_tests);
}
