/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of pprof. tests/files/run has pprof itself read it. */
#include <check.h>
#include <string.h>
#include <zlib.h>

#include "base/guard.h"
#include "profile/pprof.h"
#include "tests/lib/run_suite.h"

static const struct hv_pprof_file file = {"/a\xff", "b0", 0x100};

static uint32_t child(struct hv_chains *c, uint32_t parent, enum hv_chain_kind kind,
		      uint32_t number, uint64_t value, const char *name)
{
	uint32_t frame, node;

	if (kind == HV_CHAIN_GROUP)
		ck_assert(hv_chains_group(c, name, &frame));
	else
		ck_assert(hv_chains_frame(c, kind, number, value, &frame));
	if (!c->frames[frame].name)
		hv_chains_name(c, frame, hv_strdup(name));
	ck_assert(hv_chains_child(c, parent, frame, &node));
	return node;
}

static void hit(struct hv_chains *c, uint32_t parent, enum hv_chain_kind kind, uint32_t number,
		uint64_t value, const char *name, uint64_t nr)
{
	uint32_t node = child(c, parent, kind, number, value, name);

	c->nodes[node].self = nr;
}

/* Writes C, decompresses the result and compares it. */
static void check_message(const struct hv_chains *c, size_t max_bytes, bool is_complete,
			  const void *wanted, size_t len)
{
	const struct hv_pprof p = {&file, 1, 1, 7, 8};
	HV_AUTO_TEXT struct hv_text out = {0};
	uint8_t message[4096];
	z_stream z = {.next_out = message, .avail_out = sizeof(message)};

	ck_assert_int_eq(hv_pprof_write(c, &p, max_bytes, &out), is_complete);
	ck_assert_int_eq(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	z.next_in = (Bytef *)out.data;
	z.avail_in = (uInt)out.len_bytes;
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(z.avail_in, 0);
	inflateEnd(&z);
	ck_assert_mem_eq(message, wanted, z.total_out < len ? z.total_out : len);
	ck_assert_uint_eq(z.total_out, len);
}

#define CHECK_MESSAGE(c, max_bytes, is_complete, wanted)                                           \
	check_message(c, max_bytes, is_complete, wanted, sizeof(wanted) - 1)

#define SAMPLE_TYPE "\x0a\4\x08\1\x10\2" /* type and unit: strings 1 and 2 */
#define KERNEL                                                                                     \
	"\x08\1\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff" \
	"\1"
#define TIMES "\x48\7\x50\x08"

START_TEST(a_message)
{
	hv_cleanup(hv_chains_deinit) struct hv_chains c = {0};
	uint32_t a = child(&c, HV_CHAINS_ROOT, HV_CHAIN_GROUP, 0, 0, "a");
	uint32_t main = child(&c, a, HV_CHAIN_USER, 1, 0x10, "main");

	c.nodes[main].self = 300;
	CHECK_MESSAGE(&c, SIZE_MAX, true,
		      SAMPLE_TYPE
		      /* a sample: location 2, value 300, label 3 with value 4 */
		      "\x12\x0d\x0a\1\2\x12\2\xac\2\x1a\4\x08\3\x10\4"
		      /* location 2: in mapping 2, function 6 */
		      "\x22\x0a\x08\2\x10\2\x18\x10\x22\2\x08\6"
		      /* function 6: name 5 */
		      "\x2a\6\x08\6\x10\5\x18\5"
		      /* mappings: the kernel; 2, with file name 7 and build id 8 */
		      "\x1a\x1e" KERNEL "\x28\6\x30\0\x38\1"
		      "\x1a\x0d\x08\2\x10\0\x18\x80\2\x28\7\x30\x08\x38\1"
		      "\x32\0\x32\7samples\x32\5count\x32\4task\x32\1"
		      "a\x32\4main\x32\x11[kernel.kallsyms]\x32\3/a?\x32\2b0" TIMES);
}
END_TEST

/* The group in the chain is location 2. */
START_TEST(an_inner_group_is_a_function)
{
	hv_cleanup(hv_chains_deinit) struct hv_chains c = {.unit = HV_CHAIN_NS};
	uint32_t a = child(&c, HV_CHAINS_ROOT, HV_CHAIN_GROUP, 0, 0, "a");

	hit(&c, a, HV_CHAIN_GROUP, 0, 0, "b", 1);
	CHECK_MESSAGE(&c, SIZE_MAX, true,
		      SAMPLE_TYPE "\x12\x0c\x0a\1\2\x12\1\1\x1a\4\x08\3\x10\4"
				  "\x22\x08\x08\2\x18\0\x22\2\x08\6"
				  "\x2a\6\x08\6\x10\5\x18\5"
				  "\x1a\x1e" KERNEL "\x28\6\x30\0\x38\1"
				  "\x32\0\x32\4time\x32\x0bnanoseconds\x32\4task\x32\1"
				  "a\x32\1"
				  "b\x32\x11[kernel.kallsyms]" TIMES);
}
END_TEST

START_TEST(nothing_was_sampled)
{
	hv_cleanup(hv_chains_deinit) struct hv_chains c = {0};

	CHECK_MESSAGE(&c, SIZE_MAX, true,
		      SAMPLE_TYPE "\x1a\x1e" KERNEL "\x28\3\x30\0\x38\1"
				  "\x32\0\x32\7samples\x32\5count\x32\x11[kernel.kallsyms]" TIMES);
}
END_TEST

START_TEST(messages_are_bounded)
{
	hv_cleanup(hv_chains_deinit) struct hv_chains c = {.unit = HV_CHAIN_NS};

	/* The addresses are in no file and have no mapping. */
	hit(&c, HV_CHAINS_ROOT, HV_CHAIN_USER, 0, 1, "x", 1);
	hit(&c, HV_CHAINS_ROOT, HV_CHAIN_USER, 0, 2, "y", 1);
	CHECK_MESSAGE(&c, sizeof(SAMPLE_TYPE) + 2, false,
		      SAMPLE_TYPE "\x12\6\x0a\1\1\x12\1\1"
				  "\x22\x08\x08\1\x18\1\x22\2\x08\4"
				  "\x2a\6\x08\4\x10\3\x18\3"
				  "\x1a\x1e" KERNEL "\x28\4\x30\0\x38\1"
				  "\x32\0\x32\4time\x32\x0bnanoseconds\x32\1x"
				  "\x32\x11[kernel.kallsyms]" TIMES);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_message);
	tcase_add_test(tc, an_inner_group_is_a_function);
	tcase_add_test(tc, nothing_was_sampled);
	tcase_add_test(tc, messages_are_bounded);
}

int main(void)
{
	return run_suite("profile_pprof", add_tests);
}
