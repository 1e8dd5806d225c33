/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members that are found by comparing variables with each other: objects, jump labels, callbacks of
 * tracepoints, and the flag of tasks whose system calls are traced. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "kernel/derive/objects.h"
#include "kernel/derive/tracepoint_members.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/derive/expected.h"
#define FK_SYMBOLS 256
#include "tests/unit/kernel/fake_kernel.h"

#define M  HV_PROVED_BY_MEMORY
#define CC (HV_PROVED_BY_CODE | HV_PROVED_BY_OTHER_CODE)

enum { NR = 8, NODE_OFF = 0x480, FUNCS_OFF = 72, ENTRIES = 40, KEYS = 20 };

static struct fk fk;
static struct hv_deriving d;
static uint64_t things, partners, code, table, keys, callbacks, names;
static unsigned nr_functions;

static void setup(void)
{
	nr_functions = 0;
	fk_init(&fk);
	code = FK_BASE;
	things = fk_alloc(&fk, 4096);
	partners = fk_alloc(&fk, 4096);
	table = fk_alloc(&fk, 4096);
	keys = fk_alloc(&fk, 4096);
	callbacks = fk_alloc(&fk, 4096);
	names = fk_alloc(&fk, 4096);
	d = (struct hv_deriving){.core = &fk.k.core};
}

static void teardown(void)
{
	hv_facts_deinit(&d.facts);
	fk_deinit(&fk);
}

static const struct hv_fact *find(const char *type, const char *member)
{
	return hv_facts_find(&d.facts, type, member);
}

static void check_fact(const char *type, const char *member, uint32_t off, unsigned proofs)
{
	check_expected(&d.facts, &(struct expected){type, member, off, proofs});
}

static bool has_number(const char *name, int32_t value)
{
	for (size_t i = 0; i < d.facts.nr_numbers; i++)
		if (!strcmp(d.facts.numbers[i].name, name))
			return d.facts.numbers[i].value == value;
	return false;
}

static void function(const char *name, const char *bytes, size_t len)
{
	uint64_t at = code + 128 * nr_functions++;

	fk_symbol(&fk, name, at);
	memset(fk_host(&fk, at), 0xcc, 128);
	memcpy(fk_host(&fk, at), bytes, len);
}
#define FUNCTION(name, bytes) function(name, bytes, sizeof(bytes) - 1)

static void fact(const char *type, const char *member, uint32_t off)
{
	hv_facts_add(&d.facts, &(struct hv_fact){type, member, off, 8, NULL, M});
}

/* -- objects ----------------------------------------------------------------------------------- */

static const char *const of_things[NR] = {"thing_a", "thing_b", "thing_c", "thing_d",
					  "thing_e", "thing_f", "thing_g", "thing_h"};
static const char *const of_partners[NR] = {"partner_a", "partner_b", "partner_c", "partner_d",
					    "partner_e", "partner_f", "partner_g", "partner_h"};

/* Object I has BYTES_EACH bytes; SHORT_ONE has 8. The word at 16 points to the partner. */
static void make_things(uint32_t bytes_each, int short_one)
{
	uint64_t at = things;

	for (int i = 0; i < NR; i++) {
		fk_symbol(&fk, of_things[i], at);
		fk_u64(&fk, at + 16, partners + 16 * (unsigned)i);
		at += i == short_one ? 8 : bytes_each;
	}
	fk_symbol(&fk, "after_them", at);
	for (unsigned i = 0; i < NR; i++)
		fk_symbol(&fk, of_partners[i], partners + 16 * i);
	fk_done(&fk);
}

START_TEST(short_objects_are_skipped)
{
	struct hv_objects o;

	make_things(48, 3);
	hv_objects_read(&fk.k.core, "thing_", NULL, &o);
	ck_assert_uint_eq(o.nr, NR - 1);
	ck_assert_uint_eq(o.len_bytes, 48);
	for (size_t i = 0; i < o.nr; i++)
		ck_assert_str_ne(o.list[i].name, "d");
	hv_objects_deinit(&o);
	hv_objects_read(&fk.k.core, "thing_", "no_partner_", &o);
	ck_assert_uint_eq(o.nr, 0);
	hv_objects_deinit(&o);
	hv_objects_read(&fk.k.core, "thing_", "partner_", &o);
	ck_assert_uint_eq(o.nr, NR - 1);
	hv_objects_deinit(&o);
}
END_TEST

