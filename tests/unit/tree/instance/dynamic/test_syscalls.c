/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Program memory in system call events, taken from data that the guest has read and can
 * overwrite. */
#include <check.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "tests/lib/run_suite.h"
#include "tree/instance/dynamic/syscalls.h"

#define PLACES_OFF 32
#define USER_BYTES 8

/* Tags of the first set: strings, and bytes with the length in argument 1. */
#define STRING_OF(arg) (0xf000 + ((arg)*7 + 6) * 16)
#define BYTES_OF(arg)  (0xf000 + ((arg)*7 + 1) * 16)

static uint8_t results[1024], entry[1152];
static size_t results_len;
static struct hv_syscall_filling f;

static void set_up(void)
{
	static const uint64_t words[2] = {0x7ffd1000, 5};

	results_len = 0;
	memset(entry, 0xaa, sizeof(entry));
	memcpy(entry + 16, words, sizeof(words));
	f = (struct hv_syscall_filling){
		.nr = 63,
		.user_bytes = USER_BYTES,
		.words = entry + 16,
		.entry = entry,
		.locs_off = PLACES_OFF,
	};
}

static void add_result(uint32_t tag, uint32_t len_said, const void *bytes, size_t len)
{
	const uint32_t head[2] = {tag, len_said};

	memcpy(results + results_len, head, sizeof(head));
	memcpy(results + results_len + sizeof(head), bytes, len);
	results_len += sizeof(head) + (len + 7) / 8 * 8;
}

static uint32_t fill(struct hv_syscall_memory m)
{
	f.results = (struct hv_span){results, results_len};
	return hv_syscall_memory_fill(&m, &f);
}

static void check_part(unsigned loc, uint32_t off, const void *bytes, uint32_t len)
{
	uint32_t word;

	memcpy(&word, entry + PLACES_OFF + loc * 4, sizeof(word));
	ck_assert_uint_eq(word, len << 16 | off);
	ck_assert_mem_eq(entry + off, bytes, len);
	ck_assert_uint_eq(entry[off + len], 0xaa);
}

/* Records a string that was read as BYTES and expects WANT. */
static void check_string(const char *bytes, uint32_t len, const char *want, uint32_t want_len)
{
	set_up();
	add_result(STRING_OF(0), len, bytes, len == HV_FETCH_FAULT ? 0 : len);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 36 + want_len);
	check_part(0, 36, want, want_len);
}

START_TEST(strings)
{
	check_string("/absent", 8, "/absent", 8);
	check_string("12345678", 9, "12345678", 9);
	check_string("123456789", 10, "12345678...", 12);
	check_string("", 1, "", 1);
	check_string("a\n\x7f\x9f\xa0\xff", 7, "a...\xa0\xff", 7);
	/* without a NUL, with bytes after it, and empty */
	check_string("abc", 3, "abc", 4);
	check_string("abc\0defghi", 10, "abc", 4);
	check_string("", 0, "", 1);
}
END_TEST

START_TEST(strings_that_cannot_be_read)
{
	static const uint64_t nowhere[] = {0, 4095, UINT64_C(1) << 63, UINT64_MAX};

	check_string("", HV_FETCH_FAULT, "(fault)", 8);
	for (unsigned i = 0; i < HV_ARRAY_LEN(nowhere); i++) {
		set_up();
		memcpy(entry + 16, &nowhere[i], 8);
		add_result(STRING_OF(0), HV_FETCH_FAULT, "", 0);
		ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 36);
		check_part(0, 36, "", 0);
	}
}
END_TEST

START_TEST(no_bytes_are_requested)
{
	set_up();
	f.user_bytes = 0;
	add_result(STRING_OF(0), 4, "abc", 4);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 36);
	check_part(0, 36, "", 0);
}
END_TEST

