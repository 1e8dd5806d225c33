/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stubs read of memory for probes: the very bytes that a guest gets, run in this process
 * (bench/native.h), with functions of this test in the place of the kernel's that read memory.
 * Calls that are interrupted before each instruction, that go on on another vCPU, that come from
 * the reading itself; and programs of any bytes. x86-64. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "base/bytes.h"
#include "bench/native.h"
#include "ringbuf/ring.h"
#include "tests/lib/event_call.h"
#include "tests/lib/regs_call.h"
#include "tests/lib/run_suite.h"

#define NR_SLOTS     1024
#define SMALL_RING   128
#define RESULTS_OFF  (8 * HV_REGS_WORDS) /* in what is recorded of an entry */
#define KERNEL_START 0xffff800000000000
#define USER_START   0x10000
#define SPACE_BYTES  8192
#define FAULT	     (-14)
#define HARD_IRQ     0x10000 /* of a preempt count */
#define TRAP_FLAG    0x100
#define NR_PROGRAMS  500 /* of any bytes */

#define READ_KERNEL (HV_FETCH_READS | HV_FETCH_KEEPS)

/* The kernel's functions need no more than what a call leaves of the stack's alignment. */
#define ALIGNS __attribute__((force_align_arg_pointer))

static struct world *world;
static uint8_t kernel_memory[SPACE_BYTES], user_memory[SPACE_BYTES];
static void (*while_reading)(void);
static unsigned nr_reads;

/* NULL: nothing is there. */
static uint8_t *memory_at(uint64_t from, uint64_t bytes)
{
	nr_reads++;
	ck_assert_msg(from < UINT64_C(1) << 63 || from >= KERNEL_START, "0x%lx is no address",
		      from);
	if (while_reading)
		while_reading();
	if (from >= KERNEL_START && from - KERNEL_START <= SPACE_BYTES - bytes)
		return kernel_memory + (from - KERNEL_START);
	if (from >= USER_START && from - USER_START <= SPACE_BYTES - bytes)
		return user_memory + (from - USER_START);
	return NULL;
}

ALIGNS static int64_t copy(void *to, uint64_t from, uint64_t bytes)
{
	const uint8_t *at = memory_at(from, bytes);

	if (at)
		memcpy(to, at, bytes);
	return at ? 0 : FAULT;
}

ALIGNS static int64_t copy_string(char *to, uint64_t from, int64_t bytes)
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

ALIGNS static int64_t copy_kernel(void *to, uint64_t from, uint64_t bytes)
{
	ck_assert_uint_ge(from, KERNEL_START);
	return copy(to, from, bytes);
}

ALIGNS static int64_t string_kernel(char *to, uint64_t from, int64_t bytes)
{
	ck_assert_uint_ge(from, KERNEL_START);
	return copy_string(to, from, bytes);
}

static void set_up_ring(uint64_t nr_slots)
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
	world_call_action(world, HV_SLOT_REGS | HV_SLOT_FETCH);
	while_reading = NULL;
	nr_reads = 0;
	memset(kernel_memory, 0, sizeof(kernel_memory));
	memset(user_memory, 0, sizeof(user_memory));
}

static void set_up(void)
{
	set_up_ring(NR_SLOTS);
}

static void tear_down(void)
{
	native_free(world);
}

static struct hv_fetch_step *program(void)
{
	return (struct hv_fetch_step *)(world->host + WORLD_PROGRAM_OFF);
}

static void set_program(const struct hv_fetch_step *steps, size_t nr)
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

static struct hv_record record_at(unsigned cpu, uint64_t position)
{
	struct hv_record r = world_ring(world, cpu)[position % world->nr_slots];

	for (unsigned i = 0; i < 4; i++)
		r.word[i] ^= hv_record_key(position, world->nr_slots);
	return r;
}

static unsigned kind_of(const struct hv_record *r)
{
	return r->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;
}

