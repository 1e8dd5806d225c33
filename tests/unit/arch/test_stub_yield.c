/* What the guest's own ftrace reads sites by, the very bytes a guest gets, run in this process: a
 * function of ours stands for the kernel's reader. Runs on an x86-64 host only. */
#include <check.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "tests/lib/run_suite.h"

#define SITE_LEN 5

typedef long (*reader_fn)(void *to, const void *from, size_t len);

static const uint8_t nop[SITE_LEN] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static struct hv_control control;
static struct hv_params *params;
static uint8_t *code; /* of the stubs */
static uint8_t *site;
static reader_fn stub;

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

static void setup(void)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;
	uint8_t *pages = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_uint_lt(HV_STUBS_CODE_OFF + stubs->len_bytes, 0xf000);
	params = (struct hv_params *)pages;
	code = pages + HV_STUBS_CODE_OFF;
	site = pages + 0xf000;
	memcpy(code, stubs->code, stubs->len_bytes);
	stub = (reader_fn)(uintptr_t)(code + stubs->yields_off);
	control = (struct hv_control){0};
	*params = (struct hv_params){
		.control_gva = (uintptr_t)&control,
		.yield_reader_gva = (uintptr_t)reader,
	};
	memcpy(params->yield_nop, nop, SITE_LEN);
	memset(&reads, 0, sizeof(reads));
}

static void teardown(void)
{
	munmap(params, 0x10000);
}

static void site_calls(const uint8_t *target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva((uintptr_t)site), hv_gva((uintptr_t)target),
					     site));
}

/* What the guest sees of LEN bytes at the site; behind them nothing is written. */
static void check_sees(const uint8_t *bytes, size_t len)
{
	uint8_t to[16];

	memset(to, 0x5a, sizeof(to));
	ck_assert_int_eq(stub(to, site, len), 0);
	ck_assert_mem_eq(to, bytes, len);
	for (size_t i = len; i < sizeof(to); i++)
		ck_assert_uint_eq(to[i], 0x5a);
	ck_assert_ptr_eq(reads.from, site);
	ck_assert_uint_eq(reads.len, len);
}

START_TEST(a_site_of_ours_reads_as_it_was)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;

	site_calls(code);
	check_sees(nop, SITE_LEN);
	site_calls(code + stubs->len_bytes - 1);
	check_sees(nop, SITE_LEN);
	ck_assert_uint_eq(reads.nr, 2);
	ck_assert_uint_eq(control.looks, 2);
}
END_TEST

START_TEST(what_is_not_ours_reads_as_it_is)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;
	uint8_t bytes[16] = {0xe9, 1, 2, 3, 4, 5, 6, 7};

	site_calls(code + stubs->len_bytes);
	memcpy(bytes, site, SITE_LEN);
	check_sees(bytes, SITE_LEN);
	site_calls((uint8_t *)params - 1);
	memcpy(bytes, site, SITE_LEN);
	check_sees(bytes, SITE_LEN);
	site_calls(code);
	memcpy(bytes, site, SITE_LEN);
	bytes[0] = site[0] = 0xcc; /* the guest changes it right now */
	check_sees(bytes, SITE_LEN);
	site_calls(code);
	memcpy(bytes, site, sizeof(bytes)); /* no site is as long */
	check_sees(bytes, SITE_LEN + 3);
	check_sees(bytes, SITE_LEN - 1);
}
END_TEST

/* Who traces the reader sees by which it was called. */
START_TEST(each_place_has_an_entry)
{
	const struct hv_stub_image *stubs = &hv_arch_x86_64.stubs;

	site_calls(code);
	for (unsigned i = 0; i < HV_NR_YIELDS; i++) {
		uintptr_t entry = (uintptr_t)code + stubs->yields_off + i * stubs->yield_len_bytes;

		stub = (reader_fn)entry;
		check_sees(nop, SITE_LEN);
		ck_assert_uint_gt(reads.caller, entry);
		ck_assert_uint_lt(reads.caller, entry + stubs->yield_len_bytes);
	}
	ck_assert_uint_eq(reads.nr, HV_NR_YIELDS);
	ck_assert_uint_eq(control.looks, HV_NR_YIELDS);
}
END_TEST

START_TEST(a_read_that_fails_is_told)
{
	uint8_t to[SITE_LEN];

	site_calls(code);
	memcpy(to, site, sizeof(to));
	reads.result = -14;
	ck_assert_int_eq(stub(to, site, sizeof(to)), -14);
	ck_assert_mem_eq(to, site, sizeof(to));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_site_of_ours_reads_as_it_was);
	tcase_add_test(tc, what_is_not_ours_reads_as_it_is);
	tcase_add_test(tc, each_place_has_an_entry);
	tcase_add_test(tc, a_read_that_fails_is_told);
}

int main(void)
{
	return run_suite("stub_yield", add_tests);
}
