/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared code for tests of memory reads by probes: trampolines that run in this process
 * (bench/native.h), test functions in place of the kernel's functions that read memory, programs,
 * and the records they produce. Each program includes this once. x86-64. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "bench/native.h"
#include "ringbuf/ring.h"
#include "tests/lib/regs_call.h"

#define NR_SLOTS     1024
#define SMALL_RING   128
#define RESULTS_OFF  (8 * HV_REGS_WORDS) /* in the recorded data of an entry */
#define KERNEL_START 0xffff800000000000
#define USER_START   0x10000
#define SPACE_BYTES  8192
#define FAULT	     (-14)
#define HARD_IRQ     0x10000 /* in a preempt count */
#define NR_PROGRAMS  500     /* with random bytes */

#define READ_KERNEL (HV_FETCH_READS | HV_FETCH_KEEPS)

/* Trampolines align the stack to 8 bytes only, as kernel code does. */
#define ALIGNS __attribute__((force_align_arg_pointer))

static struct world *world;
static uint8_t kernel_memory[SPACE_BYTES], user_memory[SPACE_BYTES];
/* The kernel stack of all tasks. */
static uint8_t task_stack[8u << 20];
static void (*while_reading)(void);
static unsigned nr_reads;

/* Returns NULL if FROM is not mapped. */
static inline uint8_t *memory_at(uint64_t from, uint64_t bytes)
{
	nr_reads++;
	ck_assert_msg(from < UINT64_C(1) << 63 || from >= KERNEL_START, "0x%lx is not canonical",
		      from);
	if (while_reading)
		while_reading();
	if (from >= KERNEL_START && from - KERNEL_START <= SPACE_BYTES - bytes)
		return kernel_memory + (from - KERNEL_START);
	if (from >= USER_START && from - USER_START <= SPACE_BYTES - bytes)
		return user_memory + (from - USER_START);
	return NULL;
}

ALIGNS static inline int64_t copy(void *to, uint64_t from, uint64_t bytes)
{
	const uint8_t *at = memory_at(from, bytes);

	if (at)
		memcpy(to, at, bytes);
	return at ? 0 : FAULT;
}

ALIGNS static inline int64_t copy_string(char *to, uint64_t from, int64_t bytes)
{
	const uint8_t *at = memory_at(from, 1);
	size_t len;

	if (!at)
		return FAULT;
	len = strnlen((const char *)at, (size_t)bytes);
	memcpy(to, at, len);
	if (len == (size_t)bytes)
		len--;
	to[len] = '\0';
	return (int64_t)len + 1;
}

ALIGNS static inline int64_t copy_kernel(void *to, uint64_t from, uint64_t bytes)
{
	ck_assert_uint_ge(from, KERNEL_START);
	return copy(to, from, bytes);
}

ALIGNS static inline int64_t string_kernel(char *to, uint64_t from, int64_t bytes)
{
	ck_assert_uint_ge(from, KERNEL_START);
	return copy_string(to, from, bytes);
}

static inline void set_up_ring(uint64_t nr_slots)
{
	const uint64_t readers[] = {(uintptr_t)copy_kernel, (uintptr_t)copy,
				    (uintptr_t)string_kernel, (uintptr_t)copy_string};
	const char *lack = NULL;

	world = native_new(nr_slots, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
	for (unsigned i = 0; i < HV_ARRAY_LEN(readers); i++) {
		uint8_t code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};

		memcpy(code + 2, &readers[i], sizeof(readers[i])); /* movabsq, jmp *%rax */
		memcpy(world->host + WORLD_READERS_OFF + 16 * i, code, sizeof(code));
	}
	ck_assert_uint_le(world->stack_bytes, sizeof(task_stack));
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++) {
		struct world_cpu *c = (struct world_cpu *)(world->host + WORLD_CPU_OFF) + cpu;

		c->cat.stack = c->dd.stack = (uintptr_t)task_stack;
	}
	world_call_action(world, HV_DOES_REGS | HV_DOES_FETCH);
	while_reading = NULL;
	nr_reads = 0;
	memset(kernel_memory, 0, sizeof(kernel_memory));
	memset(user_memory, 0, sizeof(user_memory));
}