struct entry {
	uint8_t bytes[(HV_DATA_RECORDS_MAX + 1) * HV_DATA_LEN];
	size_t len;   /* without what all entries begin with */
	uint64_t end; /* the position of the next record */
};

/* Reads the entry of the type ID whose first record is at POSITION, behind records of tasks. Of an
 * event with results, the length has HV_EVENT_RESULTS. */
static void read_data(unsigned cpu, uint64_t position, uint16_t id, struct entry *ret)
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

static void read_entry(unsigned cpu, uint64_t position, struct entry *ret)
{
	read_data(cpu, position, HV_EVENT_ID_REGS, ret);
}

/* Finds the NUMBERth result of those that begin at AT. */
static struct hv_span result_of(const struct entry *e, size_t at, unsigned number,
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

static void check_result_at(const struct entry *e, size_t at, unsigned number, uint32_t tag,
			    const void *bytes, size_t len)
{
	uint32_t found;
	bool fault;
	struct hv_span s = result_of(e, at, number, &found, &fault);

	ck_assert_msg(found == tag, "result %u has the tag %u", number, found);
	ck_assert_msg(fault == !bytes, "result %u: fault", number);
	if (!bytes)
		return;
	ck_assert_uint_eq(s.len_bytes, len);
	ck_assert(memcmp(s.data, bytes, len) == 0);
}

static void check_result(const struct entry *e, unsigned number, uint32_t tag, const void *bytes,
			 size_t len)
{
	check_result_at(e, RESULTS_OFF, number, tag, bytes, len);
}

/* -- calls ------------------------------------------------------------------------------------- */

static void call(uint64_t first_argument)
{
	uint64_t in[REGS_CALL_NR], out[REGS_CALL_NR + 2];

	for (unsigned i = 0; i < REGS_CALL_NR; i++)
		in[i] = 0x1234567890abcdef + i;
	in[4] = first_argument; /* %rdi */
	regs_call(world_gva(world, WORLD_TRACED_OFF).v, in, out);
	for (unsigned i = 0; i < REGS_CALL_NR; i++)
		ck_assert_msg(in[i] == out[i], "register %u is not kept", i);
}

static void check_quiet(void)
{
	const struct hv_draft *drafts = (const struct hv_draft *)(world->host + WORLD_DRAFTS_OFF);

	for (unsigned i = 0; i < WORLD_NR_CPUS * HV_NR_DRAFTS; i++)
		ck_assert_uint_eq(drafts[i].event, 0);
}

#define FIRST_ARGUMENT 7 /* the word of the entry */

START_TEST(values_bytes_and_strings)
{
	const uint64_t pointer = KERNEL_START + 0x100, user = USER_START + 8;
	struct entry e;

	memcpy(kernel_memory + 0x20, &pointer, 8);
	memcpy(kernel_memory + 0x100, &user, 8);
	strcpy((char *)kernel_memory + 0x108, "of the kernel");
	strcpy((char *)user_memory + 8, "of a program");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 5, FIRST_ARGUMENT}, {HV_FETCH_READS, 0, 0, 5, 0x20},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 100, 5, 8},
		    {HV_FETCH_WORD, 0, 0, 6, FIRST_ARGUMENT}, {HV_FETCH_READS, 0, 0, 6, 0x20},
		    {HV_FETCH_READS, 0, 0, 6, 0},
		    {HV_FETCH_READS | HV_FETCH_STRING | HV_FETCH_USER, 0, 4, 6, 0},
		    {HV_FETCH_NUMBER, 0, 0, 7, KERNEL_START + 0x100}, {READ_KERNEL, 0, 3, 7, 0x9},
		    {HV_FETCH_NUMBER, 0, 0, 8, 0}, {READ_KERNEL, 0, 5, 8, USER_START + 8});
	for (uint64_t n = 0, at = 0; n < 20; n++, at = e.end + 1) {
		call(KERNEL_START);
		read_entry(0, at, &e);
		check_result(&e, 0, 5, "of the kernel", 14);
		check_result(&e, 1, 6, "of ", 4);
		check_result(&e, 2, 7, "f t", 3);
		check_result(&e, 3, 8, "of a ", 5);
		check_quiet();
	}
}
END_TEST

