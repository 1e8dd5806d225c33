/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions of a kernel without ftrace can be traced, and the reasons of the others. The kernel
 * has a few functions, written here byte by byte. */
#include <check.h>

#include <errno.h>

#include "kernel/entries.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define ENTRY	  (FK_BASE + 0x1000) /* .entry.text, 0x100 bytes */
#define NOINSTR	  (FK_BASE + 0x1100) /* .noinstr.text, 0x100 bytes */
#define NEIGHBOUR (FK_BASE + 0x2000)
#define FUNCTION  (FK_BASE + 0x2100)
#define OTHER	  (FK_BASE + 0x2200)
#define THUNK	  (FK_BASE + 0x2300)
#define LATER	  (FK_BASE + 0x2310)
#define TABLE	  (FK_DATA + 0x40000)

#define CHANGED "an instruction at its start may be changed by the kernel"
#define FIXED	"an instruction at its start cannot be moved"

static struct fk f;
static struct hv_sites sites;

/* pushq %rbx; movq %rdi, %rbx; popq %rbx; ret */
static const uint8_t plain[] = {0x53, 0x48, 0x89, 0xfb, 0x5b, 0xc3};
static const uint8_t pushes[] = {0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x5d, 0xc3};

static void put(uint64_t at, const void *code, size_t len)
{
	memcpy(fk_host(&f, at), code, len);
}
#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

static void fault(uint64_t entry, uint64_t insn, uint64_t fixup)
{
	fk_u32(&f, entry, (uint32_t)(insn - entry));
	fk_u32(&f, entry + 4, (uint32_t)(fixup - (entry + 4)));
}

static void set_up(void)
{
	fk_init(&f);
	memset(fk_host(&f, FK_BASE), 0xcc, FK_DATA - FK_BASE);
	f.k.core.symbols.nr = 0;
	fk_symbol(&f, "__entry_text_start", ENTRY);
	fk_symbol(&f, "__entry_text_end", NOINSTR);
	fk_symbol(&f, "__noinstr_text_start", NOINSTR);
	fk_symbol(&f, "__noinstr_text_end", NOINSTR + 0x100);
	fk_symbol(&f, "neighbour", NEIGHBOUR);
	fk_symbol(&f, "function", FUNCTION);
	fk_symbol(&f, "other", OTHER);
	fk_symbol(&f, "__x86_indirect_thunk_rax", THUNK);
	fk_symbol(&f, "later.cold", LATER);
	fk_symbol(&f, "__start___ex_table", TABLE);
	fk_symbol(&f, "__stop___ex_table", TABLE + 24);
	hv_symbols_index(&f.k.core.symbols);
	put(NEIGHBOUR, pushes, sizeof(pushes));
	put(FUNCTION, plain, sizeof(plain));
	put(OTHER, pushes, sizeof(pushes));
	PUT(THUNK, "\xff\xe0");
	fault(TABLE, NOINSTR + 1, NOINSTR + 8);
	fault(TABLE + 12, NOINSTR + 2, NOINSTR + 8);
	sites = (struct hv_sites){0};
}

static void tear_down(void)
{
	hv_sites_deinit(&sites);
	fk_deinit(&f);
}