static inline void set_up(void)
{
	set_up_ring(NR_SLOTS);
}

static inline void tear_down(void)
{
	native_free(world);
}

static inline struct hv_fetch_step *program(void)
{
	return (struct hv_fetch_step *)(world->host + WORLD_PROGRAM_OFF);
}

static inline void set_program(const struct hv_fetch_step *steps, size_t nr)
{
	memset(program(), 0, HV_FETCH_STEPS_MAX * sizeof(*steps));
	memcpy(program(), steps, nr * sizeof(*steps));
}
#define SET_PROGRAM(...)                                                                           \
	do {                                                                                       \
		const struct hv_fetch_step steps_[] = {__VA_ARGS__};                               \
		set_program(steps_, HV_ARRAY_LEN(steps_));                                         \
	} while (0)

/* -- records ----------------------------------------------------------------------------------- */

static inline struct hv_record record_at(unsigned cpu, uint64_t position)
{
	struct hv_record r = world_ring(world, cpu)[position % world->nr_slots];

	for (unsigned i = 0; i < 4; i++)
		r.word[i] ^= hv_record_key(position, world->nr_slots);
	return r;
}

static inline unsigned kind_of(const struct hv_record *r)
{
	return r->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;
}

struct entry {
	uint8_t bytes[(HV_DATA_RECORDS_MAX + 1) * HV_DATA_LEN];
	size_t len;   /* without the common fields */
	uint64_t end; /* position of the next record */
};

/* Reads the entry of type ID whose first record is at POSITION, after any task records. If the
 * event has results, the length includes HV_EVENT_RESULTS. */
static inline void read_data(unsigned cpu, uint64_t position, uint16_t id, struct entry *ret)
{
	size_t len;
	struct hv_record r = record_at(cpu, position);
	unsigned nr = 0;

	for (; kind_of(&r) == HV_RECORD_TASK; r = record_at(cpu, ++position))
		;
	for (; kind_of(&r) == HV_RECORD_DATA; r = record_at(cpu, ++position), nr++) {
		uint64_t first = r.word[1] | r.word[3] >> HV_DATA_FIRST_SHIFT << HV_WORD_BITS;
		uint64_t second = r.word[2] | r.word[3] >> HV_DATA_SECOND_SHIFT << HV_WORD_BITS;
		uint8_t *at = ret->bytes + nr * HV_DATA_LEN;

		ck_assert_uint_le(nr, HV_DATA_RECORDS_MAX);
		memcpy(at, &first, 8);
		memcpy(at + 8, &second, 8);
		memcpy(at + 16, &r.word[3], 4);
	}
	ck_assert_uint_eq(kind_of(&r), HV_RECORD_EVENT);
	ck_assert_uint_eq((uint16_t)r.word[1], id);
	ck_assert_uint_eq(r.word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX, nr);
	ret->len = (uint16_t)(r.word[1] >> HV_EVENT_LEN_SHIFT) - HV_ENTRY_HEADER_LEN;
	len = ret->len & (HV_EVENT_RESULTS - 1);
	ck_assert_uint_eq(nr, (len + HV_DATA_LEN - 1) / HV_DATA_LEN);
	ret->end = position + 1;
}

static inline void read_entry(unsigned cpu, uint64_t position, struct entry *ret)
{
	read_data(cpu, position, HV_EVENT_ID_REGS, ret);
}