/* A step that cannot read ends its result, and no other one. */
START_TEST(what_cannot_be_read)
{
	struct entry e;

	strcpy((char *)kernel_memory, "there");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, FIRST_ARGUMENT}, {HV_FETCH_READS, 0, 0, 1, 0x4000},
		    {HV_FETCH_READS, 0, 0, 1, 8}, {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0},
		    {HV_FETCH_NUMBER, 0, 0, 2, 0x8000000000000000}, {READ_KERNEL, 0, 8, 2, 0},
		    {HV_FETCH_NUMBER, 0, 0, 3, 1}, {READ_KERNEL, 0, 8, 3, 0},
		    {HV_FETCH_WORD, 0, 0, 4, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 4, 0},
		    {HV_FETCH_WORD, 0, 0, 5, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 5, 0x4000});
	call(KERNEL_START);
	read_entry(0, 0, &e);
	for (unsigned i = 0; i < 5; i++)
		check_result(&e, i, i + 1, i == 3 ? "there" : NULL, 6);
	ck_assert_uint_eq(nr_reads, 4); /* nothing between the halves is read */
	check_quiet();
}
END_TEST

/* What an entry does not have, as a return without the arguments of its call: only the results that
 * are made of it are not there. */
START_TEST(words_that_are_not_there)
{
	struct entry e;

	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, HV_REGS_WORDS}, {READ_KERNEL, 0, 8, 1, 0},
		    {HV_FETCH_WORD, 0, 0, 2, HV_REGS_WORDS + 4}, {READ_KERNEL, 0, 8, 2, 0},
		    {HV_FETCH_WORD, 0, 0, 3, UINT64_C(1) << 63 | FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 3, 0},
		    {HV_FETCH_WORD, 0, 0, 4, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 4, 0});
	call(KERNEL_START);
	read_entry(0, 0, &e);
	for (unsigned i = 0; i < 4; i++)
		check_result(&e, i, i + 1, i == 3 ? "plain" : NULL, 6);
	ck_assert_uint_eq(nr_reads, 1);
	check_quiet();
}
END_TEST

/* KEEPS: of arrays; else of strings. */
static void set_long_program(unsigned keeps)
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

/* Strings and arrays end where the entry does. */
START_TEST(there_is_room_for_so_much)
{
	struct entry e;

	set_long_program((unsigned)_i);
	call(KERNEL_START);
	read_entry(0, 0, &e);
	ck_assert_uint_le(e.len, HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN);
	ck_assert_uint_ge(e.len, HV_ENTRY_LEN_MAX - 100);
	check_quiet();
}
END_TEST

/* Nor do results make an entry longer than what a very small ring has. */
START_TEST(a_very_small_ring)
{
	struct entry e;

	tear_down();
	set_up_ring(SMALL_RING);
	set_long_program((unsigned)_i);
	call(KERNEL_START);
	read_entry(0, 0, &e);
	ck_assert_uint_le(e.len, SMALL_RING / 2 * HV_DATA_LEN);
	ck_assert_uint_ge(e.len, SMALL_RING / 2 * HV_DATA_LEN - 100);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	check_quiet();
}
END_TEST

/* A program without an end, of results that take no room. */
START_TEST(a_program_ends)
{
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];
	struct entry e;

	for (unsigned i = 0; i < HV_FETCH_STEPS_MAX; i++)
		steps[i] = (struct hv_fetch_step){READ_KERNEL, 0, 1, _i ? 9 : i, 0};
	set_program(steps, HV_FETCH_STEPS_MAX);
	/* The present value is whatever it is: nothing has set it. */
	SET_PROGRAM({HV_FETCH_NUMBER, 0, 0, 0, 0});
	memcpy(program() + 1, steps, sizeof(steps) - sizeof(*steps));
	call(0);
	read_entry(0, 0, &e);
	ck_assert_uint_eq(nr_reads, _i ? 1 : HV_FETCH_STEPS_MAX - 1);
	check_quiet();
}
END_TEST

