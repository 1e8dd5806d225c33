/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes records: the words of ringbuf/abi_bits.h as the trampolines write them, without a key. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"
#include "tracer/events/names.h"

static struct hv_context context; /* the result of decode_context() */
static uint32_t got_preempt_count;
static uint16_t got_cpu_flags, got_thread_flags, got_mask;

static struct hv_context decode_context(uint32_t preempt_count, uint16_t cpu_flags,
					uint16_t thread_flags, struct hv_context_bits bits)
{
	got_preempt_count = preempt_count;
	got_cpu_flags = cpu_flags;
	got_thread_flags = thread_flags;
	got_mask = bits.need;
	return context;
}

static struct hv_call_addresses decode_call(uint64_t word)
{
	return hv_arch_x86_64.decode_call(word);
}

#define SITE_LEN    5
#define NEED	    0x1000 /* a mask of the thread flags */
#define FLAGS_SHIFT hv_resched_shift(decode.context_bits)

static const struct hv_arch arch = {.site_len_bytes = SITE_LEN,
				    .decode_call = decode_call,
				    .decode_context = decode_context,
				    .trampolines = {.ftrace_reader_len_bytes = 16}};
static const struct hv_decode decode = {
	.arch = &arch,
	.text_base = {0xffffffff00000000},
	.context_bits = {.need = NEED},
	.handler = {0xffffffffa0001300},
	.ftrace_readers = {0xffffffffa0001400},
	.ftrace_reader_callers = {
		{0}, {0xffffffff81000ff5}, [HV_NR_FTRACE_READERS - 1] = {0xffffffff81000fe5}}};

#define SITE   UINT64_C(0xffffffff81012345)
#define CALLER UINT64_C(0xffffffffc0a01235)
#define PID    UINT64_C(4711)
#define TASK   UINT64_C(0x345678)

/* Word 1 of a call. */
#define CALL_WORD(site, caller) (((site) + SITE_LEN) ^ (caller) << HV_CALLER_SHIFT)
#define KIND(kind)		((uint64_t)(kind) << HV_RECORD_KIND_SHIFT)
#define DEPTH(depth)		((uint64_t)(depth) << HV_RECORD_DEPTH_SHIFT)
#define CONTEXT			(UINT64_C(0x0246) << 32 | 0x80010203)

static const struct hv_record function = {{
	0x3123456789abcdef,
	CALL_WORD(SITE, CALLER),
	PID << HV_CALL_PID_SHIFT | 0xbe << 8 | 3,
	KIND(HV_RECORD_FUNCTION) | CONTEXT,
}};

static const struct hv_record task = {{
	99,
	0x3837363534333231,
	0x0065646362613039,
	KIND(HV_RECORD_TASK) | TASK,
}};

/* Bits that a ring clears must be 0. */
static void check_zeros(const struct hv_record *record)
{
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(record->word[i] & HV_RECORD_ZEROS, 0);
}

START_TEST(a_function_record_has_its_parts)
{
	struct hv_event event;

	check_zeros(&function);
	hv_decode_event(&decode, &function, NULL, &event);
	ck_assert_uint_eq(hv_record_tsc(&function), 0x3123456789abcdef);
	ck_assert_int_eq(event.kind, HV_EVENT_FUNCTION);
	ck_assert_uint_eq(event.pid, PID);
	ck_assert_uint_eq(event.ip.v, SITE);
	ck_assert_uint_eq(event.parent_ip.v, CALLER);
	ck_assert_uint_eq(event.migrate_depth, 3);
	ck_assert_uint_eq(got_preempt_count, 0x80010203);
	ck_assert_uint_eq(got_cpu_flags, 0x246);
	ck_assert_uint_eq(got_thread_flags, 0xbe << FLAGS_SHIFT);
	ck_assert_uint_eq(got_mask, NEED);
	ck_assert_uint_eq(event.lost_before, 0);
}
END_TEST

/* A base of kernel text that differs from x86-64's. */
START_TEST(addresses_of_text_are_offsets_from_the_base)
{
	struct hv_decode d = decode;
	struct hv_stack_words words;
	struct hv_event event;

	d.text_base = hv_gva(0xffff800012345000);
	hv_decode_event(&d, &function, NULL, &event);
	ck_assert_uint_eq(event.ip.v, 0xffff800012345000 + 0x81012345);
	ck_assert_uint_eq(event.parent_ip.v, 0xffff800012345000 + 0xc0a01235);
	d.handler = event.parent_ip;
	hv_decode_event(&d, &function, NULL, &event);
	ck_assert_uint_eq(event.parent_ip.v, 0);
	hv_decode_words(&d, (struct hv_record[1]){0}, 1, &words);
	ck_assert_uint_eq(words.text_base.v, d.text_base.v);
}
END_TEST

