/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of static keys: in the core kernel, in modules, and in a hostile guest. */
#include "kernel/events/static_sites.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define ENTRY_LEN 16u
#define TABLE_NR  64u

static struct fk f;
static struct hv_module module;
static struct hv_jump_sites sites;
static struct hv_jump_layout layout;
static uint64_t table, key;

static void set_up(void)
{
	fk_init(&f);
	FK_STRUCT("static_key", 16, {"enabled", 0, 4}, {"entries", 8, 8});
	FK_STRUCT("jump_entry", ENTRY_LEN, {"code", 0, 4}, {"target", 4, 4}, {"key", 8, 8});
	FK_STRUCT("static_key_mod", 24, {"next", 0, 8}, {"entries", 8, 8}, {"mod", 16, 8});
	FK_STRUCT("module", 32, {"jump_entries", 8, 8}, {"num_jump_entries", 16, 4});
	table = fk_alloc(&f, TABLE_NR * ENTRY_LEN);
	key = fk_alloc(&f, 16);
	fk_symbol(&f, "__start___jump_table", table);
	fk_symbol(&f, "__stop___jump_table", table + TABLE_NR * ENTRY_LEN);
	fk_symbol(&f, "modules", fk_alloc(&f, 16));
	module = (struct hv_module){.name = "m", .at = hv_gva(FK_MODULES)};
	f.k.modules = (struct hv_modules){.list = &module, .nr = 1};
	fk_done(&f);
	ck_assert_ptr_null(hv_jump_layout_find(&f.k, &layout));
	sites = (struct hv_jump_sites){0};
}

static void tear_down(void)
{
	hv_jump_sites_deinit(&sites);
	f.k.modules = (struct hv_modules){0};
	fk_deinit(&f);
}

/* Writes an entry at AT for a site of KEY_AT. FLAGS are the low bits of its key. */
static void put_entry(uint64_t at, uint64_t code, uint64_t key_at, uint64_t flags)
{
	fk_u32(&f, at, (uint32_t)(code - at));
	fk_u32(&f, at + 4, (uint32_t)(code + 0x40 - (at + 4)));
	fk_u64(&f, at + 8, key_at - (at + 8) + flags);
}

static void fill(uint64_t at, unsigned nr, uint64_t code)
{
	for (unsigned i = 0; i < nr; i++)
		put_entry(at + i * ENTRY_LEN, code + i * 0x100, key, 0);
}

