/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ftrace records and modules of a fake kernel, valid and hostile. */
#include <check.h>

#include "base/cancel.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/sites/fake_sites.h"

static struct fs s;

static void read_modules(void)
{
	struct hv_err *err = hv_modules_read(&s.f.k.core, &s.f.k.modules);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static struct hv_err *read_all_sites(struct hv_sites *ret)
{
	return hv_sites_read(&s.f.k.core, &s.f.k.modules, (struct hv_gva_range){0}, ret);
}

static void read_sites(void)
{
	struct hv_err *err = hv_kernel_refresh(&s.f.k);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void check_site(size_t i, uint64_t ip, const char *name, const char *module)
{
	const struct hv_site *site = &s.f.k.sites.list[i];

	ck_assert_uint_lt(i, s.f.k.sites.nr);
	ck_assert_uint_eq(site->ip.v, ip);
	ck_assert_str_eq(site->name, name);
	if (module)
		ck_assert_str_eq(site->module, module);
	else
		ck_assert_ptr_null(site->module);
}

#define GROUP(...)                                                                                 \
	fs_group(&s, (const struct fs_record[]){__VA_ARGS__},                                      \
		 HV_ARRAY_LEN(((const struct fs_record[]){__VA_ARGS__})))

static void setup(void)
{
	fs_init(&s);
}

static void teardown(void)
{
	fs_deinit(&s);
}

START_TEST(a_kernel_without_ftrace)
{
	ck_assert(hv_sites_have_records(&s.f.k.core));
	s.f.k.core.symbols.nr = 0;
	hv_symbols_index(&s.f.k.core.symbols);
	ck_assert(!hv_sites_have_records(&s.f.k.core));
}
END_TEST

START_TEST(groups_in_the_list_s_order)
{
	GROUP({FK_BASE + 0x200, 0}, {FK_BASE + 0x204, FS_TOUCHED});
	GROUP({FK_BASE, 1}, {FK_BASE + 0x100, FS_ENABLED});
	read_sites();
	ck_assert_uint_eq(s.f.k.sites.nr, 4);
	check_site(0, FK_BASE + 0x200, "third", NULL);
	check_site(1, FK_BASE + 0x204, "third", NULL);
	check_site(2, FK_BASE, "first", NULL);
	check_site(3, FK_BASE + 0x100, "second", NULL);
	ck_assert(!s.f.k.sites.list[0].busy && !s.f.k.sites.list[1].busy);
	ck_assert(s.f.k.sites.list[2].busy && s.f.k.sites.list[3].busy);
}
END_TEST

START_TEST(sites_are_found_by_name)
{
	static const size_t third[] = {0, 1, SIZE_MAX};
	size_t at = 0;

	GROUP({FK_BASE + 0x200, 0}, {FK_BASE + 0x204, 0}, {FK_BASE, 0}, {FK_BASE + 0x100, 0});
	read_sites();
	ck_assert(s.f.k.sites.chain_heads);
	for (size_t i = 0; i < HV_ARRAY_LEN(third); i++) {
		at = hv_sites_named(&s.f.k.sites, "third", i);
		ck_assert_uint_eq(at, third[i]);
	}
	ck_assert_uint_eq(hv_sites_named(&s.f.k.sites, "second", 0), 3);
	ck_assert_uint_eq(hv_sites_named(&s.f.k.sites, "second", 4), SIZE_MAX);
	ck_assert_uint_eq(hv_sites_named(&s.f.k.sites, "fourth", 0), SIZE_MAX);
	hv_sites_leave_out(&s.f.k.sites,
			   (struct hv_gva_range){hv_gva(FK_BASE), hv_gva(FK_BASE + 1)});
	ck_assert_uint_eq(hv_sites_named(&s.f.k.sites, "second", 0), 2);
	ck_assert_uint_eq(hv_sites_named(&s.f.k.sites, "first", 0), SIZE_MAX);
}
END_TEST

START_TEST(busy_sites_are_updated)
{
	static const struct fs_record later[] = {
		{FK_BASE, 0}, {FK_BASE + 0x80000, 0}, {FK_BASE + 0x100, 1}};
	uint64_t page =
		GROUP({FK_BASE, FS_ENABLED | 1}, {FK_BASE + 0x80000, 0}, {FK_BASE + 0x100, 0});

	read_sites();
	ck_assert(s.f.k.sites.list[0].busy && !s.f.k.sites.list[1].busy);
	memcpy(fk_host(&s.f, *(uint64_t *)fk_host(&s.f, page + 8)), later, sizeof(later));
	ck_assert_ptr_null(hv_sites_read_busy(&s.f.k.core, &s.f.k.sites));
	ck_assert(!s.f.k.sites.list[0].busy && s.f.k.sites.list[1].busy);
}
END_TEST

START_TEST(init_code_is_left_out)
{
	GROUP({FK_BASE, 0}, {FK_BASE + 0x80000, 0}, {FK_BASE + 0x80ffb, 0}, {FK_BASE + 0x81000, 0});
	read_sites();
	ck_assert_uint_eq(s.f.k.sites.nr, 2);
	check_site(0, FK_BASE, "first", NULL);
	ck_assert_uint_eq(s.f.k.sites.list[1].ip.v, FK_BASE + 0x81000);
}
END_TEST

START_TEST(init_code_is_there_until_it_is_left_out)
{
	GROUP({FK_BASE + 0x80000, 0}, {FK_BASE, 0}, {FK_BASE + 0x80ffb, 0}, {FK_BASE + 0x81000, 0});
	s.f.k.has_init_sites = true;
	read_sites();
	ck_assert_uint_eq(s.f.k.sites.nr, 4);
	ck_assert_uint_eq(s.f.k.sites.list[0].ip.v, FK_BASE + 0x80000);
	hv_sites_leave_out(&s.f.k.sites, hv_kernel_init_text(&s.f.k));
	ck_assert_uint_eq(s.f.k.sites.nr, 2);
	check_site(0, FK_BASE, "first", NULL);
	ck_assert_uint_eq(s.f.k.sites.list[1].ip.v, FK_BASE + 0x81000);
}
END_TEST

START_TEST(sites_without_btf)
{
	GROUP({FK_BASE, 0}, {FK_BASE + 0x100, 1}, {FK_BASE + 0x200, FS_DISABLED});
	read_modules();
	hv_btf_free(s.f.k.core.btf);
	s.f.k.core.btf = NULL;
	ck_assert_ptr_null(read_all_sites(&s.f.k.sites));
	ck_assert_uint_eq(s.f.k.sites.nr, 3);
	ck_assert(!s.f.k.sites.list[0].busy && s.f.k.sites.list[1].busy);
	ck_assert(s.f.k.sites.list[2].invalid);
}
END_TEST

/* A kernel without that text reports the name of the symbol before it. */
START_TEST(weak_leftovers_get_the_symbol_before)
{
	GROUP({FK_BASE + 0x30, 0}, {FK_BASE + 0x100, 0});
	read_sites();
	check_site(0, FK_BASE + 0x30, "first", NULL);
	ck_assert(!s.f.k.sites.list[0].invalid);
}
END_TEST

START_TEST(weak_leftovers_are_marked_invalid)
{
	fk_str(&s.f, fk_alloc(&s.f, 64), "__ftrace_invalid_address__");
	GROUP({FK_BASE + 0x30, FS_DISABLED}, {FK_BASE + 0x100, 0}, {FK_BASE + 0x204, FS_DISABLED});
	read_sites();
	check_site(0, FK_BASE + 0x30, "__ftrace_invalid_address___48", NULL);
	check_site(1, FK_BASE + 0x100, "second", NULL);
	check_site(2, FK_BASE + 0x204, "__ftrace_invalid_address___4", NULL);
	ck_assert(s.f.k.sites.list[0].invalid && s.f.k.sites.list[2].invalid);
	ck_assert(!s.f.k.sites.list[1].invalid);
	ck_assert_uint_eq(s.f.k.sites.nr_invalid, 2);
	hv_sites_leave_out(&s.f.k.sites,
			   (struct hv_gva_range){hv_gva(FK_BASE), hv_gva(FK_BASE + 0x40)});
	ck_assert_uint_eq(s.f.k.sites.nr_invalid, 1);
}
END_TEST

/* In a kernel with endbr64 before its sites, offset 4 is still in the function's own entry. */
START_TEST(a_site_after_endbr_is_valid)
{
	fk_str(&s.f, fk_alloc(&s.f, 64), "__ftrace_invalid_address__");
	GROUP({FK_BASE + 4, 0}, {FK_BASE + 0x108, FS_DISABLED}, {FK_BASE + 0x204, FS_DISABLED});
	read_sites();
	check_site(0, FK_BASE + 4, "first", NULL);
	check_site(1, FK_BASE + 0x108, "__ftrace_invalid_address___8", NULL);
	check_site(2, FK_BASE + 0x204, "third", NULL);
	ck_assert(!s.f.k.sites.list[0].invalid && s.f.k.sites.list[2].invalid);
}
END_TEST

static void check_refused(struct hv_err *err, const char *what)
{
	ck_assert_msg(err != NULL, "%s", what);
	ck_assert_msg(strstr(err->message, what) != NULL, "%s: %s", what, err->message);
	hv_err_free(err);
}

START_TEST(unfriendly_records_are_refused)
{
	struct hv_sites sites;
	uint64_t page = GROUP({FK_BASE, 0});

	fk_u64(&s.f, page, page);
	check_refused(read_all_sites(&sites), "the list has a loop at 0x");
	fk_u64(&s.f, page, 0x1234);
	check_refused(read_all_sites(&sites), "ftrace records");
	fk_u64(&s.f, page, 0);
	fk_u32(&s.f, page + 16, 0xffffffff);
	check_refused(read_all_sites(&sites), "4294967295 records in one group, 0 before it");
	fk_u32(&s.f, page + 16, 0);
	check_refused(read_all_sites(&sites), "no records");
	fk_u32(&s.f, page + 16, 1);
	fk_u64(&s.f, page + 8, FK_END - 8);
	check_refused(read_all_sites(&sites), "ftrace records");
}
END_TEST

START_TEST(more_groups_than_a_kernel_has_are_refused)
{
	const unsigned nr = 65537, bytes = 24;
	uint64_t at = fk_alloc(&s.f, nr * bytes);
	struct hv_sites sites;

	fk_u64(&s.f, s.pages_start, at);
	for (unsigned i = 0; i < nr; i++, at += bytes)
		fk_u64(&s.f, at, i + 1 < nr ? at + bytes : 0);
	check_refused(read_all_sites(&sites), "the list does not end after 65536 groups");
	fk_u64(&s.f, at - 2 * bytes, 0);
	check_refused(read_all_sites(&sites), "no records");
}
END_TEST

START_TEST(user_addresses_are_refused)
{
	struct hv_sites sites;

	GROUP({0x400000, 0});
	check_refused(read_all_sites(&sites), "no kernel address");
}
END_TEST

static const struct fs_symbol symbols[] = {
	{"undefined", FK_MODULES + 0x20, SHN_UNDEF},
	{"", FK_MODULES + 0x20, 1},
	{"$x", FK_MODULES + 0x20, 1},
	{".Lhere", FK_MODULES + 0x20, 1},
	{"second", FK_MODULES + 0x40, 1},
	{"alias", FK_MODULES + 0x40, 1},
	{"start", FK_MODULES, 1},
};

START_TEST(modules_have_names_as_kallsyms_chooses_them)
{
	fs_module(&s, "late", 0, FK_MODULES + 0x10000, 0x1000, symbols, 0);
	fs_module(&s, "early", 1, FK_MODULES, 0x1000, symbols, HV_ARRAY_LEN(symbols));
	fs_module(&s, "forming", 3, FK_MODULES + 0x20000, 0x1000, symbols, 0);
	fs_module(&s, "leaving", 2, FK_MODULES + 0x30000, 0x1000, symbols, 0);
	GROUP({FK_BASE, 0});
	GROUP({FK_MODULES + 0x30, 0}, {FK_MODULES + 0x44, 0}, {FK_MODULES + 0x20000, 0},
	      {FK_MODULES + 0x30000, 0});
	read_sites();
	ck_assert_uint_eq(s.f.k.modules.nr, 2);
	ck_assert_str_eq(s.f.k.modules.list[0].name, "early");
	ck_assert_str_eq(s.f.k.modules.list[1].name, "late");
	ck_assert_uint_eq(s.f.k.modules.list[0].text.end.v, FK_MODULES + 0x1000);
	ck_assert_uint_eq(s.f.k.modules.list[0].symbols.nr, 3);
	ck_assert_uint_eq(s.f.k.sites.nr, 3);
	check_site(1, FK_MODULES + 0x30, "start", "early");
	check_site(2, FK_MODULES + 0x44, "second", "early");
}
END_TEST

START_TEST(names_are_safe_to_print)
{
	fs_module(&s, "e\033vil", 0, FK_MODULES, 0x1000,
		  (const struct fs_symbol[]){{"a\nb", FK_MODULES, 1}}, 1);
	GROUP({FK_MODULES, 0});
	read_sites();
	check_site(0, FK_MODULES, "a?b", "e?vil");
}
END_TEST

static uint64_t signature_in_state(uint64_t module, uint32_t state)
{
	uint64_t signature;

	fk_u32(&s.f, module + FS_STATE, state);
	ck_assert_ptr_null(hv_modules_signature(&s.f.k.core, &signature));
	return signature;
}

/* A module that is being unloaded counts until it leaves the list. */
START_TEST(modules_come_and_go)
{
	uint64_t without, module, coming, live;

	ck_assert_ptr_null(hv_modules_signature(&s.f.k.core, &without));
	module = fs_module(&s, "m", 0, FK_MODULES, 0x1000, symbols, 7);
	coming = signature_in_state(module, 1);
	live = signature_in_state(module, 0);
	ck_assert(coming != without && live != without && coming != live);
	ck_assert_uint_eq(signature_in_state(module, 2), live);
}
END_TEST

static bool are_modules_at(uint64_t at)
{
	return hv_modules_are_at(&s.f.k.core, hv_gva(at));
}

/* Recognizes the list of modules by its form alone. */
START_TEST(the_module_list_is_recognized)
{
	uint64_t first, second;

	ck_assert(are_modules_at(s.modules));
	ck_assert(!are_modules_at(s.modules + 8));
	ck_assert(!are_modules_at(s.pages_start));
	first = fs_module(&s, "m", 0, FK_MODULES, 0x1000, symbols, 7);
	second = fs_module(&s, "n", 0, FK_MODULES + 0x2000, 0x1000, symbols, 7);
	ck_assert(are_modules_at(s.modules));
	/* Seen from an entry, the list's head is not a module. */
	ck_assert(!are_modules_at(first + FS_LIST));
	fk_u64(&s.f, second + FS_SELF, first);
	ck_assert(!are_modules_at(s.modules));
	fk_u64(&s.f, second + FS_SELF, second);
	fk_u64(&s.f, second + FS_LIST + 8, s.modules);
	ck_assert(!are_modules_at(s.modules));
	fk_u64(&s.f, second + FS_LIST + 8, first + FS_LIST);
	fk_u64(&s.f, second + FS_LIST, first + FS_LIST);
	ck_assert(!are_modules_at(s.modules));
}
END_TEST

/* Recognizes the pages of records by their addresses, which must have instructions that ftrace may
 * use there. */
START_TEST(record_pages_are_recognized)
{
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0};
	uint64_t group;

	ck_assert(!hv_sites_are_at(&s.f.k.core, hv_gva(s.pages_start)));
	/* On x86-64 a record has the site's own address, and the instruction there counts. */
	for (unsigned i = 0; i < 3; i++) {
		memcpy(s.f.k.core.image.bytes + 0x100 * i, nop, sizeof(nop));
		memcpy(s.f.k.core.image.bytes + 0x100 * i + 5, nop, sizeof(nop));
	}
	group = GROUP({FK_BASE + 0x100, 0});
	/* One of three is not a majority. */
	ck_assert(!hv_sites_are_at(&s.f.k.core, hv_gva(s.pages_start)));
	GROUP({FK_BASE + 0x200, 0});
	ck_assert(hv_sites_are_at(&s.f.k.core, hv_gva(s.pages_start)));
	ck_assert(!hv_sites_are_at(&s.f.k.core, hv_gva(s.modules)));
	ck_assert(!hv_sites_are_at(&s.f.k.core, hv_gva(group + 8)));
	s.f.k.core.image.bytes[0x200] = 0x55;
	ck_assert(!hv_sites_are_at(&s.f.k.core, hv_gva(s.pages_start)));
}
END_TEST

START_TEST(unfriendly_modules_are_refused)
{
	uint64_t module = fs_module(&s, "m", 0, FK_MODULES, 0x1000, symbols, 7);
	uint64_t kallsyms, symtab;
	struct hv_modules modules;

	memcpy(&kallsyms, fk_host(&s.f, module + FS_KALLSYMS), 8);
	memcpy(&symtab, fk_host(&s.f, kallsyms), 8);
	fk_u64(&s.f, module + FS_LIST, module + FS_LIST);
	check_refused(hv_modules_read(&s.f.k.core, &modules), "modules: the list has a loop at 0x");
	fk_u64(&s.f, module + FS_LIST, 8);
	check_refused(hv_modules_read(&s.f.k.core, &modules), "modules");
	fk_u64(&s.f, module + FS_LIST, s.modules);
	fk_u32(&s.f, kallsyms + 8, 0x10000000);
	check_refused(hv_modules_read(&s.f.k.core, &modules),
		      "modules: module 'm': 268435456 symbols; at most");
	fk_u32(&s.f, kallsyms + 8, 8);
	fk_u32(&s.f, symtab + sizeof(Elf64_Sym), 0xfffffff0);
	check_refused(
		hv_modules_read(&s.f.k.core, &modules),
		"module 'm': a symbol's name is at offset 4294967280 of its strings; at most");
	fk_u32(&s.f, symtab + sizeof(Elf64_Sym), 1);
	fk_u32(&s.f, module + FS_TEXT + 12, 0xffffffff);
	check_refused(hv_modules_read(&s.f.k.core, &modules),
		      "modules: module 'm': text 0xffffffffc0000000 has 4294967295 bytes");
}
END_TEST

/* Entries of 16 bytes each, of which only the state and the link are looked at. */
START_TEST(more_modules_than_a_kernel_has_are_refused)
{
	const unsigned nr = 4097;
	uint64_t at = fk_alloc(&s.f, 16 * nr + FS_MODULE_LEN);
	struct hv_modules modules;

	fk_u64(&s.f, s.modules, at + FS_LIST);
	for (unsigned i = 0; i < nr; i++, at += 16) {
		fk_u32(&s.f, at + FS_STATE, 3); /* unformed */
		fk_u64(&s.f, at + FS_LIST, i + 1 < nr ? at + 16 + FS_LIST : s.modules);
	}
	check_refused(hv_modules_read(&s.f.k.core, &modules),
		      "modules: the list does not end after 4096 entries");
	fk_u64(&s.f, at - 32 + FS_LIST, s.modules);
	read_modules();
	ck_assert_uint_eq(s.f.k.modules.nr, 0);
}
END_TEST

/* The memories of a module, as since 6.4. */
static void make_memories(int32_t text)
{
	uint32_t list, memory;

	begin();
	list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	memory = FK_STRUCT("module_memory", 16, {"base", 0, 8}, {"size", 8, 4});
	FK_STRUCT("module", FS_MODULE_LEN, {"state", FS_STATE, 4}, {"list", FS_LIST, 0, list},
		  {"name", FS_NAME, 56}, {"kallsyms", FS_KALLSYMS, 8},
		  {"mem", FS_TEXT, 0, array(memory, 7)});
	FK_STRUCT("mod_kallsyms", 32, {"symtab", 0, 8}, {"num_symtab", 8, 4}, {"strtab", 16, 8},
		  {"typetab", 24, 8});
	enumerator("MOD_TEXT", (uint32_t)text);
	fk_use_types(&s.f);
}

START_TEST(module_text_is_a_member_of_mem)
{
	struct hv_modules modules;

	fs_module(&s, "m", 0, 0, 0, symbols, 7);
	make_memories(1);
	fk_u64(&s.f, s.last_module - FS_LIST + FS_TEXT + 16, FK_MODULES);
	fk_u32(&s.f, s.last_module - FS_LIST + FS_TEXT + 24, 0x1000);
	read_modules();
	ck_assert_uint_eq(s.f.k.modules.list[0].text.start.v, FK_MODULES);
	make_memories(7);
	check_refused(hv_modules_read(&s.f.k.core, &modules),
		      "BTF: struct module has no memory number MOD_TEXT (7)");
	make_memories(-1);
	check_refused(hv_modules_read(&s.f.k.core, &modules),
		      "BTF: struct module has no memory number MOD_TEXT (");
}
END_TEST

START_TEST(a_name_is_in_its_module)
{
	struct hv_modules modules;
	uint32_t list, text;

	begin();
	list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	text = FK_STRUCT("module_layout", 16, {"base", 0, 8}, {"text_size", 12, 4});
	FK_STRUCT("module", 128, {"state", FS_STATE, 4}, {"list", FS_LIST, 0, list},
		  {"name", 73, 56}, {"kallsyms", FS_KALLSYMS, 8},
		  {"core_layout", FS_TEXT, 0, text});
	FK_STRUCT("mod_kallsyms", 32, {"symtab", 0, 8}, {"num_symtab", 8, 4}, {"strtab", 16, 8},
		  {"typetab", 24, 8});
	fk_use_types(&s.f);
	check_refused(hv_modules_read(&s.f.k.core, &modules),
		      "BTF: member name of struct module is outside of it");
}
END_TEST

START_TEST(a_function_is_found_by_its_name)
{
	struct hv_site list[] = {
		{.name = "switch_to", .module = "m"},
		{.name = "switch_to", .invalid = true},
		{.name = "switch_to_all"},
		{.name = "switch_to.isra.0"},
		{.name = "switch_to"},
	};
	const struct hv_sites sites = {.list = list, .nr = HV_ARRAY_LEN(list)};

	ck_assert_uint_eq(hv_sites_find(&sites, "switch_to", HV_SITE_NAME_EXACT), 4);
	ck_assert_uint_eq(hv_sites_find(&sites, "switch_to", HV_SITE_NAME_OR_CLONE), 3);
	ck_assert_uint_eq(hv_sites_find(&sites, "switch", HV_SITE_NAME_OR_CLONE), SIZE_MAX);
}
END_TEST

/* The last name ends at the end of mapped memory. */
START_TEST(strings_may_end_with_their_page)
{
	uint64_t module = fs_module(&s, "m", 0, FK_MODULES, 0x1000,
				    (const struct fs_symbol[]){{"x", FK_MODULES, 1}}, 1);
	uint64_t kallsyms, symtab;

	memcpy(&kallsyms, fk_host(&s.f, module + FS_KALLSYMS), 8);
	memcpy(&symtab, fk_host(&s.f, kallsyms), 8);
	memcpy(fk_host(&s.f, FK_END - 4), "last", 4);
	fk_u64(&s.f, kallsyms + 16, FK_END - 4096);
	fk_u32(&s.f, symtab + sizeof(Elf64_Sym), 4092);
	read_modules();
	ck_assert_str_eq(s.f.k.modules.list[0].symbols.by_addr[0].name, "last");
}
END_TEST

/* Makes a module with NR symbols whose names are ends of one string of LEN letters. */
static void module_of_suffixes(uint32_t nr, uint32_t len)
{
	uint64_t module = fs_module(&s, "m", 0, FK_MODULES, 0x1000, symbols, 1), kallsyms;
	uint64_t symtab = fk_alloc(&s.f, (nr + 1) * sizeof(Elf64_Sym));
	uint64_t strtab = fk_alloc(&s.f, len + 1), typetab = fk_alloc(&s.f, nr + 1);

	memset(fk_host(&s.f, strtab), 'a', len);
	*fk_host(&s.f, strtab + len) = '\0';
	for (uint32_t i = 1; i <= nr; i++) {
		Elf64_Sym sym = {.st_name = i % len, .st_shndx = 1, .st_value = FK_MODULES};

		memcpy(fk_host(&s.f, symtab + i * sizeof(sym)), &sym, sizeof(sym));
		*fk_host(&s.f, typetab + i) = 't';
	}
	memcpy(&kallsyms, fk_host(&s.f, module + FS_KALLSYMS), 8);
	fk_u64(&s.f, kallsyms, symtab);
	fk_u32(&s.f, kallsyms + 8, nr + 1);
	fk_u64(&s.f, kallsyms + 16, strtab);
	fk_u64(&s.f, kallsyms + 24, typetab);
}

/* Before 5.2 the types are in the symbols: in st_info, and in 5.0 and 5.1 in st_size. */
START_TEST(types_are_in_the_symbols)
{
	uint32_t list, text;

	begin();
	list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	text = FK_STRUCT("module_layout", 16, {"base", 0, 8}, {"text_size", 12, 4});
	FK_STRUCT("module", FS_MODULE_LEN, {"state", FS_STATE, 4}, {"list", FS_LIST, 0, list},
		  {"name", FS_NAME, 56}, {"kallsyms", FS_KALLSYMS, 8},
		  {"core_layout", FS_TEXT, 0, text});
	FK_STRUCT("mod_kallsyms", 24, {"symtab", 0, 8}, {"num_symtab", 8, 4}, {"strtab", 16, 8});
	fk_use_types(&s.f);
	for (unsigned in_size = 0; in_size < 2; in_size++) {
		const struct hv_symbols *found;
		uint64_t kallsyms, symtab;
		Elf64_Sym *sym;

		module_of_suffixes(2, 10);
		memcpy(&kallsyms, fk_host(&s.f, s.last_module - FS_LIST + FS_KALLSYMS), 8);
		fk_u64(&s.f, kallsyms + 24, 0);
		memcpy(&symtab, fk_host(&s.f, kallsyms), 8);
		sym = (Elf64_Sym *)fk_host(&s.f, symtab);
		for (unsigned i = 1; i < 3; i++) {
			sym[i].st_info = in_size ? 0x12 : 'T';
			sym[i].st_size = in_size ? 'T' : 40;
		}
		read_modules();
		found = &s.f.k.modules.list[s.f.k.modules.nr - 1].symbols;
		ck_assert_uint_eq(found->nr, 2);
		ck_assert_int_eq(found->by_addr[0].type, 'T');
		hv_modules_deinit(&s.f.k.modules);
	}
}
END_TEST

/* Names are truncated as in the kernel. */
START_TEST(names_of_modules_are_cut)
{
	module_of_suffixes(1000, 100000);
	read_modules();
	ck_assert_uint_eq(s.f.k.modules.list[0].symbols.nr, 1000);
	for (size_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(strlen(s.f.k.modules.list[0].symbols.by_addr[i].name),
				  HV_SYMBOL_NAME_MAX - 1);
}
END_TEST

START_TEST(module_symbol_names_are_bounded)
{
	struct hv_modules modules;

	module_of_suffixes(70000, 2000000);
	check_refused(hv_modules_read(&s.f.k.core, &modules),
		      "module 'm': the names of its symbols have more than");
}
END_TEST

START_TEST(site_names_are_bounded)
{
	const unsigned nr = 70000;
	struct fs_record *records = hv_alloc(nr * sizeof(*records));
	struct hv_sites sites;

	module_of_suffixes(1, 1000);
	read_modules();
	for (unsigned i = 0; i < nr; i++)
		records[i].ip = FK_MODULES;
	fs_group(&s, records, nr);
	free(records);
	check_refused(read_all_sites(&sites), " sites have more than 33554432 bytes");
}
END_TEST

static bool is_cancelled(void *ctx)
{
	return !(*(unsigned *)ctx)--;
}

START_TEST(reading_is_interrupted)
{
	struct hv_modules modules;
	struct hv_sites sites;
	unsigned after = 0;

	fs_module(&s, "m", 0, FK_MODULES, 0x1000, symbols, 7);
	GROUP({FK_BASE + 0x10, 0});
	hv_cancel_when(is_cancelled, &after);
	check_refused(hv_modules_read(&s.f.k.core, &modules), "interrupted");
	after = 0;
	check_refused(read_all_sites(&sites), "interrupted");
	hv_cancel_when(NULL, NULL);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_kernel_without_ftrace);
	tcase_add_test(tc, groups_in_the_list_s_order);
	tcase_add_test(tc, sites_are_found_by_name);
	tcase_add_test(tc, types_are_in_the_symbols);
	tcase_add_test(tc, names_of_modules_are_cut);
	tcase_add_test(tc, module_symbol_names_are_bounded);
	tcase_add_test(tc, site_names_are_bounded);
	tcase_add_test(tc, reading_is_interrupted);
	tcase_add_test(tc, busy_sites_are_updated);
	tcase_add_test(tc, init_code_is_left_out);
	tcase_add_test(tc, init_code_is_there_until_it_is_left_out);
	tcase_add_test(tc, sites_without_btf);
	tcase_add_test(tc, weak_leftovers_get_the_symbol_before);
	tcase_add_test(tc, weak_leftovers_are_marked_invalid);
	tcase_add_test(tc, a_site_after_endbr_is_valid);
	tcase_add_test(tc, unfriendly_records_are_refused);
	tcase_add_test(tc, more_groups_than_a_kernel_has_are_refused);
	tcase_add_test(tc, user_addresses_are_refused);
	tcase_add_test(tc, modules_have_names_as_kallsyms_chooses_them);
	tcase_add_test(tc, names_are_safe_to_print);
	tcase_add_test(tc, modules_come_and_go);
	tcase_add_test(tc, the_module_list_is_recognized);
	tcase_add_test(tc, record_pages_are_recognized);
	tcase_add_test(tc, unfriendly_modules_are_refused);
	tcase_add_test(tc, more_modules_than_a_kernel_has_are_refused);
	tcase_add_test(tc, module_text_is_a_member_of_mem);
	tcase_add_test(tc, a_name_is_in_its_module);
	tcase_add_test(tc, a_function_is_found_by_its_name);
	tcase_add_test(tc, strings_may_end_with_their_page);
}

int main(void)
{
	return run_suite("sites", add_tests);
}