START_TEST(pointers_to_partners)
{
	struct hv_objects o;
	uint32_t off = 0;

	make_things(48, -1);
	fk_u64(&fk, things + 16, 0); /* one of eight may differ */
	hv_objects_read(&fk.k.core, "thing_", NULL, &o);
	ck_assert(hv_objects_find_pointers(&fk.k.core, &o, "partner_", &off));
	ck_assert_uint_eq(off, 16);
	ck_assert(!hv_objects_find_pointers(&fk.k.core, &o, "no_partner_", &off));
	hv_objects_deinit(&o);
	fk_u64(&fk, things + 48 + 16, 0);
	hv_objects_read(&fk.k.core, "thing_", NULL, &o);
	ck_assert(!hv_objects_find_pointers(&fk.k.core, &o, "partner_", &off));
	hv_objects_deinit(&o);
	for (unsigned i = 0; i < NR; i++) { /* two members */
		fk_u64(&fk, things + 48 * i + 16, partners + 16 * i);
		fk_u64(&fk, things + 48 * i + 32, partners + 16 * i);
	}
	hv_objects_read(&fk.k.core, "thing_", NULL, &o);
	ck_assert(!hv_objects_find_pointers(&fk.k.core, &o, "partner_", &off));
	hv_objects_deinit(&o);
}
END_TEST

static bool is_seven(void *ctx, const struct hv_object *o, uint64_t value)
{
	(void)ctx;
	(void)o;
	return value == 7;
}

START_TEST(values_of_objects)
{
	struct hv_objects o;
	uint32_t off = 0;

	make_things(48, -1);
	for (unsigned i = 0; i < NR; i++)
		fk_u32(&fk, things + 48 * i + 28, 7);
	hv_objects_read(&fk.k.core, "thing_", NULL, &o);
	ck_assert(hv_objects_find(&o, 4, is_seven, NULL, &off));
	ck_assert_uint_eq(off, 28);
	ck_assert(!hv_objects_find(&o, 8, is_seven, NULL, &off));
	o.nr = HV_OBJECTS_MIN - 1;
	ck_assert(!hv_objects_find(&o, 4, is_seven, NULL, &off));
	hv_objects_deinit(&o);
}
END_TEST

/* -- jump labels ------------------------------------------------------------------------------- */

static void set_relative(uint64_t at, uint64_t to)
{
	fk_u32(&fk, at, (uint32_t)(to - at));
}

/* Each key has two entries, and points to the first one. STOP is the end of the table. */
static void make_jumps(uint64_t stop)
{
	for (unsigned i = 0; i < ENTRIES; i++) {
		uint64_t at = table + 16 * i, key = keys + 16 * (i / 2);

		set_relative(at, code + 8 * i);
		set_relative(at + 4, code + 8 * i + 4);
		fk_u64(&fk, at + 8, key - (at + 8) + (i & 1));
		if (!(i & 1))
			fk_u64(&fk, key + 8, at | 1);
	}
	fk_symbol(&fk, "__start___jump_table", table);
	fk_symbol(&fk, "__stop___jump_table", stop);
	FUNCTION("static_key_count", "\x8b\x07\xc3"); /* mov (%rdi),%eax; ret */
	fk_symbol(&fk, "end_of_code", code + 1024);
	fk_done(&fk);
}

START_TEST(static_keys)
{
	make_jumps(table + 16 * ENTRIES);
	hv_tracepoint_members_derive(&d);
	/* 20 keys are too few */
	ck_assert_ptr_null(find("jump_entry", "code"));
}
END_TEST

/* Each entry has its own key. */
START_TEST(static_keys_with_one_entry)
{
	make_jumps(table + 16 * ENTRIES);
	for (unsigned i = 0; i < ENTRIES; i++) {
		uint64_t at = table + 16 * i, key = keys + 16 * i;

		fk_u64(&fk, at + 8, key - (at + 8) + (i & 1));
		fk_u64(&fk, key + 8, at | (i & 1));
	}
	hv_tracepoint_members_derive(&d);
	check_fact("jump_entry", "code", 0, M);
	check_fact("jump_entry", "target", 4, M);
	check_fact("jump_entry", "key", 8, M);
	check_fact("static_key", "entries", 8, M);
	check_fact("static_key", "enabled", 0, HV_PROVED_BY_CODE);
	check_fact("static_key_mod", "mod", 16, M);
	hv_facts_deinit(&d.facts);
	fk_u64(&fk, keys + 8, table + 16); /* not its first entry */
	hv_tracepoint_members_derive(&d);
	ck_assert_ptr_null(find("jump_entry", "code"));
	fk_u64(&fk, keys + 8, table);
	set_relative(table + 16, 0xffffffffa0000000); /* code outside of the kernel */
	hv_tracepoint_members_derive(&d);
	ck_assert_ptr_null(find("jump_entry", "code"));
}
END_TEST