/* Finds result NUMBER of the results that begin at AT. */
static inline struct hv_span result_of(const struct entry *e, size_t at, unsigned number,
				       uint32_t *ret_tag, bool *ret_fault)
{
	for (;;) {
		uint32_t head[2], len;

		ck_assert_uint_le(at + sizeof(head), e->len);
		memcpy(head, e->bytes + at, sizeof(head));
		len = head[1] == HV_FETCH_FAULT ? 0 : head[1];
		ck_assert_uint_le(at + HV_FETCH_HEAD + len, e->len);
		if (!number--) {
			*ret_tag = head[0];
			*ret_fault = head[1] == HV_FETCH_FAULT;
			return (struct hv_span){e->bytes + at + HV_FETCH_HEAD, len};
		}
		at += HV_FETCH_HEAD + (len + 7) / 8 * 8;
	}
}

static inline void check_result_at(const struct entry *e, size_t at, unsigned number, uint32_t tag,
				   const void *bytes, size_t len)
{
	uint32_t found;
	bool fault;
	struct hv_span s = result_of(e, at, number, &found, &fault);

	ck_assert_msg(found == tag, "result %u has the tag %u", number, found);
	ck_assert_msg(fault == !bytes, "result %u: wrong fault flag", number);
	if (!bytes)
		return;
	ck_assert_uint_eq(s.len_bytes, len);
	ck_assert(memcmp(s.data, bytes, len) == 0);
}

static inline void check_result(const struct entry *e, unsigned number, uint32_t tag,
				const void *bytes, size_t len)
{
	check_result_at(e, RESULTS_OFF, number, tag, bytes, len);
}

/* -- calls ------------------------------------------------------------------------------------- */

static inline void call(uint64_t first_argument)
{
	uint64_t in[REGS_CALL_NR], out[REGS_CALL_NR + 2];

	for (unsigned i = 0; i < REGS_CALL_NR; i++)
		in[i] = 0x1234567890abcdef + i;
	in[4] = first_argument; /* %rdi */
	regs_call(world_gva(world, WORLD_TRACED_OFF).v, in, out);
	for (unsigned i = 0; i < REGS_CALL_NR; i++)
		ck_assert_msg(in[i] == out[i], "register %u has changed", i);
}

static inline void check_quiet(void)
{
	const struct hv_draft *drafts = (const struct hv_draft *)(world->host + WORLD_DRAFTS_OFF);

	for (unsigned i = 0; i < WORLD_NR_CPUS * HV_NR_DRAFTS; i++)
		ck_assert_uint_eq(drafts[i].event, 0);
}

/* Returns the second draft. A program that overruns its own draft reaches it. */
static inline struct hv_draft *next_draft(void)
{
	return (struct hv_draft *)(world->host + WORLD_DRAFTS_OFF) + 1;
}

static inline void fill_next_draft(void)
{
	memset(next_draft(), 0x5a, sizeof(struct hv_draft));
	next_draft()->event = 0;
}

static inline void next_draft_is_as_filled(void)
{
	const uint8_t *bytes = (const uint8_t *)next_draft();

	for (size_t i = sizeof(next_draft()->event); i < sizeof(struct hv_draft); i++)
		ck_assert_uint_eq(bytes[i], 0x5a);
}

#define FIRST_ARGUMENT 7 /* word of the entry */

/* Sets a program of maximum length. It reads arrays if KEEPS, else strings. */
static inline void set_long_program(unsigned keeps)
{
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];

	memset(kernel_memory, 'x', SPACE_BYTES - 1);
	for (unsigned i = 0; i < HV_FETCH_STEPS_MAX; i += 2) {
		steps[i] = (struct hv_fetch_step){HV_FETCH_NUMBER, 0, 0, i, KERNEL_START};
		steps[i + 1] = (struct hv_fetch_step){
			HV_FETCH_READS | (keeps ? HV_FETCH_KEEPS : HV_FETCH_STRING), 0, UINT16_MAX,
			i, 0};
	}
	set_program(steps, HV_FETCH_STEPS_MAX);
}

static inline void go_to_the_other_cpu(void)
{
	world_cpu(world)->cpu_number = 1;
}