START_TEST(lazy_preemption_is_decoded)
{
	struct hv_record lazy = function;
	struct hv_event event;

	hv_decode_event(&decode, &lazy, NULL, &event);
	ck_assert_uint_eq(event.lazy_depth, 0);
	ck_assert(!(event.flags & HV_TRACE_NEED_RESCHED_LAZY));
	lazy.word[2] |= UINT64_C(0x12) << HV_CALL_LAZY_SHIFT | UINT64_C(1) << HV_CALL_LAZY_ASKED;
	hv_decode_event(&decode, &lazy, NULL, &event);
	ck_assert_uint_eq(event.lazy_depth, 0x12);
	ck_assert(event.flags & HV_TRACE_NEED_RESCHED_LAZY);
	ck_assert_uint_eq(event.migrate_depth, 3);
	ck_assert_uint_eq(got_thread_flags, 0xbe << FLAGS_SHIFT);
}
END_TEST

START_TEST(an_entry_has_its_depth)
{
	struct hv_record record = function;
	struct hv_event event;

	record.word[3] = KIND(HV_RECORD_ENTRY) | DEPTH(HV_RECORD_DEPTH_MAX - 1) | CONTEXT;
	hv_decode_event(&decode, &record, NULL, &event);
	ck_assert_int_eq(event.kind, HV_EVENT_GRAPH_ENTRY);
	ck_assert(hv_record_is_event(&record));
	ck_assert_uint_eq(event.pid, PID);
	ck_assert_uint_eq(event.ip.v, SITE);
	ck_assert_uint_eq(event.parent_ip.v, CALLER);
	ck_assert_uint_eq(event.depth, HV_RECORD_DEPTH_MAX - 1);
	ck_assert_uint_eq(got_cpu_flags, 0x246);

	record.word[1] = CALL_WORD(SITE, decode.handler.v);
	hv_decode_event(&decode, &record, NULL, &event);
	ck_assert_uint_eq(event.parent_ip.v, 0);
}
END_TEST

/* The tracepoint has disabled preemption. The event's context must not show that. */
START_TEST(a_guest_event_has_its_context)
{
	struct hv_record record = function;
	struct hv_decode d = decode;
	struct hv_event event;

	record.word[1] = 314 | 48u << HV_EVENT_LEN_SHIFT;
	record.word[3] = KIND(HV_RECORD_EVENT) | DEPTH(2) | CONTEXT;
	check_zeros(&record);
	ck_assert(hv_record_is_event(&record));
	context.preempt_depth = 3;
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_int_eq(event.kind, HV_EVENT_GUESTS);
	ck_assert_uint_eq(event.id, 314);
	ck_assert_uint_eq(event.pid, PID);
	ck_assert_uint_eq(event.ip.v, 0);
	ck_assert_uint_eq(event.parent_ip.v, 0);
	ck_assert_uint_eq(event.migrate_depth, 3);
	ck_assert_uint_eq(event.preempt_depth, 3);
	d.callback_preempt_depth = 1;
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 2);
	context.preempt_depth = 0; /* an untrusted value */
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 0);
	context.preempt_depth = 3;
	record.word[3] ^= KIND(HV_RECORD_EVENT);
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 3);
	context.preempt_depth = 0;
}
END_TEST

/* The kernel's own system call events show the preempt count inside the callback. */
START_TEST(an_event_that_the_host_makes_has_its_context)
{
	const uint8_t entry[8] = {0};
	struct hv_record raw = function, made;
	struct hv_decode d = decode;
	struct hv_event event, own = {.id = 314, .entry = {entry, 8}};

	raw.word[1] = 20 | 64u << HV_EVENT_LEN_SHIFT | UINT64_C(1) << HV_EVENT_COMPAT_BIT;
	raw.word[3] = KIND(HV_RECORD_EVENT) | CONTEXT;
	d.callback_preempt_depth = 1;
	context.preempt_depth = 3;
	hv_decode_event(&d, &raw, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 2);
	ck_assert(event.is_compat);
	hv_encode_entry(&raw, &own, &made);
	hv_decode_event(&d, &made, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 3);
	ck_assert(event.is_compat);
	ck_assert_uint_eq(event.id, 314);
	ck_assert_uint_eq(event.pid, PID);
	own.deeper = 2;
	hv_encode_entry(&raw, &own, &made);
	hv_decode_event(&d, &made, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 5);
	d.callback_preempt_depth = 0;
	hv_decode_event(&d, &made, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 3);
	/* Where callbacks may sleep, these events show the same depth as all others. */
	d.callback_preempt_depth = 1;
	own.deeper = 0;
	own.is_as_deep = 1;
	hv_encode_entry(&raw, &own, &made);
	hv_decode_event(&d, &made, NULL, &event);
	ck_assert_uint_eq(event.preempt_depth, 2);
	context.preempt_depth = 0;
}
END_TEST