/* Linux 4.19: addresses are absolute, and 0 if the code was freed. Each entry has its own key. */
START_TEST(static_keys_with_addresses)
{
	static const uint64_t len = 24;

	make_jumps(table + len * ENTRIES);
	for (unsigned i = 0; i < ENTRIES; i++) {
		uint64_t at = table + len * i, key = keys + 16 * i;

		fk_u64(&fk, at, i % 8 ? code + 8 * i : 0);
		fk_u64(&fk, at + 8, code + 8 * i + 4);
		fk_u64(&fk, at + 16, key | (i & 1));
		fk_u64(&fk, key + 8, at | (i & 1));
	}
	hv_tracepoint_members_derive(&d);
	check_fact("jump_entry", "code", 0, M);
	ck_assert_uint_eq(find("jump_entry", "code")->len_bytes, 8);
	check_fact("jump_entry", "target", 8, M);
	check_fact("jump_entry", "key", 16, M);
	hv_facts_deinit(&d.facts);
	fk_u64(&fk, table, 8);
	hv_tracepoint_members_derive(&d);
	ck_assert_ptr_null(find("jump_entry", "code"));
	fk_u64(&fk, table, 0);
	fk_u64(&fk, table + 8, 0); /* without a target */
	hv_tracepoint_members_derive(&d);
	ck_assert_ptr_null(find("jump_entry", "code"));
}
END_TEST

/* -- the flag of traced tasks ------------------------------------------------------------------ */

#define READ_NODE "\x48\x8b\x83\x80\x04\x00\x00" /* mov 0x480(%rbx),%rax */

static void make_marking(const char *set, size_t set_len, const char *clear, size_t clear_len)
{
	char bytes[64] = READ_NODE;

	memcpy(bytes + 7, set, set_len);
	function("syscall_regfunc", bytes, 7 + set_len);
	memcpy(bytes + 7, clear, clear_len);
	function("syscall_unregfunc", bytes, 7 + clear_len);
	fk_symbol(&fk, "end_of_code", code + 1024);
	fk_done(&fk);
	fact("task_struct", "thread_node", NODE_OFF);
	fact("thread_info", "flags", 0);
	hv_tracepoint_members_derive(&d);
}
#define MARKING(set, clear) make_marking(set, sizeof(set) - 1, clear, sizeof(clear) - 1)

START_TEST(a_thread_flag)
{
	MARKING("\xf0\x80\x4b\x03\x10\xc3",  /* lock orb $0x10,3(%rbx) */
		"\xf0\x80\x63\x03\xef\xc3"); /* lock andb $0xef,3(%rbx) */
	ck_assert(has_number("TIF_SYSCALL_TRACEPOINT", 28));
	ck_assert_ptr_null(find("thread_info", "syscall_work"));
	check_fact("task_struct", "thread_node", NODE_OFF, M | HV_PROVED_BY_CODE);
}
END_TEST

START_TEST(a_bit_of_syscall_work)
{
	MARKING("\xf0\x80\x4b\x08\x04\xc3",  /* lock orb $4,8(%rbx) */
		"\xf0\x80\x63\x08\xfb\xc3"); /* lock andb $0xfb,8(%rbx) */
	ck_assert(has_number("SYSCALL_WORK_BIT_SYSCALL_TRACEPOINT", 2));
	check_fact("thread_info", "syscall_work", 8, CC);
	ck_assert(!has_number("TIF_SYSCALL_TRACEPOINT", 2));
}
END_TEST

/* The register points to thread_node, so the offset is negative. */
START_TEST(a_bit_before_the_link)
{
	MARKING("\xf0\x80\x88\x89\xfb\xff\xff\x02\xc3",	 /* lock orb $2,-0x477(%rax) */
		"\xf0\x80\xa0\x89\xfb\xff\xff\xfd\xc3"); /* lock andb $0xfd,-0x477(%rax) */
	ck_assert(has_number("SYSCALL_WORK_BIT_SYSCALL_TRACEPOINT", 9));
	check_fact("thread_info", "syscall_work", 8, CC);
}
END_TEST

START_TEST(functions_that_change_different_bits)
{
	MARKING("\xf0\x80\x4b\x08\x04\xc3",  /* lock orb $4,8(%rbx) */
		"\xf0\x80\x63\x08\xef\xc3"); /* lock andb $0xef,8(%rbx) */
	ck_assert_uint_eq(d.facts.nr_numbers, 0);
	ck_assert_ptr_null(find("thread_info", "syscall_work"));
}
END_TEST

