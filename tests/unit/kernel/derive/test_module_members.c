/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of struct module and the structures of a module, which are derived from the guest's
 * list of modules, also when it loads its first module later. */
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/derive/derived.h"

static void derive_rest(void)
{
	struct hv_err *err = hv_types_derive_rest(&fk.k.core);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

START_TEST(module_memory)
{
	static const struct {
		enum module_form form;
		const char *base, *size;
		uint32_t size_off;
	} rows[] = {
		{CORE_LAYOUT, "core_layout.base", "core_layout.text_size", 12},
		{MEM, "mem.base", "mem.size", 8},
		{MEM_WITH_COPY, "mem.base", "mem.size", 20},
		{MEM_WITH_ROX, "mem.base", "mem.size", 12},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		uint32_t off = 0, bytes = 0;
		int64_t text = -1;

		make_modules(rows[i].form);
		derive();
		CHECK_ALL(of_module);
		ck_assert(hv_btf_member(fk.k.core.btf, "module", rows[i].base, &off, NULL));
		ck_assert_uint_eq(off, MEM_OFF);
		ck_assert(hv_btf_member(fk.k.core.btf, "module", rows[i].size, &off, NULL));
		ck_assert_uint_eq(off, MEM_OFF + rows[i].size_off);
		ck_assert_int_eq(hv_btf_enumerator(fk.k.core.btf, "MOD_TEXT", &text),
				 rows[i].form != CORE_LAYOUT);
		if (rows[i].form != CORE_LAYOUT) {
			ck_assert(hv_btf_size(fk.k.core.btf, "module_memory", &bytes));
			ck_assert_uint_eq(bytes, MEM_BYTES);
		}
		forget_types();
	}
}
END_TEST

START_TEST(modules_are_loaded_later)
{
	const struct hv_btf *first;

	derive();
	first = fk.k.core.btf;
	check_unknown("module", "list");
	derive_rest();
	ck_assert_ptr_eq(fk.k.core.btf, first);
	check_unknown("module", "list");
	make_modules(MEM);
	derive_rest();
	CHECK_ALL(whole);
	CHECK_ALL(of_module);
	/* the old types stay valid for their users */
	ck_assert_ptr_eq(fk.k.core.types.replaced, first);
	check_proved("module", "refcnt");
	first = fk.k.core.btf;
	derive_rest();
	ck_assert_ptr_eq(fk.k.core.btf, first);
}
END_TEST

START_TEST(types_of_other_sources_are_not_changed)
{
	make_modules(MEM);
	fk.k.core.types.from = HV_TYPES_IN_FILE;
	derive_rest();
	ck_assert_ptr_null(fk.k.core.btf);
	fk.k.core.types.from = HV_TYPES_NONE;
}
END_TEST

/* The memory after the module's structure is not mapped. */
START_TEST(module_at_the_end_of_its_memory)
{
	const uint64_t page = FK_MODULES + (2u << 20);
	uint64_t from = module_at[0] = 0, at = page - MODULE_BYTES;

	make_modules(CORE_LAYOUT);
	from = module_at[MODULES - 1];
	memcpy(fk_host(&fk, at), fk_host(&fk, from), MODULE_BYTES);
	fk_u64(&fk, at + KALLSYMS_OFF, at + SYMBOLS_OFF);
	fk_u64(&fk, at + MEM_OFF + 24, at);
	fk_u64(&fk, module_at[MODULES - 2] + LIST_OFF, at + LIST_OFF);
	fk_u64(&fk, modules_head + 8, at + LIST_OFF);
	derive();
	CHECK_ALL(of_module);
}
END_TEST

static bool know_types(void)
{
	uint32_t off = 0;

	return hv_btf_member(fk.k.core.btf, "mod_kallsyms", "typetab", &off, NULL) && off == 24;
}

/* A module that is being loaded has no typetab yet. */
START_TEST(types_of_symbols)
{
	for (unsigned nr_without = 0; nr_without <= MODULES; nr_without++) {
		make_modules(CORE_LAYOUT);
		for (unsigned i = 0; i < nr_without; i++)
			fk_u64(&fk, module_at[i] + SYMBOLS_OFF + 24, 0);
		derive();
		CHECK_ALL(of_module);
		ck_assert_int_eq(know_types(), nr_without < 2);
		forget_types();
	}
}
END_TEST

/* In Linux 4.14 and 5.1 the type U of the first symbol is in st_info or in st_size. */
START_TEST(types_in_the_symbols)
{
	static const uint32_t offs[] = {4, 16};

	for (size_t form = 0; form < HV_ARRAY_LEN(offs); form++) {
		make_modules(CORE_LAYOUT);
		for (unsigned i = 0; i < MODULES; i++) {
			uint64_t first = (module_at[i] & ~0xfffull) + 0x4000;

			*fk_host(&fk, first + offs[form]) = 'U';
			fk_u64(&fk, module_at[i] + SYMBOLS_OFF + 24, 0);
		}
		derive();
		CHECK_ALL(of_module);
		ck_assert(!know_types());
		forget_types();
	}
}
END_TEST

START_TEST(hostile_modules)
{
	static const struct {
		uint32_t off;
		uint64_t value;
	} bad[] = {
		{LIST_OFF, 0xffff888000000000},
		{LIST_OFF, 0},
		{LIST_OFF, 0xfffffffffffffff8},
		{LIST_OFF + 8, 8},
		{NAME_OFF, 0},
		{NAME_OFF, 0x2020202020202020},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(bad); i++) {
		make_modules(CORE_LAYOUT);
		fk_u64(&fk, module_at[1] + bad[i].off, bad[i].value);
		derive();
		check_unknown("module", "list");
		check_unknown("module", "refcnt");
		forget_types();
	}
	make_modules(CORE_LAYOUT);
	memset(fk_host(&fk, module_at[2] + NAME_OFF), 'x', 56); /* no end */
	derive();
	check_unknown("module", "name");
}
END_TEST

START_TEST(hostile_module_members)
{
	make_modules(CORE_LAYOUT);
	for (unsigned i = 0; i < MODULES; i++) {
		fk_u32(&fk, module_at[i] + MEM_OFF + 8, UINT32_MAX); /* 4 GiB */
		fk_u64(&fk, module_at[i] + SYMBOLS_OFF, 0xffff888000000000);
	}
	derive();
	check_unknown("module", "core_layout.base");
	check_unknown("module", "kallsyms");
	check_unknown("module", "list");
	check_unknown("mod_kallsyms", "symtab");
	forget_types();
	make_modules(CORE_LAYOUT);
	for (unsigned i = 0; i < MODULES; i++)
		fk_u32(&fk, module_at[i] + MEM_OFF + 8, UINT32_MAX);
	derive();
	check_unknown("module", "core_layout.base");
	check_unknown("module", "list");
	forget_types();
	make_modules(CORE_LAYOUT);
	for (unsigned i = 0; i < MODULES; i++)
		fk_u32(&fk, (module_at[i] & ~0xfffull) + 0x4000,
		       1); /* the first symbol has a name */
	derive();
	check_unknown("module", "kallsyms");
	forget_types();
	make_modules(MEM);
	for (unsigned i = 0; i < MODULES; i++)
		fk_u64(&fk, module_at[i] + MEM_OFF, 0x1000); /* an address of a process */
	derive();
	check_fact("module", "mem", MEM_OFF + MEM_BYTES, M);
}
END_TEST

/* The last module leads to the first one instead of the list's head. */
START_TEST(list_of_modules_with_a_cycle)
{
	make_modules(CORE_LAYOUT);
	fk_u64(&fk, module_at[2] + LIST_OFF, module_at[0] + LIST_OFF);
	derive();
	check_unknown("module", "list");
}
END_TEST

/* While a module is being loaded, its symbols are in memory that is freed later. */
START_TEST(first_module_is_being_loaded)
{
	make_modules(MEM);
	for (unsigned i = 0; i < MODULES; i++)
		fk_u64(&fk, module_at[i] + KALLSYMS_OFF, FK_MODULES + 0x8000);
	derive();
	check_unknown("module", "kallsyms");
	check_unknown("module", "list");
	derive_rest();
	check_unknown("module", "list");
	ck_assert_ptr_null(fk.k.core.types.replaced);
	make_modules(MEM);
	derive_rest();
	CHECK_ALL(of_module);
}
END_TEST

START_TEST(module_code_is_missing)
{
	int64_t text;

	remove_code("module_refcount");
	make_modules(MEM);
	derive();
	check_fact("module", "refcnt", REFCNT_OFF, M | C);
	forget_types();
	remove_code("try_module_get");
	derive();
	check_unknown("module", "state");
	check_unknown("module", "list");
	ck_assert(!hv_btf_enumerator(fk.k.core.btf, "MOD_TEXT", &text));
}
END_TEST

/* Memory proves nothing, but try_module_get() reads the state and changes the count. */
START_TEST(code_selects_the_refcount_member)
{
	remove_code("module_refcount");
	make_modules(MEM);
	for (unsigned i = 0; i < MODULES; i++)
		for (uint64_t off = MODULE_BYTES; off < MODULE_BYTES + 70 * 4; off += 4)
			fk_u32(&fk, module_at[i] + off, 2);
	derive();
	check_fact("module", "refcnt", REFCNT_OFF, C);
}
END_TEST

/* -- entries of the ORC tables of modules ------------------------------------------------------ */

START_TEST(tables_without_text_of_the_module)
{
	make_modules(MEM);
	for (unsigned i = 0; i < MODULES; i++)
		make_orcs(module_at[i], (module_at[i] & ~0xfffull) + 0x8000, FK_BASE);
	derive();
	check_unknown("module", "arch.num_orcs");
	check_fact("module", "list", LIST_OFF, MM);
}
END_TEST

START_TEST(tables_that_are_not_ascending)
{
	make_modules(MEM);
	for (unsigned i = 0; i < MODULES; i++) {
		uint64_t ips = (module_at[i] & ~0xfffull) + 0x8000;

		fk_u32(&fk, ips + 4 * (MODULE_ORCS - 1), (uint32_t)-0x8000);
	}
	derive();
	check_unknown("module", "arch.num_orcs");
}
END_TEST

START_TEST(tables_that_are_not_mapped)
{
	make_modules(MEM);
	for (unsigned i = 0; i < MODULES; i++)
		fk_u64(&fk, module_at[i] + ARCH_OFF + 16, 0xffffffff90000000);
	derive();
	check_unknown("module", "arch.num_orcs");
}
END_TEST

/* A module without text has no ORC entries. */
START_TEST(most_modules_show_their_tables)
{
	make_modules(MEM_WITH_ROX);
	fk_u32(&fk, module_at[1] + ARCH_OFF, 0);
	derive();
	check_fact("module", "arch", ARCH_OFF, M | C);
	remove_code("unwind_module_init");
	forget_types();
	derive();
	check_fact("module", "arch", ARCH_OFF, M);
}
END_TEST

static void setup(void)
{
	make_guest(20);
}

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, free_guest);
	tcase_add_test(tc, module_memory);
	tcase_add_test(tc, modules_are_loaded_later);
	tcase_add_test(tc, types_of_other_sources_are_not_changed);
	tcase_add_test(tc, module_at_the_end_of_its_memory);
	tcase_add_test(tc, types_of_symbols);
	tcase_add_test(tc, types_in_the_symbols);
	tcase_add_test(tc, hostile_modules);
	tcase_add_test(tc, hostile_module_members);
	tcase_add_test(tc, list_of_modules_with_a_cycle);
	tcase_add_test(tc, first_module_is_being_loaded);
	tcase_add_test(tc, module_code_is_missing);
	tcase_add_test(tc, code_selects_the_refcount_member);
	tcase_add_test(tc, tables_without_text_of_the_module);
	tcase_add_test(tc, tables_that_are_not_ascending);
	tcase_add_test(tc, tables_that_are_not_mapped);
	tcase_add_test(tc, most_modules_show_their_tables);
}

int main(void)
{
	return run_suite("module_members", add_tests);
}
