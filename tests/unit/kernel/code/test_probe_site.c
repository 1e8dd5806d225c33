/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a probe inside a function is possible, and the reason why not elsewhere. The kernel has a
 * few functions, written here byte by byte, and the tables that a kernel has about its code. */
#include <check.h>

#include <errno.h>

#include "kernel/code/probe_site.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FUNCTION (FK_BASE + 0x2000)
#define UNTRACED (FK_BASE + 0x3000)
#define COLD	 (FK_BASE + 0x4000)
#define THUNK	 (FK_BASE + 0x5000)

/* The function: an ftrace site, then the tested code. */
static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static struct fk f;
static uint64_t keys, calls, exceptions, black;

static void add_site(uint64_t at)
{
	struct hv_sites *s = &f.k.sites;

	s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(*s->list));
	s->list[s->nr++] = (struct hv_site){.ip = hv_gva(at), .name = "f"};
}

/* What the table of static keys contains. */
static enum { DISTANCES, ADDRESSES, SHORTS, NOTHING_KNOWN } key_form;

static void make_kernel(const char *can_boost)
{
	fk_init(&f);
	memset(fk_host(&f, FK_BASE), 0xcc, FK_DATA - FK_BASE);
	keys = fk_alloc(&f, 64);
	calls = fk_alloc(&f, 64);
	exceptions = fk_alloc(&f, 64);
	black = fk_alloc(&f, 256);
	if (key_form == ADDRESSES)
		FK_STRUCT("jump_entry", 24, {"code", 0, 8}, {"target", 8, 8}, {"key", 16, 8});
	else if (key_form == SHORTS)
		FK_STRUCT("jump_entry", 16, {"code", 0, 2}, {"target", 4, 2}, {"key", 8, 8});
	else if (key_form == DISTANCES)
		FK_STRUCT("jump_entry", 16, {"code", 0, 4}, {"target", 4, 4}, {"key", 8, 8});
	FK_STRUCT("static_call_site", 8, {"addr", 0, 4}, {"key", 4, 4});
	FK_STRUCT("exception_table_entry", 12, {"insn", 0, 4}, {"fixup", 4, 4});
	FK_STRUCT("kprobe_blacklist_entry", 32, {"list", 0, 16}, {"start_addr", 16, 8},
		  {"end_addr", 24, 8});
	type(FUNC, "can_boost", 0, 0,
	     type(FUNC_PROTO, "", 0, 0, integer(can_boost, strcmp(can_boost, "int") ? 1 : 4)));
	fk_symbol(&f, "register_kprobe", FK_BASE + 0x100);
	fk_symbol(&f, "function", FUNCTION);
	fk_symbol(&f, "untraced", UNTRACED);
	fk_symbol(&f, "function.cold", COLD);
	fk_symbol(&f, "__x86_indirect_thunk_rax", THUNK);
	fk_symbol(&f, "other", THUNK + 0x20);
	fk_symbol(&f, "__start___jump_table", keys);
	fk_symbol(&f, "__stop___jump_table", keys + (key_form == ADDRESSES ? 24 : 16));
	fk_symbol(&f, "__start_static_call_sites", calls);
	fk_symbol(&f, "__stop_static_call_sites", calls + 8);
	fk_symbol(&f, "__start___ex_table", exceptions);
	fk_symbol(&f, "__stop___ex_table", exceptions + 12);
	fk_symbol(&f, "kprobe_blacklist", black);
	fk_done(&f);
	fk_u64(&f, black, black);
	memcpy(fk_host(&f, FUNCTION), nop, sizeof(nop));
	add_site(FUNCTION);
}

static void set_up(void)
{
	make_kernel("int");
}

static void tear_down(void)
{
	fk_deinit(&f);
	key_form = DISTANCES;
}

/* Writes CODE at OFF after the function's site. */
static void put(size_t off, const char *code, size_t len)
{
	memcpy(fk_host(&f, FUNCTION + sizeof(nop) + off), code, len);
}
#define PUT(off, code) put(off, code, sizeof(code) - 1)