/* -- calls in calls ---------------------------------------------------------------------------- */

static void call_again(void)
{
	while_reading = NULL;
	call(KERNEL_START);
	while_reading = call_again;
}

static void set_plain_program(void)
{
	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0});
}

/* As when a function that handles page faults has a probe. */
START_TEST(reading_is_not_recorded)
{
	struct entry e;

	set_plain_program();
	while_reading = call_again;
	call(KERNEL_START);
	/* The call in the call goes on to the tracer's stub, too. */
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	read_entry(0, 1, &e);
	check_result(&e, 0, 1, "plain", 6);
	ck_assert_uint_eq(world_head(world, 0), e.end + 1);
	check_quiet();
}
END_TEST

static void interrupt_reading(void)
{
	world_cpu(world)->preempt_count += HARD_IRQ;
	call_again();
	world_cpu(world)->preempt_count -= HARD_IRQ;
	while_reading = NULL;
}

START_TEST(an_interrupt_is_recorded)
{
	struct entry e;

	set_plain_program();
	while_reading = interrupt_reading;
	call(KERNEL_START);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	read_entry(0, 0, &e);
	check_result(&e, 0, 1, "plain", 6);
	read_entry(0, e.end + 1, &e);
	check_result(&e, 0, 1, "plain", 6);
	check_quiet();
}
END_TEST

static void go_to_the_other_cpu(void)
{
	world_cpu(world)->cpu_number = 1;
}

START_TEST(a_task_goes_on_elsewhere)
{
	struct entry e;

	set_plain_program();
	while_reading = go_to_the_other_cpu;
	call(KERNEL_START);
	ck_assert_uint_eq(world_head(world, 0), 0);
	read_entry(1, 0, &e);
	check_result(&e, 0, 1, "plain", 6);
	check_quiet();
}
END_TEST

START_TEST(all_drafts_are_taken)
{
	set_plain_program();
	world_take_drafts(world);
	call(KERNEL_START);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	ck_assert_uint_eq(world_head(world, 0), 1); /* the tracer's */
	ck_assert_uint_eq(nr_reads, 0);
}
END_TEST

/* The instructions of the stubs that a call executes, in the order in which it comes to them first;
 * when a call is stepped, they are noted. */
static uint64_t visited[1024];
static unsigned nr_visited;
static bool is_stepping;
/* Where the interrupt comes: there is a breakpoint now. */
static uint64_t trap_at;
static uint8_t under_trap;

static void note(uint64_t ip)
{
	if (ip - world_gva(world, WORLD_CODE_OFF).v >= hv_arch_x86_64.stubs.len_bytes)
		return;
	for (unsigned i = 0; i < nr_visited; i++)
		if (visited[i] == ip)
			return;
	ck_assert_uint_lt(nr_visited, HV_ARRAY_LEN(visited));
	visited[nr_visited++] = ip;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	if ((uint64_t)regs[REG_RIP] - 1 == trap_at) {
		regs[REG_RIP]--;
		*(uint8_t *)trap_at = under_trap;
		trap_at = 0;
		world_cpu(world)->preempt_count += HARD_IRQ;
		call(KERNEL_START);
		world_cpu(world)->preempt_count -= HARD_IRQ;
	} else if (is_stepping) {
		note((uint64_t)regs[REG_RIP]);
	} else {
		regs[REG_EFL] &= ~TRAP_FLAG;
	}
}

static void set_trap_flag(void)
{
	__asm__ volatile("sub $128, %%rsp; pushfq; orl $0x100, (%%rsp); popfq; add $128, %%rsp" ::
				 : "cc", "memory");
}