static void read_it(void)
{
	struct hv_err *err = hv_jump_sites_read(&f.k, &layout, hv_gva(key), &sites);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void fails(int code, const char *words)
{
	struct hv_err *err = hv_jump_sites_read(&f.k, &layout, hv_gva(key), &sites);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
}

START_TEST(sites_of_the_core_kernel)
{
	put_entry(table, FK_BASE, key + 16, 0);
	fill(table + ENTRY_LEN, 2, FK_BASE + 0x1000);
	put_entry(table + 3 * ENTRY_LEN, FK_BASE + 0x2000, key, 1 | 2);
	put_entry(table + 4 * ENTRY_LEN, FK_BASE + 0x3000, key + 16, 0);
	fk_u64(&f, key + 8, (table + ENTRY_LEN) | 1);
	read_it();
	ck_assert_uint_eq(sites.nr, 3);
	ck_assert_uint_eq(sites.list[0].code.v, FK_BASE + 0x1000);
	ck_assert_uint_eq(sites.list[0].target.v, FK_BASE + 0x1040);
	ck_assert(!sites.list[0].is_default_on && !sites.list[0].is_init);
	ck_assert_uint_eq(sites.list[1].code.v, FK_BASE + 0x1100);
	ck_assert(sites.list[2].is_default_on && sites.list[2].is_init);
}
END_TEST

START_TEST(a_key_without_sites)
{
	read_it();
	ck_assert_uint_eq(sites.nr, 0);
}
END_TEST

/* Writes a table of the module, and the list of both tables. */
static uint64_t link_tables(void)
{
	uint64_t own = FK_MODULES + 0x1000, links = fk_alloc(&f, 48);

	fk_u64(&f, FK_MODULES + 8, own);
	fk_u32(&f, FK_MODULES + 16, 1);
	fill(own, 2, FK_MODULES + 0x2000); /* the second one is after the table */
	fill(table + (TABLE_NR - 2) * ENTRY_LEN, 2, FK_BASE + 0x1000);
	fk_u64(&f, links, links + 24);
	fk_u64(&f, links + 8, own);
	fk_u64(&f, links + 24, 0);
	fk_u64(&f, links + 32, table + (TABLE_NR - 2) * ENTRY_LEN);
	fk_u64(&f, key + 8, links | 2);
	return links;
}

/* hvtrace's list of modules may be older than the guest's. */
START_TEST(sites_of_modules)
{
	uint64_t links = link_tables();

	if (_i) {
		fk_u64(&f, links + 16, FK_MODULES);
		f.k.modules.nr = 0;
	}
	read_it();
	ck_assert_uint_eq(sites.nr, 3);
	ck_assert_uint_eq(sites.list[0].code.v, FK_MODULES + 0x2000);
	ck_assert_uint_eq(sites.list[1].code.v, FK_BASE + 0x1000);
	ck_assert_uint_eq(sites.list[2].code.v, FK_BASE + 0x1100);
}
END_TEST

START_TEST(sites_of_the_keys_own_module)
{
	struct hv_module modules[] = {{.name = "gone", .at = hv_gva(0x10000)}, module};

	link_tables();
	fk_u64(&f, key + 8, FK_MODULES + 0x1000);
	f.k.modules = (struct hv_modules){.list = modules, .nr = 2};
	read_it();
	ck_assert_uint_eq(sites.nr, 1);
}
END_TEST

START_TEST(links_with_a_cycle)
{
	uint64_t links = link_tables();

	fk_u64(&f, links + 24, links);
	fails(E2BIG, "4096 tables");
}
END_TEST

START_TEST(more_sites_than_any_key_has)
{
	uint64_t own = fk_alloc(&f, 70000 * ENTRY_LEN);

	fk_u64(&f, FK_MODULES + 8, own);
	fk_u32(&f, FK_MODULES + 16, 70000);
	fill(own, 70000, FK_BASE);
	fk_u64(&f, key + 8, own);
	fails(E2BIG, "65536");
}
END_TEST

START_TEST(entries_outside_all_tables)
{
	HV_AUTO_FREE char *message = NULL;

	fk_u64(&f, key + 8, key);
	fails(EINVAL, "is in no table");
	fk_u64(&f, FK_MODULES + 8, FK_MODULES - 16);
	fk_u32(&f, FK_MODULES + 16, 1);
	fk_u64(&f, key + 8, FK_MODULES - 16);
	fails(EFAULT, "nothing is mapped at 0xffffffffbffffff0");
	fk_u64(&f, key + 8, 0x1000 | 2);
	message =
		hv_format("static key 0x%llx: nothing is mapped at 0x10", (unsigned long long)key);
	fails(EFAULT, message);
}
END_TEST

/* hvtrace learns the kernel's nop from a key that is off. */
START_TEST(a_nop_of_a_key_that_is_off)
{
	uint8_t code[8];

	fill(table, TABLE_NR, FK_BASE + 0x1000);
	memcpy(fk_host(&f, FK_BASE + 0x1100), "\x0f\x1f\x44\x00\x00", 5);
	expect_success(hv_jump_nop_find(&f.k, &layout, 5, code));
	ck_assert_mem_eq(code, "\x0f\x1f\x44\x00\x00", 5);
	*fk_host(&f, FK_BASE + 0x1100) = 0xe8;
	expect_error(hv_jump_nop_find(&f.k, &layout, 5, code), EUCLEAN,
		     "no static key of the kernel is off");
}
END_TEST

static void set_up_addresses(void)
{
	fk_init(&f);
	FK_STRUCT("static_key", 16, {"enabled", 0, 4}, {"entries", 8, 8});
	FK_STRUCT("jump_entry", 24, {"code", 0, 8}, {"target", 8, 8}, {"key", 16, 8});
	table = fk_alloc(&f, TABLE_NR * 24);
	key = fk_alloc(&f, 16);
	fk_symbol(&f, "__start___jump_table", table);
	fk_symbol(&f, "__stop___jump_table", table + TABLE_NR * 24);
	fk_done(&f);
	ck_assert_ptr_null(hv_jump_layout_find(&f.k, &layout));
	sites = (struct hv_jump_sites){0};
}

/* Linux 4.19: entries have addresses, and that of code that was freed is 0. */
START_TEST(sites_with_addresses)
{
	for (unsigned i = 0; i < 3; i++) {
		fk_u64(&f, table + 24 * i, i == 1 ? 0 : FK_BASE + 0x1000 * i);
		fk_u64(&f, table + 24 * i + 8, FK_BASE + 0x1000 * i + 0x40);
		fk_u64(&f, table + 24 * i + 16, i == 2 ? key | 1 : key);
	}
	fk_u64(&f, key + 8, table);
	read_it();
	ck_assert_uint_eq(sites.nr, 3);
	ck_assert_uint_eq(sites.list[0].code.v, FK_BASE);
	ck_assert_uint_eq(sites.list[0].target.v, FK_BASE + 0x40);
	ck_assert(!sites.list[0].is_init && !sites.list[0].is_default_on);
	ck_assert(sites.list[1].is_init);
	ck_assert(!sites.list[2].is_init && sites.list[2].is_default_on);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, sites_of_the_core_kernel);
	tcase_add_test(tc, a_key_without_sites);
	tcase_add_loop_test(tc, sites_of_modules, 0, 2);
	tcase_add_test(tc, sites_of_the_keys_own_module);
	tcase_add_test(tc, links_with_a_cycle);
	tcase_add_test(tc, more_sites_than_any_key_has);
	tcase_add_test(tc, entries_outside_all_tables);
	tcase_add_test(tc, a_nop_of_a_key_that_is_off);
}

static void add_addresses(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up_addresses, tear_down);
	tcase_add_test(tc, sites_with_addresses);
}

int main(void)
{
	return run_suite("jump_sites", add) | run_suite("jump_addresses", add_addresses);
}