START_TEST(a_bit_of_another_member)
{
	MARKING("\xf0\x80\x4b\x50\x04\xc3",  /* lock orb $4,0x50(%rbx) */
		"\xf0\x80\x63\x50\xfb\xc3"); /* lock andb $0xfb,0x50(%rbx) */
	ck_assert_uint_eq(d.facts.nr_numbers, 0);
}
END_TEST

/* -- callbacks --------------------------------------------------------------------------------- */

static char symbols[8][20][40];

static const char *numbered(unsigned kind, const char *prefix, unsigned i)
{
	snprintf(symbols[kind][i], sizeof(symbols[0][0]), "%s%c", prefix, 'a' + i);
	return symbols[kind][i];
}

/* Tracepoints whose callbacks have PRIORITY. ADD: code of tracepoint_add_func(). */
static void make_tracepoints(uint32_t priority, const char *add, size_t add_len)
{
	for (unsigned i = 0; i < 20; i++) {
		uint64_t at = things + 96 * i;

		fk_symbol(&fk, numbered(0, "__tracepoint_", i), at);
		fk_symbol(&fk, numbered(1, "__tpstrtab_", i), names + 8 * i);
		fk_str(&fk, names + 8 * i, (char[]){(char)('a' + i), 0});
		fk_u64(&fk, at, names + 8 * i);
		/* add $24,%rbx; mov (%rbx),%rax; mov 8(%rbx),%rdi; ret */
		function(numbered(2, "__traceiter_", i),
			 "\x48\x83\xc3\x18\x48\x8b\x03\x48\x8b\x7b\x08\xc3", 12);
		fk_u64(&fk, at + FUNCS_OFF, i < 3 ? callbacks + 48 * i : 0);
		if (i >= 3)
			continue;
		fk_u64(&fk, callbacks + 48 * i, code);
		fk_u32(&fk, callbacks + 48 * i + 16, priority);
	}
	fk_symbol(&fk, "after_them", things + 96 * 20);
	fk_symbol(&fk, "__traceiter_sched_switch", code); /* the kernel has iterators */
	function("tracepoint_add_func", add, add_len);
	fk_symbol(&fk, "end_of_code", code + 128 * nr_functions);
	fk_done(&fk);
	hv_tracepoint_members_derive(&d);
}
#define TRACEPOINTS(priority, add) make_tracepoints(priority, add, sizeof(add) - 1)

#define ADD_FUNC                                                                                   \
	"\x48\x8b\x06"	   /* mov (%rsi),%rax */                                                   \
	"\x48\x8b\x46\x08" /* mov 8(%rsi),%rax */                                                  \
	"\x48\x8b\x46\x10" /* mov 16(%rsi),%rax */                                                 \
	"\x8b\x4b\x10"	   /* mov 16(%rbx),%ecx */                                                 \
	"\x48\x89\x47\x48" /* mov %rax,72(%rdi) */                                                 \
	"\xc3"

START_TEST(priorities_of_callbacks)
{
	TRACEPOINTS(10, ADD_FUNC);
	check_fact("tracepoint", "name", 0, M);
	check_fact("tracepoint", "funcs", FUNCS_OFF, HV_PROVED_BY_CODE);
	check_fact("tracepoint_func", "func", 0, CC);
	check_fact("tracepoint_func", "data", 8, CC);
	check_fact("tracepoint_func", "prio", 16, CC | M);
}
END_TEST

START_TEST(wrong_priorities_prove_nothing)
{
	TRACEPOINTS(11, ADD_FUNC);
	check_fact("tracepoint_func", "prio", 16, CC);
}
END_TEST

START_TEST(several_small_members)
{
	TRACEPOINTS(10, "\x48\x8b\x06\x8b\x4b\x10\x8b\x4b\x14\x48\x89\x47\x48\xc3");
	check_fact("tracepoint_func", "func", 0, CC);
	ck_assert_ptr_null(find("tracepoint_func", "prio"));
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, short_objects_are_skipped);
	tcase_add_test(tests, pointers_to_partners);
	tcase_add_test(tests, values_of_objects);
	tcase_add_test(tests, static_keys);
	tcase_add_test(tests, static_keys_with_one_entry);
	tcase_add_test(tests, static_keys_with_addresses);
	tcase_add_test(tests, a_thread_flag);
	tcase_add_test(tests, a_bit_of_syscall_work);
	tcase_add_test(tests, a_bit_before_the_link);
	tcase_add_test(tests, functions_that_change_different_bits);
	tcase_add_test(tests, a_bit_of_another_member);
	tcase_add_test(tests, priorities_of_callbacks);
	tcase_add_test(tests, wrong_priorities_prove_nothing);
	tcase_add_test(tests, several_small_members);
}

int main(void)
{
	return run_suite("tracepoint_members", add_tests);
}