static uint64_t parent_shown(uint64_t parent)
{
	struct hv_record record = function;
	struct hv_event event;

	record.word[1] = CALL_WORD(SITE, parent);
	check_zeros(&record);
	hv_decode_event(&decode, &record, NULL, &event);
	ck_assert_uint_eq(event.ip.v, SITE);
	return event.parent_ip.v;
}

/* Addresses anywhere in the last 2 GiB, odd or even. */
START_TEST(a_call_has_its_site_and_its_caller)
{
	static const uint64_t addresses[] = {0xffffffff80000000, 0xffffffff80000001,
					     0xffffffffbfffffff, 0xffffffffc0000000,
					     0xfffffffffffffffa};

	for (size_t i = 0; i < HV_ARRAY_LEN(addresses) * HV_ARRAY_LEN(addresses); i++) {
		uint64_t site = addresses[i / HV_ARRAY_LEN(addresses)];
		uint64_t caller = addresses[i % HV_ARRAY_LEN(addresses)];
		struct hv_record record = function;
		struct hv_event event;

		record.word[1] = CALL_WORD(site, caller);
		check_zeros(&record);
		hv_decode_event(&decode, &record, NULL, &event);
		ck_assert_uint_eq(event.ip.v, site);
		ck_assert_uint_eq(event.parent_ip.v, caller);
	}
}
END_TEST

START_TEST(the_caller_of_a_read_for_ftrace_is_shown_as_ftrace)
{
	const uint64_t readers = decode.ftrace_readers.v;

	ck_assert_uint_eq(parent_shown(readers - 1), readers - 1);
	ck_assert_uint_eq(parent_shown(readers + 5), 0); /* the first reader has no caller */
	ck_assert_uint_eq(parent_shown(readers + 16), 0xffffffff81000ff5);
	ck_assert_uint_eq(parent_shown(readers + 31), 0xffffffff81000ff5);
	ck_assert_uint_eq(parent_shown(readers + 16ull * HV_NR_FTRACE_READERS - 11),
			  0xffffffff81000fe5);
	ck_assert_uint_eq(parent_shown(readers + 16ull * HV_NR_FTRACE_READERS),
			  readers + 16ull * HV_NR_FTRACE_READERS);
}
END_TEST

START_TEST(an_exit_has_its_time_and_value)
{
	struct hv_record exit = {{
		0x3123456789abcdef,
		0x3123456789000000,
		PID << HV_EXIT_PID_SHIFT | (uint32_t)(SITE + SITE_LEN),
		KIND(HV_RECORD_EXIT) | DEPTH(3) | CONTEXT,
	}};
	const uint64_t value = (uint64_t)-14;
	struct hv_record more = {{
		0x3123456789abcdef,
		value & ~HV_RECORD_ZEROS,
		value >> HV_WORD_BITS << HV_MORE_TOP_SHIFT | UINT64_C(1) << HV_MORE_VALUE_SHIFT |
			77,
		KIND(HV_RECORD_MORE),
	}};
	struct hv_event event;

	check_zeros(&exit);
	check_zeros(&more);
	hv_decode_event(&decode, &exit, NULL, &event);
	ck_assert_int_eq(event.kind, HV_EVENT_GRAPH_EXIT);
	ck_assert_uint_eq(event.pid, PID);
	ck_assert_uint_eq(event.ip.v, SITE);
	ck_assert_uint_eq(event.depth, 3);
	ck_assert_uint_eq(event.has_retval, 0);
	ck_assert_uint_eq(hv_record_call_tsc(&exit), 0x3123456789000000);
	ck_assert(hv_record_is_event(&exit));
	ck_assert(!hv_record_is_event(&more));

	hv_decode_event(&decode, &exit, &more, &event);
	ck_assert_uint_eq(event.has_retval, 1);
	ck_assert_uint_eq(event.retval, value);
	ck_assert_uint_eq(event.overrun, 77);
	ck_assert_uint_eq(event.host_ns, 0);
	more.word[3] |= (UINT64_C(1) << HV_MORE_HOST_BITS) - 2;
	hv_decode_event(&decode, &exit, &more, &event);
	ck_assert_uint_eq(event.host_ns, (UINT64_C(1) << HV_MORE_HOST_BITS) - 2);
	more.word[2] &= ~(UINT64_C(1) << HV_MORE_VALUE_SHIFT);
	hv_decode_event(&decode, &exit, &more, &event);
	ck_assert_uint_eq(event.has_retval, 0);

	/* No call begins after its return. */
	exit.word[1] = exit.word[0] + 1;
	ck_assert_uint_eq(hv_record_call_tsc(&exit), exit.word[0]);
}
END_TEST