START_TEST(several_strings)
{
	set_up();
	add_result(STRING_OF(1), 5, "/new", 5);
	add_result(STRING_OF(0), 5, "/old", 5);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 3}), 50);
	ck_assert_mem_eq(entry + 40, "/old\0/new", 10);
	check_part(1, 45, "/new", 5);
	/* only one was read */
	set_up();
	add_result(STRING_OF(0), 5, "/old", 5);
	memcpy(entry + 24, entry + 16, 8);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 3}), 53);
	check_part(1, 45, "(fault)", 8);
}
END_TEST

START_TEST(bytes)
{
	const struct hv_syscall_memory sized = {.mask = 1, .is_sized = true, .size_arg = 1};

	set_up();
	add_result(BYTES_OF(0), 5, "a\0\n\xff", 5);
	ck_assert_uint_eq(fill(sized), 41);
	check_part(0, 36, "a\0\n\xff", 5);
	set_up();
	add_result(BYTES_OF(0), 10, "0123456789", 10);
	ck_assert_uint_eq(fill(sized), 36 + USER_BYTES);
	check_part(0, 36, "01234567", USER_BYTES);
	set_up();
	add_result(BYTES_OF(0), HV_FETCH_FAULT, "", 0);
	ck_assert_uint_eq(fill(sized), 36);
	check_part(0, 36, "", 0);
}
END_TEST

START_TEST(nothing_was_read)
{
	set_up();
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 0);
	add_result(STRING_OF(1), 5, "/new", 5);
	add_result(STRING_OF(0) + 1, 5, "/new", 5); /* of the set of numbers from 64 on */
	add_result(BYTES_OF(0), 5, "/new", 5);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 0);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){0}), PLACES_OFF);
}
END_TEST

START_TEST(hostile_results)
{
	set_up();
	add_result(STRING_OF(0), 17, "0123456789abcdef", 16);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 0);
	set_up();
	add_result(1, 0xfffffff0, "", 1);
	add_result(STRING_OF(0), 4, "abc", 4);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 0);
	/* the longest result and entry */
	set_up();
	f.user_bytes = HV_USER_BYTES_MAX;
	memset(results, 'x', sizeof(results));
	add_result(STRING_OF(0), sizeof(results) - 8, "", 0);
	results_len = sizeof(results);
	ck_assert_uint_eq(fill((struct hv_syscall_memory){.mask = 1}), 36 + HV_SYSCALL_MEMORY_MAX);
	ck_assert_mem_eq(entry + 36 + HV_USER_BYTES_MAX - 1, "x...", 5);
	ck_assert_uint_eq(entry[36 + HV_SYSCALL_MEMORY_MAX], 0xaa);
}
END_TEST

START_TEST(memory_arguments_of_a_call)
{
	struct hv_syscall call = {.user_mask = 5, .user_size_arg = -1};
	struct hv_syscall_memory m;

	ck_assert(hv_syscall_memory_of(&call, &m));
	ck_assert(m.mask == 5 && !m.is_sized && hv_syscall_memory_nr(&m) == 2);
	call = (struct hv_syscall){.user_mask = 2, .user_size_arg = 5};
	ck_assert(hv_syscall_memory_of(&call, &m));
	ck_assert(m.mask == 2 && m.is_sized && m.size_arg == 5);
	call.user_size_arg = 6;
	ck_assert(!hv_syscall_memory_of(&call, &m));
	call = (struct hv_syscall){.user_mask = 0x8001, .user_size_arg = -1};
	ck_assert(!hv_syscall_memory_of(&call, &m));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, strings);
	tcase_add_test(tc, strings_that_cannot_be_read);
	tcase_add_test(tc, no_bytes_are_requested);
	tcase_add_test(tc, several_strings);
	tcase_add_test(tc, bytes);
	tcase_add_test(tc, nothing_was_read);
	tcase_add_test(tc, hostile_results);
	tcase_add_test(tc, memory_arguments_of_a_call);
}

int main(void)
{
	return run_suite("syscalls", add_tests);
}