static struct hv_err *read_at(size_t off, struct hv_probe_site *ret)
{
	return hv_probe_site_read(&f.k, hv_gva(FUNCTION + sizeof(nop) + off), NULL, 0, ret);
}

static void is_possible(size_t off, size_t len, unsigned nr)
{
	struct hv_probe_site site;
	struct hv_err *err = read_at(off, &site);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(site.at.v, FUNCTION + sizeof(nop) + off);
	ck_assert_uint_eq(site.site.v, FUNCTION);
	ck_assert_uint_eq(site.len_bytes, len);
	ck_assert_uint_eq(site.nr, nr);
	ck_assert_mem_eq(site.insns, fk_host(&f, site.at.v), len);
}

static void is_refused(size_t off, int code, const char *says)
{
	struct hv_probe_site site;
	struct hv_err *err = read_at(off, &site);

	ck_assert_msg(err != NULL, "refused: %s", says);
	ck_assert_msg(err->code == code && strstr(err->message, says), "%s", err->message);
	hv_err_free(err);
}

#define MOV  "\xb8\x44\x33\x22\x11"	    /* movl $0x11223344, %eax */
#define LEA  "\x48\x8d\x15\x00\x01\x00\x00" /* leaq 0x100(%rip), %rdx */
#define PUSH "\x55"			    /* pushq %rbp */
#define SUB  "\x48\x83\xec\x10"		    /* subq $16, %rsp */
#define RET  "\xc3"

START_TEST(whole_instructions_move)
{
	PUT(0, MOV LEA PUSH SUB RET);
	is_possible(0, 5, 1);
	is_possible(5, 7, 1);
	is_possible(12, 5, 2);
	for (size_t off = 1; off < 12; off++)
		if (off != 5)
			is_refused(off, EILSEQ, "Probe point is not an instruction boundary");
	is_possible(13, 5, 2);
	is_refused(16, EILSEQ, "Probe point is not an instruction boundary");
	is_refused(17, EOPNOTSUPP, "a call, jump or return is in the way");
}
END_TEST

START_TEST(jumps_into_moved_instructions)
{
	int32_t distance;

	PUT(0, PUSH SUB "\xeb\xfa" RET); /* jmp to after the push */
	is_refused(0, EOPNOTSUPP, "a jump leads into the instructions");
	PUT(5, "\xeb\xfb"); /* one byte later: unusual, but inside */
	is_refused(0, EOPNOTSUPP, "a jump leads into the instructions");
	PUT(5, "\xeb\xf9"); /* to the push */
	is_possible(0, 5, 2);
	distance = (int32_t)(FUNCTION + 6 - (COLD + 5));
	*fk_host(&f, COLD) = 0xe9;
	memcpy(fk_host(&f, COLD + 1), &distance, sizeof(distance));
	is_refused(0, EOPNOTSUPP, "a jump leads into the instructions");
	*fk_host(&f, COLD + 1) -= 1; /* to the push */
	is_possible(0, 5, 2);
}
END_TEST

START_TEST(moving_several_needs_a_decoded_function)
{
	int32_t distance = (int32_t)(THUNK - (FUNCTION + 5 + 5 + 5));

	PUT(0, PUSH SUB "\xff\xe0"); /* jmp *%rax */
	is_refused(0, EOPNOTSUPP, "a jump to an unknown address");
	PUT(0, MOV "\xe9");
	put(6, (const char *)&distance, sizeof(distance));
	is_possible(0, 5, 1);
	PUT(0, PUSH SUB);
	is_refused(0, EOPNOTSUPP, "a jump to an unknown address");
	PUT(5, RET "\x06"); /* no instruction */
	is_refused(0, EOPNOTSUPP, "an unknown instruction");
	PUT(0, MOV);
	is_possible(0, 5, 1);
}
END_TEST

/* Writes at TABLE an entry whose distance at OFF leads to offset WHERE in the function. */
static void lead(uint64_t table, uint32_t off, size_t where)
{
	fk_u32(&f, table + off, (uint32_t)(FUNCTION + sizeof(nop) + where - (table + off)));
}