/* All calls are whole, and there are NR. The tracer's records may be between. */
static void check_calls(unsigned nr)
{
	unsigned nr_events = 0;
	struct entry e;

	for (uint64_t at = 0; at < world_head(world, 0); at = e.end) {
		struct hv_record r = record_at(0, at);

		e.end = at + 1;
		if (kind_of(&r) == HV_RECORD_FUNCTION)
			continue;
		read_entry(0, at, &e);
		check_result(&e, 0, 1, "plain", 6);
		check_result(&e, 1, 2, NULL, 0);
		nr_events++;
	}
	ck_assert_uint_eq(nr_events, nr);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	check_quiet();
}

static void set_trapped_program(void)
{
	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0}, {HV_FETCH_NUMBER, 0, 0, 2, 0},
		    {HV_FETCH_READS, 0, 0, 2, 0}, {READ_KERNEL, 0, 8, 2, 0});
}

START_TEST(an_interrupt_before_each_instruction)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	set_trapped_program();
	is_stepping = true;
	set_trap_flag();
	call(KERNEL_START);
	is_stepping = false;
	check_calls(1);
	ck_assert_uint_gt(nr_visited, 200);
	for (unsigned i = 0; i < nr_visited; i++) {
		tear_down();
		set_up();
		set_trapped_program();
		trap_at = visited[i];
		under_trap = *(uint8_t *)trap_at;
		*(uint8_t *)trap_at = 0xcc;
		call(KERNEL_START);
		ck_assert_uint_eq(trap_at, 0);
		check_calls(2);
	}
}
END_TEST

/* -- hostile programs -------------------------------------------------------------------------- */

START_TEST(any_program_stays_in_its_draft)
{
	uint8_t *drafts = world->host + WORLD_DRAFTS_OFF, *bytes = (uint8_t *)program();
	uint8_t untouched[sizeof(struct hv_draft)];

	memset(untouched, 0x5a, sizeof(untouched));
	srandom(1);
	for (unsigned n = 0; n < NR_PROGRAMS; n++) {
		struct entry e;
		uint64_t at = world_head(world, 0);

		for (size_t i = 0; i < HV_FETCH_STEPS_MAX * sizeof(struct hv_fetch_step); i++)
			bytes[i] = (uint8_t)random();
		for (unsigned i = 0; i < HV_FETCH_STEPS_MAX; i++)
			if (random() % 4) {
				program()[i].value = random() % 2 ? KERNEL_START : USER_START;
				program()[i].does =
					(uint8_t)(random() % 3 ? READ_KERNEL : random());
			}
		memset(drafts + sizeof(struct hv_draft), 0x5a, sizeof(struct hv_draft));
		((struct hv_draft *)drafts)[1].event = 0;
		call(n % 2 ? 0 : (uint64_t)random());
		read_entry(0, at, &e);
		ck_assert_uint_le(e.len, HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN);
		ck_assert(memcmp(drafts + sizeof(struct hv_draft) + 4, untouched + 4,
				 sizeof(untouched) - 4) == 0);
		check_quiet();
	}
}
END_TEST

/* -- events ------------------------------------------------------------------------------------ */

#define EVENT_ID      0x1234
#define EVENT_LEN     36 /* not a multiple of what results are aligned to */
#define EVENT_RESULTS 40
#define POINTER_OFF   16 /* in the entry */
#define SMALL_OFF     26 /* two bytes: -3 */
#define FIELD(off)    (offsetof(struct hv_draft, entry) + (off))

static void set_up_event(void)
{
	event_make_kernel(world);
	event_traps = 0;
	event_file(world, 0)->id = EVENT_ID;
	event_file(world, 0)->filter = UINT64_C(1) << HV_EVENT_FILE_READS_BIT;
	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_FIELD, 0, 0, 1, FIELD(POINTER_OFF)},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0});
}