START_TEST(each_state_has_its_flag)
{
	static const struct {
		struct hv_context context;
		uint8_t flags;
	} cases[] = {
		{{0}, 0},
		{{.flags = HV_CONTEXT_IRQS_OFF}, HV_TRACE_IRQS_OFF},
		{{.flags = HV_CONTEXT_NEED_RESCHED}, HV_TRACE_NEED_RESCHED},
		{{.flags = HV_CONTEXT_NEED_RESCHED_LAZY}, HV_TRACE_NEED_RESCHED_LAZY},
		{{.flags = HV_CONTEXT_PREEMPT_RESCHED}, HV_TRACE_PREEMPT_RESCHED},
		{{.flags = HV_CONTEXT_NMI}, HV_TRACE_NMI},
		{{.flags = HV_CONTEXT_HARDIRQ}, HV_TRACE_HARDIRQ},
		{{.flags = HV_CONTEXT_SOFTIRQ}, HV_TRACE_SOFTIRQ},
		{{.flags = HV_CONTEXT_BH_OFF}, HV_TRACE_BH_OFF},
		{{.flags = 0xff}, 0xff},
	};
	struct hv_event event;

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		context = cases[i].context;
		hv_decode_event(&decode, &function, NULL, &event);
		ck_assert_uint_eq(event.flags, cases[i].flags);
	}
}
END_TEST

START_TEST(depths_end_at_15)
{
	static const unsigned depths[][2] = {{0, 0},   {1, 1},	 {14, 14},
					     {15, 15}, {16, 15}, {255, 15}};
	struct hv_event event;

	for (size_t i = 0; i < HV_ARRAY_LEN(depths); i++) {
		struct hv_record record = function;

		context = (struct hv_context){.preempt_depth = (uint8_t)depths[i][0]};
		record.word[2] = depths[i][0];
		hv_decode_event(&decode, &record, NULL, &event);
		ck_assert_uint_eq(event.preempt_depth, depths[i][1]);
		ck_assert_uint_eq(event.migrate_depth, depths[i][1]);
	}
}
END_TEST

START_TEST(known_and_unknown_record_kinds)
{
	for (unsigned kind = 0; kind <= HV_RECORD_KIND_MASK; kind++) {
		struct hv_record record = {{0, 0, 0, KIND(kind) | (KIND(1) - 1)}};

		check_zeros(&record);
		ck_assert_uint_eq(hv_record_kind(&record),
				  kind <= HV_RECORD_EVENT || kind == HV_RECORD_SECTION
					  ? kind
					  : HV_RECORD_UNKNOWN);
	}
}
END_TEST

static bool find_detoured(void *ctx, uint32_t low_bits, struct hv_gva *ret)
{
	*ret = hv_gva(SITE + 100);
	return ctx == &decode && low_bits == (uint32_t)SITE + SITE_LEN;
}

/* The end of a section is at the instruction that its detour replaces. An unknown instruction is 0,
 * as is a caller that the trampoline did not know. */