START_TEST(tables_of_the_kernel_count)
{
	PUT(0, PUSH SUB MOV RET);
	is_possible(0, 5, 2);
	lead(keys, 4, 0); /* a jump to the first instruction does not matter */
	is_possible(0, 5, 2);
	lead(keys, 4, 1);
	is_refused(0, EINVAL, HV_PROBE_REFUSED);
	is_possible(5, 5, 1);
	fk_u32(&f, keys + 4, 0);
	lead(keys, 0, 5);
	is_refused(5, EINVAL, "Failed to register probe event");
	is_possible(0, 5, 2);
	fk_u32(&f, keys, 0);
	lead(calls, 0, 5);
	is_refused(5, EINVAL, HV_PROBE_REFUSED);
	fk_u32(&f, calls, 0);
	lead(exceptions, 0, 5);
	is_refused(5, EOPNOTSUPP, "expects an instruction there to fault");
	fk_u32(&f, exceptions, 0);
	lead(exceptions, 4, 5);
	is_possible(5, 5, 1);
	lead(exceptions, 4, 1);
	is_refused(0, EOPNOTSUPP, "expects an instruction there to fault");
}
END_TEST

START_TEST(the_blacklist_counts)
{
	uint64_t entry = black + 64;

	PUT(0, MOV MOV RET);
	fk_u64(&f, black, entry);
	fk_u64(&f, entry, black);
	fk_u64(&f, entry + 16, FUNCTION + 10);
	fk_u64(&f, entry + 24, FUNCTION + 15);
	is_possible(0, 5, 1);
	is_refused(5, EINVAL, HV_PROBE_REFUSED);
	fk_u64(&f, entry, entry); /* endless */
	is_refused(0, E2BIG, "kprobe_blacklist: the list does not end after 65536 entries");
}
END_TEST

START_TEST(kernels_without_probes)
{
	struct hv_function_entries entries = {0};

	f.k.sites.entries = &entries;
	is_refused(0, EOPNOTSUPP,
		   "probes inside functions: not supported yet for kernels without ftrace");
	f.k.sites.entries = NULL;
	f.k.is_starting = true;
	is_refused(0, EOPNOTSUPP, "the kernel is still starting");
	f.k.core.as.arch = &hv_arch_riscv64;
	is_refused(0, EOPNOTSUPP, "probes inside functions: not supported yet on riscv64");
}
END_TEST

START_TEST(static_keys_with_addresses)
{
	fk_deinit(&f);
	key_form = ADDRESSES;
	make_kernel("int");
	PUT(0, PUSH SUB MOV RET);
	fk_u64(&f, keys + 8, FUNCTION + sizeof(nop));
	is_possible(0, 5, 2);
	fk_u64(&f, keys + 8, FUNCTION + sizeof(nop) + 1);
	is_refused(0, EINVAL, HV_PROBE_REFUSED);
	is_possible(5, 5, 1);
	fk_u64(&f, keys, FUNCTION + sizeof(nop) + 5);
	is_refused(5, EINVAL, HV_PROBE_REFUSED);
}
END_TEST

/* With derived types, a table in an unknown form may contain anything. */
START_TEST(tables_with_an_unknown_layout)
{
	static const char unknown[] =
		"no probe is possible there: unknown layout of the kernel's code tables";

	fk_deinit(&f);
	key_form = SHORTS;
	make_kernel("int");
	PUT(0, MOV RET);
	is_refused(0, EOPNOTSUPP, unknown);
	fk_deinit(&f);
	key_form = NOTHING_KNOWN;
	make_kernel("int");
	PUT(0, MOV RET);
	is_possible(0, 5, 1);
	f.k.core.types.from = HV_TYPES_DERIVED;
	is_refused(0, EOPNOTSUPP, unknown);
}
END_TEST

START_TEST(tables_that_are_too_long)
{
	PUT(0, MOV RET);
	fk_move_symbol(&f, "__stop___jump_table", keys + (16 << 20) + 16);
	is_refused(0, EINVAL,
		   "a probe at 0xffffffff81002005: table of struct jump_entry: 16777232 bytes; at "
		   "most 16777216 are possible");
}
END_TEST

