/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampoline through which the guest's own ftrace reads sites, with the code bytes that a guest
 * gets, run in this process (bench/native.h). A test function replaces the kernel's reader. Runs on
 * an x86-64 host only. */
#include <check.h>
#include <string.h>

#include "bench/native.h"
#include "tests/lib/run_suite.h"

#define SITE_LEN 5

typedef long (*reader_fn)(void *to, const void *from, size_t len);

static const uint8_t nop[SITE_LEN] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static struct world *world;
static const uint8_t *code; /* of the trampolines */
static uint8_t *site;
static reader_fn trampoline;

static struct {
	unsigned nr;
	const void *from;
	size_t len;
	long result;
	uintptr_t caller;
} reads;

static long reader(void *to, const void *from, size_t len)
{
	reads.nr++;
	reads.from = from;
	reads.len = len;
	reads.caller = (uintptr_t)__builtin_return_address(0);
	if (!reads.result)
		memcpy(to, from, len);
	return reads.result;
}

static void bare_return(const struct world *w)
{
	(void)w;
}

static void thunk(const struct world *w)
{
	w->values->return_thunk = world_gva(w, WORLD_THUNK_OFF);
}

static void set_up_as(void (*prepare)(const struct world *w))
{
	const struct world_case c = {"", 0, 0, prepare};

	world_set_up(world, &c);
	world_params(world)->ftrace_reader_gva = (uintptr_t)reader;
	memcpy(world_params(world)->ftrace_nop, nop, SITE_LEN);
	memset(&reads, 0, sizeof(reads));
	code = world->host + WORLD_CODE_OFF;
	site = world->host + WORLD_TRACED_OFF;
	trampoline = (reader_fn)(uintptr_t)(code + hv_arch_x86_64.trampolines.ftrace_readers_off);
}

static void set_up(void)
{
	const char *lack = NULL;

	world = native_new(64, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
	set_up_as(bare_return);
}

static void tear_down(void)
{
	native_free(world);
}

static void site_calls(const uint8_t *target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva((uintptr_t)site), hv_gva((uintptr_t)target),
					     site));
}

/* Checks the LEN bytes that the guest reads at the site, and that nothing is written after them. */
static void check_sees(const uint8_t *bytes, size_t len)
{
	uint8_t to[16];

	memset(to, 0x5a, sizeof(to));
	ck_assert_int_eq(trampoline(to, site, len), 0);
	ck_assert_mem_eq(to, bytes, len);
	for (size_t i = len; i < sizeof(to); i++)
		ck_assert_uint_eq(to[i], 0x5a);
	ck_assert_ptr_eq(reads.from, site);
	ck_assert_uint_eq(reads.len, len);
}

/* A site belongs to hvtrace if it calls the trampolines' code or the page of params before it. */
START_TEST(a_patched_site_reads_as_a_nop)
{
	set_up_as(_i ? thunk : bare_return);
	site_calls(code);
	check_sees(nop, SITE_LEN);
	site_calls(code + HV_TRAMPOLINES_LEN_MAX - 1);
	check_sees(nop, SITE_LEN);
	site_calls(code - HV_TRAMPOLINES_CODE_OFF);
	check_sees(nop, SITE_LEN);
	ck_assert_uint_eq(reads.nr, 3);
	ck_assert_uint_eq(world_control(world)->looks, 3);
}
END_TEST

START_TEST(unpatched_code_reads_unchanged)
{
	uint8_t bytes[16];

	site_calls(code + HV_TRAMPOLINES_LEN_MAX);
	memcpy(bytes, site, SITE_LEN);
	check_sees(bytes, SITE_LEN);
	site_calls(code - HV_TRAMPOLINES_CODE_OFF - 1);
	memcpy(bytes, site, SITE_LEN);
	check_sees(bytes, SITE_LEN);
	site_calls(code);
	memcpy(bytes, site, SITE_LEN);
	bytes[0] = site[0] = 0xcc; /* the guest is just changing it */
	check_sees(bytes, SITE_LEN);
	site_calls(code);
	memcpy(bytes, site, sizeof(bytes)); /* longer than any site */
	check_sees(bytes, SITE_LEN + 3);
	check_sees(bytes, SITE_LEN - 1);
}
END_TEST

/* From a site that calls a chain, the guest reads its own call, however far its target is. */
START_TEST(a_chain_reads_as_the_guest_call)
{
	static const int64_t distances[] = {0x100, -0x2000, 0x7000000, -0x7000000};

	for (unsigned i = 0; i < 4; i++) {
		struct hv_gva target = hv_gva((uintptr_t)site + (uint64_t)distances[i]);
		struct hv_gva called = world_gva(
			world, WORLD_CODE_OFF + hv_arch_x86_64.trampolines.chain_function_off);
		int how = i / 2 ? HV_CHAIN_JUMPS : HV_CHAIN_CALLS;
		uint8_t bytes[SITE_LEN];

		set_up_as(i % 2 ? thunk : bare_return);
		ck_assert(hv_arch_x86_64.encode_chain(world_gva(world, WORLD_CHAIN_OFF),
						      &(struct hv_chain){called, how, target},
						      world->host + WORLD_CHAIN_OFF));
		site_calls(world->host + WORLD_CHAIN_OFF);
		ck_assert(hv_arch_x86_64.encode_call(hv_gva((uintptr_t)site), target, bytes));
		check_sees(bytes, SITE_LEN);
		site_calls(world->host + WORLD_CHAIN_OFF + HV_CHAIN_LEN); /* not a chain */
		check_sees(nop, SITE_LEN);
	}
}
END_TEST

/* The reader's return address is inside the entry and so identifies the call. */
START_TEST(each_read_call_has_an_entry)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;

	site_calls(code);
	for (unsigned i = 0; i < HV_NR_FTRACE_READERS; i++) {
		uintptr_t entry = (uintptr_t)code + trampolines->ftrace_readers_off +
				  i * trampolines->ftrace_reader_len_bytes;

		trampoline = (reader_fn)entry;
		check_sees(nop, SITE_LEN);
		ck_assert_uint_gt(reads.caller, entry);
		ck_assert_uint_lt(reads.caller, entry + trampolines->ftrace_reader_len_bytes);
	}
	ck_assert_uint_eq(reads.nr, HV_NR_FTRACE_READERS);
	ck_assert_uint_eq(world_control(world)->looks, HV_NR_FTRACE_READERS);
}
END_TEST

START_TEST(read_errors_are_returned)
{
	uint8_t to[SITE_LEN];

	site_calls(code);
	memcpy(to, site, sizeof(to));
	reads.result = -14;
	ck_assert_int_eq(trampoline(to, site, sizeof(to)), -14);
	ck_assert_mem_eq(to, site, sizeof(to));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, a_patched_site_reads_as_a_nop, 0, 2);
	tcase_add_test(tc, a_chain_reads_as_the_guest_call);
	tcase_add_test(tc, unpatched_code_reads_unchanged);
	tcase_add_test(tc, each_read_call_has_an_entry);
	tcase_add_test(tc, read_errors_are_returned);
}

int main(void)
{
	return run_suite("trampoline_ftrace_reader", add_tests);
}