static uint64_t fill_event(struct world_buffer *buffer, uint64_t pointer)
{
	uint64_t at = event_reserve(world, buffer, (uintptr_t)event_file(world, 0), EVENT_LEN);
	const int16_t small = -3;

	ck_assert_uint_ne(at, 0);
	for (unsigned i = 0; i < EVENT_LEN; i++)
		((uint8_t *)(uintptr_t)at)[i] = (uint8_t)(0xa0 + i);
	memcpy((uint8_t *)(uintptr_t)at + POINTER_OFF, &pointer, sizeof(pointer));
	memcpy((uint8_t *)(uintptr_t)at + SMALL_OFF, &small, sizeof(small));
	return at;
}

static void event(uint64_t pointer)
{
	struct world_buffer buffer = {0};

	fill_event(&buffer, pointer);
	event_commit(world, &buffer);
}

/* Reads the event at POSITION, behind records of tasks. Returns whether it has results, at
 * EVENT_RESULTS. */
static bool read_event(unsigned cpu, uint64_t position, struct entry *ret)
{
	bool has_results;
	uint64_t len = EVENT_LEN;

	*ret = (struct entry){0};
	read_data(cpu, position, EVENT_ID, ret);
	has_results = ret->len & HV_EVENT_RESULTS;
	ret->len &= ~(size_t)HV_EVENT_RESULTS;
	ck_assert_uint_eq(ret->bytes[0], 0xa8);
	ck_assert_uint_eq(ret->bytes[EVENT_LEN - HV_ENTRY_HEADER_LEN - 1], 0xa0 + EVENT_LEN - 1);
	if (has_results) {
		memcpy(&len, ret->bytes + ret->len - HV_EVENT_RESULTS_END, sizeof(len));
		ck_assert_uint_eq(len, EVENT_LEN);
		ck_assert_uint_le(EVENT_RESULTS + HV_EVENT_RESULTS_END,
				  ret->len + HV_ENTRY_HEADER_LEN);
	} else {
		ck_assert_uint_eq(ret->len, EVENT_LEN - HV_ENTRY_HEADER_LEN);
	}
	return has_results;
}

static void check_event(unsigned cpu, uint64_t position, struct entry *ret)
{
	ck_assert(read_event(cpu, position, ret));
	check_result_at(ret, EVENT_RESULTS - HV_ENTRY_HEADER_LEN, 0, 1, "plain", 6);
}

START_TEST(memory_of_an_event)
{
	const int64_t extended = -3;
	const uint64_t plain = 0xfffd;
	struct entry e;

	set_up_event();
	memcpy(user_memory, "for a program", 14);
	SET_PROGRAM({HV_FETCH_FIELD, 0, 0, 1, FIELD(POINTER_OFF)},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0},
		    {HV_FETCH_FIELD, 0, 48, 2, FIELD(SMALL_OFF)},
		    {READ_KERNEL, 0, 8, 2, USER_START - plain},
		    {HV_FETCH_FIELD, 0, 48 | HV_FETCH_SIGNED, 3, FIELD(SMALL_OFF)},
		    {READ_KERNEL, 0, 8, 3, USER_START + 3 + 4},
		    {HV_FETCH_FIELD, 0, 48, 4, FIELD(SMALL_OFF)}, {HV_FETCH_IS, 0, 0, 4, plain},
		    {READ_KERNEL, 0, 3, 4, USER_START - plain},
		    {HV_FETCH_FIELD, 0, 48, 5, FIELD(SMALL_OFF)},
		    {HV_FETCH_IS, 0, 0, 5, (uint64_t)extended},
		    {READ_KERNEL, 0, 3, 5, USER_START - plain}, {HV_FETCH_NUMBER, 0, 0, 6, 1},
		    {READ_KERNEL, 0, 8, 6, 0});
	for (uint64_t n = 0, at = 0; n < 20; n++, at = e.end) {
		size_t off = EVENT_RESULTS - HV_ENTRY_HEADER_LEN;

		event(KERNEL_START);
		check_event(0, at, &e);
		check_result_at(&e, off, 1, 2, "for a pr", 8);
		check_result_at(&e, off, 2, 3, "a progra", 8);
		check_result_at(&e, off, 3, 4, "for", 3);
		check_result_at(&e, off, 4, 6, NULL, 0); /* 5 is of another event */
		check_quiet();
	}
	world_state(world, 0)->last_pid = 0;
	event(KERNEL_START);
	check_event(0, e.end, &e);
}
END_TEST

