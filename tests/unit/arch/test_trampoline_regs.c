/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The action that records the registers of a call, with the code bytes that a guest gets, run in
 * this process (bench/native.h). x86-64. */
#include <check.h>
#include <string.h>

#include "bench/native.h"
#include "ringbuf/ring.h"
#include "tests/lib/regs_call.h"
#include "tests/lib/run_suite.h"

#define NR_SLOTS 64
#define NR_REGS	 REGS_CALL_NR
#define NR_DATA	 6 /* data records: HV_REGS_WORDS words */

static const char *const names[NR_REGS] = {"bx", "cx", "dx",  "si",  "di",  "bp",
					   "r8", "r9", "r12", "r13", "r14", "r15"};
static struct world *world;

static void set_up_ring(uint64_t nr_slots)
{
	const char *lack = NULL;

	world = native_new(nr_slots, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
}

static void set_up(void)
{
	set_up_ring(NR_SLOTS);
}

static void tear_down(void)
{
	native_free(world);
}

static struct hv_record record_at(uint64_t position)
{
	struct hv_record r = world_ring(world, 0)[position % world->nr_slots];

	for (unsigned i = 0; i < 4; i++)
		r.word[i] ^= hv_record_key(position, world->nr_slots);
	return r;
}

static unsigned kind_at(uint64_t position)
{
	struct hv_record r = record_at(position);

	return r.word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;
}

/* Returns the words of the entry whose first record is at POSITION. */
static void words_at(uint64_t position, uint64_t *ret)
{
	uint8_t bytes[NR_DATA * HV_DATA_LEN];

	for (unsigned n = 0; n < NR_DATA; n++) {
		struct hv_record r = record_at(position + n);
		uint64_t first = r.word[1] | r.word[3] >> HV_DATA_FIRST_SHIFT << HV_WORD_BITS;
		uint64_t second = r.word[2] | r.word[3] >> HV_DATA_SECOND_SHIFT << HV_WORD_BITS;
		uint32_t third = (uint32_t)r.word[3];

		ck_assert_uint_eq(kind_at(position + n), HV_RECORD_DATA);
		memcpy(bytes + n * HV_DATA_LEN, &first, 8);
		memcpy(bytes + n * HV_DATA_LEN + 8, &second, 8);
		memcpy(bytes + n * HV_DATA_LEN + 16, &third, 4);
	}
	_Static_assert(sizeof(bytes) == 8 * HV_REGS_WORDS, "it is full");
	memcpy(ret, bytes, sizeof(bytes));
}

/* Calls the site with registers derived from SEED. */
static void call(uint64_t seed, uint64_t *in, uint64_t *out)
{
	for (unsigned i = 0; i < NR_REGS; i++)
		in[i] = seed * 0x9e3779b97f4a7c15 + i * 0x0123456789abcdef;
	regs_call(world_gva(world, WORLD_TRACED_OFF).v, in, out);
	for (unsigned i = 0; i < NR_REGS; i++)
		ck_assert_msg(in[i] == out[i], "%s is not kept", names[i]);
}

static void check(uint64_t position, const uint64_t *in, const uint64_t *out)
{
	struct hv_record event = record_at(position + NR_DATA);
	uint64_t words[HV_REGS_WORDS];

	words_at(position, words);
	ck_assert_uint_eq(kind_at(position + NR_DATA), HV_RECORD_EVENT);
	ck_assert_uint_eq((uint32_t)event.word[1],
			  HV_EVENT_ID_REGS | (8 + 8 * HV_REGS_WORDS) << HV_EVENT_LEN_SHIFT);
	ck_assert_uint_eq(event.word[2] >> HV_CALL_PID_SHIFT & UINT32_MAX,
			  world_cpu(world)->cat.pid);
	ck_assert_uint_eq((uint32_t)event.word[3], world_cpu(world)->preempt_count);
	ck_assert_uint_eq(event.word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX, NR_DATA);
	ck_assert_uint_eq(words[HV_REGS_SITE], world_gva(world, WORLD_TRACED_OFF).v);
	ck_assert_uint_eq(words[HV_REGS_STACK], out[NR_REGS]);
	ck_assert_uint_eq(words[HV_REGS_STACK_WORD], out[NR_REGS + 1]);
	for (unsigned i = 0; i < NR_REGS; i++) {
		struct hv_arch_register found;

		ck_assert(hv_arch_x86_64.find_register(names[i], &found));
		ck_assert_uint_eq(words[found.word], in[i]);
		ck_assert_uint_eq(found.addend, 0);
	}
}

START_TEST(calls_record_all_registers)
{
	uint64_t in[NR_REGS], out[NR_REGS + 2];

	world_call_action(world, HV_DOES_REGS);
	for (uint64_t n = 0; n < 8; n++) {
		call(n, in, out);
		check(8 * n, in, out);
		ck_assert_uint_eq(kind_at(8 * n + 7), HV_RECORD_FUNCTION);
	}
	ck_assert_uint_eq(world_head(world, 0), 64);
}
END_TEST

START_TEST(a_task_record_precedes_the_registers)
{
	uint64_t in[NR_REGS], out[NR_REGS + 2];

	world_call_action(world, HV_DOES_REGS);
	world_state(world, 0)->last_pid = 0;
	call(1, in, out);
	ck_assert_uint_eq(kind_at(0), HV_RECORD_TASK);
	check(1, in, out);
}
END_TEST

START_TEST(mode_and_filters_decide)
{
	uint64_t in[NR_REGS], out[NR_REGS + 2];

	world_call_action(world, HV_DOES_REGS);
	world_control(world)->mode = HV_MODE_OFF;
	call(1, in, out);
	ck_assert_uint_eq(world_head(world, 0), 0);
	world_control(world)->mode = HV_MODE_CPUS;
	world_state(world, 0)->muted = 1;
	call(2, in, out);
	ck_assert_uint_eq(world_head(world, 0), 0);
	world_state(world, 0)->muted = 0;
	call(3, in, out);
	check(0, in, out);
}
END_TEST

START_TEST(registers_combine_with_other_actions)
{
	uint64_t in[NR_REGS], out[NR_REGS + 2];

	world_call_action(world, HV_DOES_REGS | HV_DOES_ON | HV_DOES_REPORT);
	world_control(world)->mode = HV_MODE_OFF;
	call(1, in, out);
	check(0, in, out);
	ck_assert_uint_eq(kind_at(7), HV_RECORD_COMMAND);
	ck_assert_uint_eq(kind_at(8), HV_RECORD_FUNCTION);
}
END_TEST

START_TEST(a_small_ring_has_no_room)
{
	uint64_t in[NR_REGS], out[NR_REGS + 2];

	tear_down();
	set_up_ring(8);
	world_call_action(world, HV_DOES_REGS);
	call(1, in, out);
	ck_assert_uint_eq(kind_at(0), HV_RECORD_FUNCTION);
	ck_assert_uint_eq(world_head(world, 0), 1);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
}
END_TEST

START_TEST(register_names_are_found)
{
	static const char *const others[] = {"ax", "r10", "r11", "flags", "rax", "", "bx "};
	struct hv_arch_register found;

	for (unsigned i = 0; i < HV_ARRAY_LEN(others); i++)
		ck_assert_msg(!hv_arch_x86_64.find_register(others[i], &found), "%s", others[i]);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert(hv_arch_x86_64.find_any_register(others[i], &found));
		ck_assert_uint_eq(found.word, HV_REGS_WORDS + i);
	}
	ck_assert(!hv_arch_x86_64.find_any_register("rax", &found));
	ck_assert(hv_arch_x86_64.find_any_register("r15", &found));
	ck_assert_uint_eq(found.word, HV_REGS_WORDS - 1);
	ck_assert(hv_arch_x86_64.find_register("ip", &found));
	ck_assert_uint_eq(found.word, HV_REGS_SITE);
	ck_assert_uint_eq(found.addend, 1);
	ck_assert(hv_arch_x86_64.find_register("sp", &found));
	ck_assert_uint_eq(found.word, HV_REGS_STACK);
	ck_assert(hv_arch_x86_64.find_register("cs", &found));
	ck_assert_uint_eq(found.word, HV_ARCH_NO_WORD);
	ck_assert_uint_eq(found.addend, 0x10);
	ck_assert(hv_arch_x86_64.find_register("orig_ax", &found));
	ck_assert(found.word == HV_ARCH_NO_WORD && found.addend == 0);
	ck_assert(hv_arch_x86_64.find_any_register("orig_ax", &found));
	ck_assert(found.word == HV_ARCH_NO_WORD && found.addend == -1);
	ck_assert(hv_arch_x86_64.find_return_register("orig_ax", &found));
	ck_assert(found.word == HV_ARCH_NO_WORD && found.addend == -1);
	ck_assert(hv_arch_x86_64.has_register("orig_ax"));
	ck_assert(hv_arch_x86_64.has_register("ax") && hv_arch_x86_64.has_register("bx"));
	ck_assert(!hv_arch_x86_64.has_register("rax"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, calls_record_all_registers);
	tcase_add_test(tc, a_task_record_precedes_the_registers);
	tcase_add_test(tc, mode_and_filters_decide);
	tcase_add_test(tc, registers_combine_with_other_actions);
	tcase_add_test(tc, a_small_ring_has_no_room);
	tcase_add_test(tc, register_names_are_found);
}

int main(void)
{
	return run_suite("trampoline_regs", add_tests);
}