START_TEST(functions_across_a_page_boundary)
{
	fk_move_symbol(&f, "untraced", UNTRACED + 0x800);
	memset(fk_host(&f, FUNCTION + sizeof(nop)), 0x90, 0x1100);
	memcpy(fk_host(&f, FUNCTION + 0xffc), MOV, 5);
	is_refused(0xffc - sizeof(nop), EOPNOTSUPP,
		   "no probe is possible there: the instructions there are in two pages");
	is_possible(0x1001 - sizeof(nop), 5, 5);
}
END_TEST

START_TEST(functions_that_are_too_long)
{
	static const char *const others[] = {"untraced", "function.cold",
					     "__x86_indirect_thunk_rax", "other"};

	memset(fk_host(&f, FUNCTION + sizeof(nop)), 0x90, 0x40000);
	for (unsigned i = 0; i < HV_ARRAY_LEN(others); i++)
		fk_move_symbol(&f, others[i], FUNCTION + 0x40000 + i);
	is_possible(0, 5, 5);
	for (unsigned i = 0; i < HV_ARRAY_LEN(others); i++)
		fk_move_symbol(&f, others[i], FUNCTION + 0x40001 + i);
	is_refused(0, EOPNOTSUPP, "no probe is possible there: its function is too long");
}
END_TEST

START_TEST(only_functions_that_can_be_traced)
{
	struct hv_probe_site site;
	struct hv_err *err;

	memcpy(fk_host(&f, UNTRACED), MOV RET, 6);
	err = hv_probe_site_read(&f.k, hv_gva(UNTRACED), NULL, 0, &site);
	ck_assert(err && err->code == EOPNOTSUPP);
	ck_assert_str_eq(err->message, "no probe is possible there: only functions that ftrace can "
				       "trace have probes, and this one cannot be traced");
	hv_err_free(err);
	err = hv_probe_site_read(&f.k, hv_gva(FUNCTION), NULL, 0, &site);
	ck_assert(err && err->code == EOPNOTSUPP && strstr(err->message, "own ftrace"));
	hv_err_free(err);
	err = hv_probe_site_read(&f.k, hv_gva(FUNCTION + 2), NULL, 0, &site);
	ck_assert(err && err->code == EILSEQ);
	hv_err_free(err);
	err = hv_probe_site_read(&f.k, hv_gva(FK_DATA), NULL, 0, &site);
	ck_assert(err && err->code == EINVAL);
	hv_err_free(err);
}
END_TEST

/* The kernel's own instructions count, not hvtrace's jump over them. */
START_TEST(own_patches_are_seen_as_original_code)
{
	struct hv_own_bytes own = {hv_gva(FUNCTION + 5), 7, "\x48\x8d\x15\x00\x01\x00\x00"};
	struct hv_probe_site site;
	struct hv_err *err;

	PUT(0, "\xe9\x00\x00\x00\x01\xeb\x00" RET);
	err = hv_probe_site_read(&f.k, hv_gva(FUNCTION + 5), &own, 1, &site);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_mem_eq(site.insns, LEA, 7);
	err = hv_probe_site_read(&f.k, hv_gva(FUNCTION + 10), &own, 1, &site);
	ck_assert(err && err->code == EILSEQ);
	hv_err_free(err);
}
END_TEST

START_TEST(instructions_that_cannot_move)
{
	static const struct {
		const char *code, *why;
	} insns[] = {
		{"\xf0\x48\xff\x05\x00\x00\x00\x00",
		 "the kernel itself changes the prefix of an instruction there"},
		{"\x0f\x0b\x90\x90\x90", "raises an exception"},
		{"\xff\xd0\x90\x90\x90", "an indirect jump or call is there"},
		{"\x0f\x01\xf8\x90\x90", "is privileged, so it cannot be moved"}, /* swapgs */
		{"\xf3\x0f\x1e\xfa\x90", "an indirect branch leads there"},
		{"\xe3\x01\x90\x90\x90", "longer form"}, /* jrcxz */
		{"\x9d\x90\x90\x90\x90", "changes system flags"},
		{"\xfb\x90\x90\x90\x90", "is privileged, so it cannot be moved"}, /* sti */
		{"\xc3\x90\x90\x90\x90", "in the way"},
		/* movabsq %rax, 8 bytes: 10, after 4 other bytes */
		{"\x90\x90\x90\x90\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", "too long"},
	};

	memset(fk_host(&f, FUNCTION + 5), 0x90, 32);
	memcpy(fk_host(&f, FUNCTION + 5), insns[_i].code, _i == 9 ? 14 : _i ? 5 : 8);
	is_refused(0, EOPNOTSUPP, insns[_i].why);
}
END_TEST