START_TEST(ends_of_sections)
{
	const uint64_t own = DEPTH(3u << (HV_STACK_SECTION_BIT - HV_RECORD_DEPTH_SHIFT));
	struct hv_decode d = decode;
	struct hv_record record = function;
	struct hv_event event;

	record.word[3] = KIND(HV_RECORD_SECTION) | CONTEXT;
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_uint_eq(event.ip.v, 0);
	d.find_detoured = find_detoured;
	d.detours = (void *)&decode;
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_int_eq(event.kind, HV_EVENT_FUNCTION);
	ck_assert_uint_eq(event.of_section, HV_SECTION_BEGINS);
	ck_assert_uint_eq(event.ip.v, SITE + 100);
	ck_assert_uint_eq(event.parent_ip.v, CALLER);
	ck_assert_uint_eq(event.pid, PID);
	record.word[3] |= DEPTH(1);
	record.word[1] = CALL_WORD(SITE, UINT64_C(0xffffffff80000000));
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_uint_eq(event.of_section, HV_SECTION_ENDS);
	ck_assert_uint_eq(event.parent_ip.v, 0);
	record.word[3] = KIND(HV_RECORD_STACK) | own;
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_int_eq(event.kind, HV_EVENT_STACK);
	ck_assert_uint_eq(event.of_section, HV_SECTION_ENDS);
	ck_assert_uint_eq(event.ip.v, SITE + 100);
	record.word[3] = KIND(HV_RECORD_STACK);
	hv_decode_event(&d, &record, NULL, &event);
	ck_assert_uint_eq(event.of_section, 0);
	ck_assert_uint_eq(event.ip.v, SITE);
}
END_TEST

/* The deepest stack does not belong to a section. It belongs to a command only if the command asked
 * for it, too. */
START_TEST(the_deepest_stack)
{
	const uint64_t command = UINT64_C(1) << HV_STACK_COMMAND_BIT;
	const uint64_t deepest = UINT64_C(1) << HV_STACK_DEEPEST_BIT | command;
	struct hv_record record = function;
	struct hv_event event;

	record.word[3] = KIND(HV_RECORD_STACK) | deepest | UINT64_C(1) << HV_STACK_SECTION_BIT;
	hv_decode_event(&decode, &record, NULL, &event);
	ck_assert_int_eq(event.kind, HV_EVENT_STACK);
	ck_assert(event.is_deepest && !event.of_command && !event.of_section && !event.of_event);
	ck_assert_uint_eq(event.ip.v, SITE);
	record.word[3] = KIND(HV_RECORD_STACK) | deepest;
	hv_decode_event(&decode, &record, NULL, &event);
	ck_assert(event.is_deepest && event.of_command && !event.of_section && !event.of_event);
	record.word[3] = KIND(HV_RECORD_STACK) | command;
	hv_decode_event(&decode, &record, NULL, &event);
	ck_assert(!event.is_deepest && event.of_command);
}
END_TEST

/* A record has only the low bits of a stack address, so if they are below the start's, the upper
 * bits are one higher. Unused words of a record are 0. */
START_TEST(stack_words_get_their_addresses)
{
	const uint64_t start = 0x3fffc9000003fff0, second = 0x12345670;
	struct hv_record list[3] = {0};
	struct hv_stack_words words;

	list[0].word[1] = start;
	list[0].word[2] = 0x7ffffff8 | second >> 3 << HV_WORDS_SECOND_SHIFT;
	list[0].word[3] = KIND(HV_RECORD_WORDS) | 2;
	list[1].word[1] = 0x81000010 | (uint64_t)(0x3fff8 >> 3) << HV_WORD_ADDRESS_SHIFT;
	list[1].word[2] = 0x00040100 | (uint64_t)(0x00010 >> 3) << HV_WORD_ADDRESS_SHIFT;
	list[1].word[3] = 0x80000000 | (uint64_t)(0x05678 >> 3) << HV_WORD_ADDRESS_SHIFT |
			  UINT64_C(1) << HV_WORD_SECOND_BIT | DEPTH(1) | KIND(HV_RECORD_WORDS);
	list[2].word[3] = DEPTH(2) | KIND(HV_RECORD_WORDS);
	hv_decode_words(&decode, list, 3, &words);
	ck_assert_uint_eq(words.sp, 0x0003fff0);
	ck_assert_uint_eq(words.bp, 0x7ffffff8);
	ck_assert_uint_eq(words.nr, 3);
	ck_assert_uint_eq(words.list[0].at, 0x0003fff8);
	ck_assert_uint_eq(words.list[0].value, 0x01000010);
	ck_assert(words.list[0].is_text);
	ck_assert_uint_eq(words.list[1].at, 0x00040010);
	ck_assert_uint_eq(words.list[1].value, 0x00040100);
	ck_assert(!words.list[1].is_text);
	ck_assert_uint_eq(words.list[2].at, 0x12345678);
	ck_assert_uint_eq(words.list[2].value, 0);
	ck_assert(words.list[2].is_text);
}
END_TEST

