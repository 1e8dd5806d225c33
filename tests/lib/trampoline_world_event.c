/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases for event trampolines: a tracepoint's callback calls them with one of hvtrace's event
 * files and an entry of NR_DATA data records. tests/unit/arch/test_trampoline_event.c tests their
 * results. */
#include <assert.h>
#include <string.h>

#include "tests/lib/trampoline_world.h"

#define KERNEL_ADDRESS 0xffffffff81000000

#define LEN(nr_data) (HV_ENTRY_HEADER_LEN + (nr_data)*HV_DATA_LEN)

/* A callback: reserves an event with a buffer on the stack, and commits it. */
static const uint8_t probe[] = {
	0x48, 0x83, 0xec, 0x38,		 /* subq $0x38, %rsp */
	0x48, 0x89, 0xe7,		 /* movq %rsp, %rdi */
	0x48, 0xc7, 0xc6, 0,	0, 0, 0, /* movq $file, %rsi */
	0xba, 0,    0,	  0,	0,	 /* movl $length, %edx */
	0,    0,    0,	  0,	0,	 /* call reserve */
	0x48, 0x85, 0xc0,		 /* testq %rax, %rax */
	0x74, 0x08,			 /* jz over commit */
	0x48, 0x89, 0xe7,		 /* movq %rsp, %rdi */
	0,    0,    0,	  0,	0,	 /* call commit */
	0x48, 0x83, 0xc4, 0x38,		 /* addq $0x38, %rsp */
	0xc3,
};
#define FILE_AT	   10
#define LEN_AT	   15
#define RESERVE_AT 19
#define COMMIT_AT  32

void world_make_event(const struct world *w, uint64_t off, unsigned nr_data)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	uint32_t file = (uint32_t)world_gva(w, WORLD_FILES_OFF).v, len = LEN(nr_data);
	struct hv_gva code = world_gva(w, WORLD_CODE_OFF);
	uint8_t *to = w->host + off;
	bool reaches;

	memcpy(to, probe, sizeof(probe));
	memcpy(to + FILE_AT, &file, sizeof(file));
	memcpy(to + LEN_AT, &len, sizeof(len));
	reaches = hv_arch_x86_64.encode_call(world_gva(w, off + RESERVE_AT),
					     hv_gva_add(code, trampolines->event_reserve_off),
					     to + RESERVE_AT) &&
		  hv_arch_x86_64.encode_call(world_gva(w, off + COMMIT_AT),
					     hv_gva_add(code, trampolines->event_commit_off),
					     to + COMMIT_AT);
	assert(reaches);
	(void)reaches;
}

static void nothing_more(const struct world *w)
{
	(void)w;
}

static void other_task(const struct world *w)
{
	world_state(w, 0)->last_pid = 0;
}

static void off(const struct world *w)
{
	world_control(w)->mode = HV_MODE_OFF;
}

/* Gives the first file a filter of NR steps that are all executed. It passes if the task's pid is
 * not NOT_PID. */
static void filter(const struct world *w, unsigned nr, uint32_t not_pid)
{
	struct hv_event_file *file = (struct hv_event_file *)(w->host + WORLD_FILES_OFF);
	struct hv_filter_step *steps = (struct hv_filter_step *)(w->host + WORLD_FILTERS_OFF);

	for (unsigned i = 0; i < nr; i++)
		steps[i] = (struct hv_filter_step){
			.off = offsetof(struct hv_draft, entry) + 4,
			.holds = HV_FILTER_DROPS,
			.fails = i + 1 < nr ? sizeof(*steps) : HV_FILTER_PASSES,
			.low = not_pid + nr - 1 - i,
			.mask = UINT32_MAX,
		};
	file->filter = 1 << 16;
}

static void passes_one(const struct world *w)
{
	filter(w, 1, 1);
}

static void passes_four(const struct world *w)
{
	filter(w, 4, 1);
}

static void fails_one(const struct world *w)
{
	filter(w, 1, world_cpu(w)->cat.pid);
}

static void fails_four(const struct world *w)
{
	filter(w, 4, world_cpu(w)->cat.pid);
}

/* Gives the first file a program that reads a number from memory if the common type field of the
 * entry is ID. */
static void reads(const struct world *w, uint64_t id)
{
	struct hv_event_file *file = (struct hv_event_file *)(w->host + WORLD_FILES_OFF);
	const struct hv_fetch_step steps[] = {
		{HV_FETCH_FIELD, 0, 48, 1, offsetof(struct hv_draft, entry)},
		{HV_FETCH_IS, 0, 0, 1, id},
		{HV_FETCH_NUMBER, 0, 0, 1, KERNEL_ADDRESS},
		{HV_FETCH_READS | HV_FETCH_KEEPS, 0, 8, 1, 0},
	};

	memcpy(w->host + WORLD_PROGRAM_OFF, steps, sizeof(steps));
	file->filter = UINT64_C(1) << HV_EVENT_FILE_READS_BIT;
}

static void reads_a_number(const struct world *w)
{
	reads(w, 0);
}

static void reads_for_another(const struct world *w)
{
	reads(w, 1);
}

#define EVENT .trampoline = WORLD_EVENT
const struct world_case world_event_cases[] = {
	{"event of 8 bytes", 0, 0, nothing_more, EVENT, .nr_calls = 1},
	{"event of 28 bytes", 0, 0, nothing_more, EVENT, .nr_calls = 1, .nr_data = 1},
	{"event of 68 bytes", 0, 0, nothing_more, EVENT, .nr_calls = 1, .nr_data = 3},
	{"event of 68 bytes, after another task's", 1, 0, other_task, EVENT, .nr_calls = 1,
	 .nr_data = 3},
	{"event of 68 bytes, filter of one comparison", 0, 0, passes_one, EVENT, .nr_calls = 1,
	 .nr_data = 3},
	{"event of 68 bytes, filter of four", 0, 0, passes_four, EVENT, .nr_calls = 1,
	 .nr_data = 3},
	{"event of 68 bytes, a number in memory", 0, 0, reads_a_number, EVENT, .nr_calls = 1,
	 .nr_data = 3, .nr_more_data = 2},
	{"event of 68 bytes, memory only of another event", 0, 0, reads_for_another, EVENT,
	 .nr_calls = 1, .nr_data = 3},
	{"event, filtered out by one comparison", 0, 0, fails_one, EVENT},
	{"event, filtered out by the last of four", 0, 0, fails_four, EVENT},
	{"event, tracing off", 0, 0, off, EVENT},
};
const unsigned world_nr_event_cases = sizeof(world_event_cases) / sizeof(*world_event_cases);