/* Newer kernels report instructions that raise exceptions like the middle of an instruction. */
START_TEST(instructions_that_raise_exceptions)
{
	static const struct {
		const char *code;
		size_t len;
	} insns[] = {
		{"\x0f\x0b", 2},
		{"\xcc", 1},
		{"\xcd\x29", 2},
		{"\xf1", 1},
	};

	memset(fk_host(&f, FUNCTION + 5), 0x90, 32);
	memcpy(fk_host(&f, FUNCTION + 5), insns[_i].code, insns[_i].len);
	is_refused(0, EOPNOTSUPP, "");
	is_possible(insns[_i].len, 5, 5);
	tear_down();
	make_kernel("bool");
	memset(fk_host(&f, FUNCTION + 5), 0x90, 32);
	memcpy(fk_host(&f, FUNCTION + 5), insns[_i].code, insns[_i].len);
	is_refused(0, EILSEQ, "Probe point is not an instruction boundary");
	is_possible(insns[_i].len, 5, 5);
	PUT(5, "\x90\x90\x0f\x0b"); /* after the first instruction */
	is_refused(5, EOPNOTSUPP, "raises an exception");
}
END_TEST

/* The length of ud0 is not known, so the following instructions are not known either. */
START_TEST(code_after_ud0_is_unknown)
{
	tear_down();
	make_kernel("bool");
	memset(fk_host(&f, FUNCTION + 5), 0x90, 32);
	PUT(0, "\x90\x67\x0f\xff\x40\x02"); /* nop; ud0 2(%eax), %eax */
	is_refused(4, EOPNOTSUPP, "hvtrace does not know an instruction before it");
	is_refused(6, EOPNOTSUPP, "hvtrace does not know an instruction before it");
}
END_TEST

/* The length of ud1 is known. */
START_TEST(a_warning_has_operands)
{
	tear_down();
	make_kernel("bool");
	memset(fk_host(&f, FUNCTION + 5), 0x90, 32);
	PUT(0, "\x90\x67\x48\x0f\xb9\x3a"); /* nop; ud1 (%edx), %rdi */
	is_refused(1, EILSEQ, "Probe point is not an instruction boundary");
	is_refused(5, EILSEQ, "Probe point is not an instruction boundary");
	is_possible(6, 5, 5);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, whole_instructions_move);
	tcase_add_test(tc, jumps_into_moved_instructions);
	tcase_add_test(tc, moving_several_needs_a_decoded_function);
	tcase_add_test(tc, tables_of_the_kernel_count);
	tcase_add_test(tc, static_keys_with_addresses);
	tcase_add_test(tc, tables_with_an_unknown_layout);
	tcase_add_test(tc, tables_that_are_too_long);
	tcase_add_test(tc, functions_across_a_page_boundary);
	tcase_add_test(tc, functions_that_are_too_long);
	tcase_add_test(tc, the_blacklist_counts);
	tcase_add_test(tc, kernels_without_probes);
	tcase_add_test(tc, only_functions_that_can_be_traced);
	tcase_add_test(tc, own_patches_are_seen_as_original_code);
	tcase_add_loop_test(tc, instructions_that_cannot_move, 0, 10);
	tcase_add_loop_test(tc, instructions_that_raise_exceptions, 0, 4);
	tcase_add_test(tc, code_after_ud0_is_unknown);
	tcase_add_test(tc, a_warning_has_operands);
}

int main(void)
{
	return run_suite("probe_site", add_tests);
}