START_TEST(an_event_in_a_very_small_ring)
{
	struct entry e;

	tear_down();
	set_up_ring(SMALL_RING);
	set_up_event();
	set_long_program((unsigned)_i);
	event(KERNEL_START);
	ck_assert(read_event(0, 0, &e));
	ck_assert_uint_le(e.len, SMALL_RING / 2 * HV_DATA_LEN);
	ck_assert_uint_ge(e.len, SMALL_RING / 2 * HV_DATA_LEN - 100);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	check_quiet();
}
END_TEST

/* It has no words of registers. */
START_TEST(an_event_has_no_words)
{
	struct entry e;

	set_up_event();
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, 0}, {READ_KERNEL, 0, 8, 1, 0});
	event(KERNEL_START);
	ck_assert(read_event(0, 0, &e));
	check_result_at(&e, EVENT_RESULTS - HV_ENTRY_HEADER_LEN, 0, 1, NULL, 0);
	ck_assert_uint_eq(nr_reads, 0);
	check_quiet();
}
END_TEST

/* Without results it is recorded as others are. */
START_TEST(an_event_of_another_kind)
{
	struct entry e;

	set_up_event();
	SET_PROGRAM({HV_FETCH_FIELD, 0, 0, 1, FIELD(POINTER_OFF)}, {HV_FETCH_IS, 0, 0, 1, 7},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0});
	event(KERNEL_START);
	ck_assert(!read_event(0, 0, &e));
	event_file(world, 0)->filter = 0;
	event(KERNEL_START);
	ck_assert(!read_event(0, e.end, &e));
	ck_assert_uint_eq(nr_reads, 0);
	check_quiet();
}
END_TEST

static void event_again(void)
{
	while_reading = NULL;
	event(KERNEL_START);
	call(KERNEL_START);
	while_reading = event_again;
}

/* A fault while memory is read for an event may be an event, or call a function with a probe. */
START_TEST(reading_for_an_event_is_not_repeated)
{
	struct entry e;

	set_up_event();
	while_reading = event_again;
	event(KERNEL_START);
	ck_assert(!read_event(0, 0, &e));
	check_event(0, e.end + 1, &e); /* behind the tracer's record of the call */
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	ck_assert_uint_eq(nr_reads, 1);
	check_quiet();
}
END_TEST

static void interrupt_event(void)
{
	while_reading = NULL;
	world_cpu(world)->preempt_count += HARD_IRQ;
	event(KERNEL_START);
	world_cpu(world)->preempt_count -= HARD_IRQ;
}

START_TEST(an_interrupt_while_memory_is_read_for_an_event)
{
	struct entry e;

	set_up_event();
	while_reading = interrupt_event;
	event(KERNEL_START);
	check_event(0, 0, &e);
	check_event(0, e.end, &e);
	check_quiet();
}
END_TEST

START_TEST(an_event_goes_on_elsewhere)
{
	struct entry e;

	set_up_event();
	while_reading = go_to_the_other_cpu;
	event(KERNEL_START);
	ck_assert_uint_eq(world_head(world, 0), 0);
	check_event(1, 0, &e);
	check_quiet();
}
END_TEST

/* The guest writes into the draft, before and while its memory is read. */
static void write_length(void)
{
	((struct hv_draft *)(world->host + WORLD_DRAFTS_OFF))->len_bytes = UINT32_MAX;
}