START_TEST(a_task_record_has_pid_and_comm)
{
	char comm[HV_COMM_LEN];
	struct hv_record record = task;
	uint32_t pid;

	check_zeros(&task);
	hv_decode_task(&record, &pid, comm);
	ck_assert_uint_eq(pid, TASK);
	ck_assert_str_eq(comm, "1234567890abcde");
	ck_assert_uint_eq(hv_record_pid(&record), TASK);
	ck_assert_uint_eq(hv_record_tgid(&record), 0);
	record.word[3] |= UINT64_C(0x2aaaaa) << HV_TASK_TGID_SHIFT;
	ck_assert_uint_eq(hv_record_tgid(&record), 0x2aaaaa);
	ck_assert_uint_eq(hv_record_pid(&record), TASK);

	/* the byte whose top bits are stored elsewhere */
	record.word[3] |= UINT64_C(3) << HV_TASK_COMM7_SHIFT;
	hv_decode_task(&record, &pid, comm);
	ck_assert_uint_eq((uint8_t)comm[7], 0xc0 | '8');
	ck_assert_uint_eq(hv_record_tgid(&record), 0x2aaaaa);
}
END_TEST

START_TEST(any_bytes_decode)
{
	struct hv_record record;
	struct hv_event event;
	char comm[HV_COMM_LEN];
	uint32_t pid;

	memset(&record, 0xff, sizeof(record));
	hv_decode_event(&decode, &record, NULL, &event);
	ck_assert_uint_eq(event.ip.v, UINT64_MAX - SITE_LEN);
	ck_assert_uint_eq(event.parent_ip.v >> 32, UINT32_MAX);
	ck_assert_uint_eq(hv_record_kind(&record), HV_RECORD_UNKNOWN);
	hv_decode_task(&record, &pid, comm);
	ck_assert_int_eq(comm[15], 0);
	ck_assert_uint_eq(strlen(comm), 15);
}
END_TEST

START_TEST(names_as_the_kernel_prints_them)
{
	struct hv_event event = {.pid = 0};
	char full[HV_COMM_LEN] = "123456789012345";

	hv_event_set_comm(&event, "swapper/0");
	ck_assert_str_eq(event.comm, "<idle>");
	event.pid = 12;
	hv_event_set_comm(&event, NULL);
	ck_assert_str_eq(event.comm, "<...>");
	hv_event_set_comm(&event, full);
	ck_assert_str_eq(event.comm, full);
}
END_TEST

START_TEST(an_encoded_name_is_decoded)
{
	static const char comm[17] = "1234567\xf8"
				     "90abcde";
	struct hv_record record = hv_encode_task(99, TASK, 0x2aaaaa, comm);
	char got[HV_COMM_LEN];
	uint32_t pid;

	ck_assert_uint_eq(hv_record_kind(&record), HV_RECORD_TASK);
	for (unsigned i = 0; i < 4; i++)
		record.word[i] &= ~HV_RECORD_ZEROS; /* as a ring does */
	hv_decode_task(&record, &pid, got);
	ck_assert_uint_eq(hv_record_tgid(&record), 0x2aaaaa);
	ck_assert_uint_eq(pid, TASK);
	ck_assert_mem_eq(got, comm, 16);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_function_record_has_its_parts);
	tcase_add_test(tc, addresses_of_text_are_offsets_from_the_base);
	tcase_add_test(tc, lazy_preemption_is_decoded);
	tcase_add_test(tc, an_entry_has_its_depth);
	tcase_add_test(tc, a_guest_event_has_its_context);
	tcase_add_test(tc, an_event_that_the_host_makes_has_its_context);
	tcase_add_test(tc, a_call_has_its_site_and_its_caller);
	tcase_add_test(tc, the_caller_of_a_read_for_ftrace_is_shown_as_ftrace);
	tcase_add_test(tc, an_exit_has_its_time_and_value);
	tcase_add_test(tc, each_state_has_its_flag);
	tcase_add_test(tc, depths_end_at_15);
	tcase_add_test(tc, known_and_unknown_record_kinds);
	tcase_add_test(tc, ends_of_sections);
	tcase_add_test(tc, the_deepest_stack);
	tcase_add_test(tc, stack_words_get_their_addresses);
	tcase_add_test(tc, a_task_record_has_pid_and_comm);
	tcase_add_test(tc, any_bytes_decode);
	tcase_add_test(tc, names_as_the_kernel_prints_them);
	tcase_add_test(tc, an_encoded_name_is_decoded);
}

int main(void)
{
	return run_suite("decode", add_tests);
}