static void read_entries(void)
{
	struct hv_err *err = hv_entries_read(&f.k, (struct hv_gva_range){0}, &sites);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* Returns the number of functions that cannot be traced because of WHY. */
static size_t nr_of(const char *why)
{
	for (size_t i = 0; i < sites.entries->nr_reasons; i++)
		if (strstr(sites.entries->reasons[i].why, why))
			return sites.entries->reasons[i].nr;
	return 0;
}

/* FUNCTION is the only one that cannot be traced, because of WHY. */
static void refused(const char *why)
{
	hv_sites_deinit(&sites);
	read_entries();
	ck_assert_msg(hv_sites_named(&sites, "function", 0) == SIZE_MAX, "traced: %s", why);
	ck_assert_msg(nr_of(why) >= 1, "not refused: %s", why);
}

static void accepted(size_t off)
{
	size_t i;

	hv_sites_deinit(&sites);
	read_entries();
	i = hv_sites_named(&sites, "function", 0);
	ck_assert_uint_ne(i, SIZE_MAX);
	ck_assert_uint_eq(sites.list[i].ip.v, FUNCTION + off);
	ck_assert_mem_eq(sites.entries->list[i].insns, fk_host(&f, FUNCTION + off),
			 sites.entries->list[i].len_bytes);
}

START_TEST(functions_in_the_order_of_addresses)
{
	read_entries();
	ck_assert_uint_eq(sites.nr, 3);
	ck_assert_str_eq(sites.list[0].name, "neighbour");
	ck_assert_str_eq(sites.list[1].name, "function");
	ck_assert_str_eq(sites.list[2].name, "other");
	ck_assert_uint_eq(sites.list[1].ip.v, FUNCTION);
	ck_assert_ptr_null(sites.list[1].module);
	ck_assert_uint_eq(sites.entries->list[1].len_bytes, 5);
	ck_assert_uint_eq(sites.entries->list[1].nr, 3);
	ck_assert_uint_eq(sites.entries->list[0].len_bytes, 6);
	/* the bounds of the sections, which are no functions, and the thunk */
	ck_assert_uint_eq(sites.entries->nr_functions, sites.nr + 4);
	ck_assert_uint_eq(nr_of("state may be incomplete"), 3);
}
END_TEST

START_TEST(jumps_into_the_instructions)
{
	/* from the next function, from far away, from data in the text, and from a function that
	 * cannot be decoded to its end */
	PUT(OTHER + 16, "\xe9\x00\x00\x00\x00");
	fk_u32(&f, OTHER + 17, (uint32_t)(FUNCTION + 1 - (OTHER + 21)));
	refused("a jump may lead into");
	fk_u32(&f, OTHER + 17, (uint32_t)(FUNCTION + 4 - (OTHER + 21)));
	refused("a jump may lead into");
	fk_u32(&f, OTHER + 17, (uint32_t)(FUNCTION + 5 - (OTHER + 21)));
	accepted(0);
	PUT(FK_BASE + 0x80001, "\x0f\x85\x00\x00\x00\x00");
	fk_u32(&f, FK_BASE + 0x80003, (uint32_t)(FUNCTION + 3 - (FK_BASE + 0x80007)));
	refused("a jump may lead into");
	fk_u32(&f, FK_BASE + 0x80003, 0);
	accepted(0);
	fk_move_symbol(&f, "other", FUNCTION + 0x40);
	put(FUNCTION + 0x40, pushes, sizeof(pushes));
	PUT(FUNCTION + 0x48, "\x62\x75\xb9"); /* EVEX, and bytes that may be jne FUNCTION + 4 */
	refused("a jump may lead into");
}
END_TEST

START_TEST(jumps_in_the_function)
{
	PUT(FUNCTION, "\x48\x85\xff\x75\x01\x53\x5b\xc3"); /* jne to the second next one */
	accepted(0);
	PUT(FUNCTION, "\x53\x48\x89\xfb\x75\xfb\x5b\xc3"); /* jne to the second instruction */
	refused("a jump may lead into");
	PUT(FUNCTION, "\x48\x85\xff\xeb\x01\x53\x5b\xc3");
	refused("a call, jump or return is at its start");
	PUT(FUNCTION, "\x53\x48\x89\xfb\x5b\x75\xfa\xc3"); /* to the second instruction */
	refused("a jump may lead into");
	PUT(FUNCTION, "\x53\x48\x89\xfb\x5b\x75\xf9\xc3"); /* to the first one */
	refused("jumps to its own start");
	PUT(FUNCTION, "\x53\x48\x89\xfb\x5b\xe8\xf6\xff\xff\xff\xc3"); /* calls itself */
	accepted(0);
	PUT(FUNCTION, "\x53\x48\x89\xfb\x5b\xff\xe0\xcc"); /* jmp *%rax */
	refused("a jump to an unknown address");
	PUT(FUNCTION, "\x53\x48\x89\xfb\x5b\xe9\x00\x00\x00\x00\xcc"); /* jmp thunk */
	fk_u32(&f, FUNCTION + 6, (uint32_t)(THUNK - (FUNCTION + 10)));
	refused("a jump to an unknown address");
}
END_TEST

START_TEST(instructions_that_cannot_move)
{
	static const struct {
		const char code[12];
		size_t len;
		const char *why;
	} all[] = {
		{"\x0f\x1f\x44\x00\x00\x5b\xc3", 7, CHANGED}, /* a static key */
		{"\xe8\x00\x00\x00\x00\xc3", 6,
		 "a call, jump or return is at its start"}, /* a static call */
		{"\x48\x98\x53\x53\x53\xc3", 6, CHANGED},   /* cltq is not in the list */
		{"\xf0\x48\xff\x07\x53\xc3", 6, FIXED},	    /* lock */
		{"\x0f\x20\xd8\x53\x53\xc3", 6, FIXED},	    /* movq %cr3, %rax */
		{"\x8c\xd8\x53\x53\x53\xc3", 6, CHANGED},   /* movl %ds, %eax */
		{"\x0f\x01\xf8\x53\x53\xc3", 6, FIXED},	    /* swapgs */
		{"\x53\x0f\x0b\x53\x53\xc3", 6, FIXED},	    /* ud2 */
		/* static calls that return 0 */
		{"\x53\x48\x89\xfb\x2e\x2e\x2e\x31\xc0\xc3", 10, CHANGED},
		{"\x53\x48\x89\xfb\x66\x66\x48\x31\xc0\xc3", 10, CHANGED},
	};

	PUT(FUNCTION, "\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc");
	put(FUNCTION, all[_i].code, all[_i].len);
	hv_sites_deinit(&sites);
	read_entries();
	ck_assert_msg(hv_sites_named(&sites, "function", 0) == SIZE_MAX, "case %d", _i);
	ck_assert_msg(nr_of(all[_i].why) >= 1 || nr_of(CHANGED) >= 1, "case %d", _i);
}
END_TEST

/* The jump of a static key is a nop while the key is off. */
START_TEST(targets_of_static_keys)
{
	const uint64_t keys = TABLE + 0x1000;

	fk_symbol(&f, "__start___jump_table", keys);
	fk_symbol(&f, "__stop___jump_table", keys + 32);
	hv_symbols_index(&f.k.core.symbols);
	fk_u32(&f, keys + 16 + 4, (uint32_t)(FUNCTION + 1 - (keys + 16 + 4)));
	refused("a jump may lead into");
	fk_u32(&f, keys + 16 + 4, (uint32_t)(FUNCTION + 5 - (keys + 16 + 4)));
	accepted(0);
}
END_TEST

START_TEST(tables_that_are_not_mapped)
{
	const uint64_t nowhere = 0xffffffffff000000;

	fk_symbol(&f, "__start___jump_table", nowhere);
	fk_symbol(&f, "__stop___jump_table", nowhere + 32);
	hv_symbols_index(&f.k.core.symbols);
	expect_error(hv_entries_read(&f.k, (struct hv_gva_range){0}, &sites), EFAULT,
		     "table of static keys: nothing is mapped at 0xffffffffff000000");
}
END_TEST

/* Otherwise the trampoline of a thunk would return to itself. */
START_TEST(thunks_of_returns)
{
	f.k.return_thunk = hv_gva(FUNCTION);
	refused("trampolines return through it");
	f.k.return_thunk = hv_gva(0);
	accepted(0);
	for (size_t i = 0; i < f.k.core.symbols.nr; i++)
		if (f.k.core.symbols.by_addr[i].addr.v == OTHER)
			f.k.core.symbols.by_addr[i].name = "call_depth_return_thunk";
	hv_symbols_index(&f.k.core.symbols);
	hv_sites_deinit(&sites);
	read_entries();
	ck_assert_uint_eq(sites.nr, 2);
}
END_TEST

START_TEST(markers_are_skipped)
{
	PUT(FUNCTION, "\xf3\x0f\x1e\xfa\x53\x48\x89\xfb\x5b\xc3");
	accepted(4);
	PUT(FUNCTION, "\x0f\x1f\x40\xd6\x53\x48\x89\xfb\x5b\xc3");
	accepted(4);
	PUT(FUNCTION, "\xf3\x0f\x1e\xfa\x0f\x1f\x44\x00\x00\x53\x48\x89\xfb\x5b\xc3");
	refused(CHANGED); /* a static key's nop */
	f.k.core.symbols.by_addr[f.k.core.symbols.nr - 3].name = "__fentry__"; /* ftrace's */
	hv_symbols_index(&f.k.core.symbols);
	accepted(9);
}
END_TEST

START_TEST(instructions_that_use_memory)
{
	PUT(FUNCTION, "\x53\x48\x8b\x07\x53\xc3"); /* movq (%rdi), %rax */
	accepted(0);
	fault(TABLE + 12, FUNCTION + 1, NOINSTR + 8);
	refused("may fault");
	fault(TABLE + 12, NOINSTR + 2, FUNCTION + 4);
	refused("may fault");
	fault(TABLE + 12, NOINSTR, FUNCTION + 4); /* not sorted: no such table */
	refused("exception table is unknown");
	f.k.core.symbols.nr -= 2;
	hv_symbols_index(&f.k.core.symbols);
	refused("exception table is unknown");
	PUT(FUNCTION, "\x53\x48\x8d\x07\x53\xc3"); /* leaq uses none */
	accepted(0);
}
END_TEST

START_TEST(where_a_function_is)
{
	/* after nops, after code that runs into it, with an unknown instruction, and too short */
	memset(fk_host(&f, NEIGHBOUR) + 8, 0x90, FUNCTION - NEIGHBOUR - 8);
	accepted(0); /* nops that follow a return */
	*fk_host(&f, NEIGHBOUR + 7) = 0x90;
	refused("may run into it");
	*fk_host(&f, NEIGHBOUR + 7) = 0xc3;
	*fk_host(&f, FUNCTION + 8) = 0x62; /* EVEX */
	refused("an instruction is unknown");
	*fk_host(&f, FUNCTION + 8) = 0xcc;
	fk_move_symbol(&f, "other", FUNCTION + 3);
	refused("");
}
END_TEST

START_TEST(pages)
{
	fk_move_symbol(&f, "other", FK_BASE + 0x2ffe);
	fk_move_symbol(&f, "__x86_indirect_thunk_rax", FK_BASE + 0x3040);
	fk_move_symbol(&f, "later.cold", FK_BASE + 0x3050);
	put(FK_BASE + 0x2ffe, pushes, sizeof(pushes));
	PUT(FK_BASE + 0x3040, "\xff\xe0");
	read_entries();
	ck_assert_uint_eq(nr_of("in two pages"), 1);
	ck_assert_uint_eq(hv_sites_named(&sites, "other", 0), SIZE_MAX);
}
END_TEST

START_TEST(sections_are_needed)
{
	f.k.core.symbols.by_addr[3].name = "x";
	hv_symbols_index(&f.k.core.symbols);
	expect_error(hv_entries_read(&f.k, (struct hv_gva_range){0}, &sites), ENOTSUP,
		     "kernel has no ftrace sites, and no symbols __noinstr_text_start and "
		     "__noinstr_text_end: which functions could be traced without is unknown");
	f.k.core.image.len_bytes = FK_DATA - FK_BASE - 1;
	f.k.core.symbols.by_addr[3].name = "__noinstr_text_end";
	hv_symbols_index(&f.k.core.symbols);
	expect_error(hv_entries_read(&f.k, (struct hv_gva_range){0}, &sites), EIO,
		     "kernel text: its symbols place it outside its image");
	f.k.is_starting = true;
	expect_error(hv_entries_read(&f.k, (struct hv_gva_range){0}, &sites), EOPNOTSUPP,
		     "kernel has no ftrace sites, and it is still starting; retry when it has "
		     "booted");
	f.k.core.as.arch = &hv_arch_arm64;
	expect_error(hv_entries_read(&f.k, (struct hv_gva_range){0}, &sites), ENOTSUP,
		     "kernel has no ftrace sites: it was built without CONFIG_DYNAMIC_FTRACE");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, functions_in_the_order_of_addresses);
	tcase_add_test(tc, jumps_into_the_instructions);
	tcase_add_test(tc, jumps_in_the_function);
	tcase_add_loop_test(tc, instructions_that_cannot_move, 0, 10);
	tcase_add_test(tc, targets_of_static_keys);
	tcase_add_test(tc, tables_that_are_not_mapped);
	tcase_add_test(tc, thunks_of_returns);
	tcase_add_test(tc, markers_are_skipped);
	tcase_add_test(tc, instructions_that_use_memory);
	tcase_add_test(tc, where_a_function_is);
	tcase_add_test(tc, pages);
	tcase_add_test(tc, sections_are_needed);
}

int main(void)
{
	return run_suite("entries", add_tests);
}