START_TEST(a_hostile_guest_commits_with_memory)
{
	static const uint32_t lengths[] = {UINT32_MAX, HV_ENTRY_LEN_MAX + 1, HV_ENTRY_LEN_MAX,
					   HV_ENTRY_LEN_MAX - 31};
	struct world_buffer buffer = {0};
	struct entry e;

	set_up_event();
	for (unsigned i = 0; i < HV_ARRAY_LEN(lengths); i++) {
		uint64_t at = fill_event(&buffer, KERNEL_START);

		((struct hv_draft *)(uintptr_t)(at - 8))->len_bytes = lengths[i];
		event_commit(world, &buffer);
		ck_assert_uint_eq(nr_reads, 0);
		check_quiet();
	}
	set_up_event();
	while_reading = write_length;
	event(KERNEL_START);
	check_event(0, world_head(world, 0) - 4, &e);
	check_quiet();
}
END_TEST

START_TEST(any_program_of_an_event_stays_in_its_draft)
{
	uint8_t *drafts = world->host + WORLD_DRAFTS_OFF, *bytes = (uint8_t *)program();
	uint8_t untouched[sizeof(struct hv_draft)];

	set_up_event();
	memset(untouched, 0x5a, sizeof(untouched));
	srandom(2);
	for (unsigned n = 0; n < NR_PROGRAMS; n++) {
		struct entry e;
		uint64_t at = world_head(world, 0);

		for (size_t i = 0; i < HV_FETCH_STEPS_MAX * sizeof(struct hv_fetch_step); i++)
			bytes[i] = (uint8_t)random();
		for (unsigned i = 0; i < HV_FETCH_STEPS_MAX; i++) {
			struct hv_fetch_step *s = &program()[i];

			if (random() % 4)
				s->value = random() % 2 ? KERNEL_START : USER_START;
			if (random() % 4)
				s->does = (uint8_t)(random() % 3 ? READ_KERNEL : random() % 8);
			if (s->does == HV_FETCH_FIELD && random() % 2)
				s->value = (uint64_t)random() % 5000;
			if (s->does == HV_FETCH_IS)
				s->value = 0;
		}
		memset(drafts + sizeof(struct hv_draft), 0x5a, sizeof(struct hv_draft));
		((struct hv_draft *)drafts)[1].event = 0;
		event(random() % 2 ? KERNEL_START : (uint64_t)random());
		read_event(0, at, &e);
		ck_assert_uint_le(e.len, HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN);
		ck_assert(memcmp(drafts + sizeof(struct hv_draft) + 4, untouched + 4,
				 sizeof(untouched) - 4) == 0);
		check_quiet();
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, values_bytes_and_strings);
	tcase_add_test(tc, what_cannot_be_read);
	tcase_add_test(tc, words_that_are_not_there);
	tcase_add_loop_test(tc, there_is_room_for_so_much, 0, 2);
	tcase_add_loop_test(tc, a_very_small_ring, 0, 2);
	tcase_add_loop_test(tc, a_program_ends, 0, 2);
	tcase_add_test(tc, reading_is_not_recorded);
	tcase_add_test(tc, an_interrupt_is_recorded);
	tcase_add_test(tc, a_task_goes_on_elsewhere);
	tcase_add_test(tc, all_drafts_are_taken);
	tcase_add_test(tc, an_interrupt_before_each_instruction);
	tcase_add_test(tc, any_program_stays_in_its_draft);
	tcase_add_test(tc, memory_of_an_event);
	tcase_add_loop_test(tc, an_event_in_a_very_small_ring, 0, 2);
	tcase_add_test(tc, an_event_has_no_words);
	tcase_add_test(tc, an_event_of_another_kind);
	tcase_add_test(tc, reading_for_an_event_is_not_repeated);
	tcase_add_test(tc, an_interrupt_while_memory_is_read_for_an_event);
	tcase_add_test(tc, an_event_goes_on_elsewhere);
	tcase_add_test(tc, a_hostile_guest_commits_with_memory);
	tcase_add_test(tc, any_program_of_an_event_stays_in_its_draft);
}

int main(void)
{
	return run_suite("stub_fetch", add_tests);
}
