/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters that the commit trampoline executes, with the code bytes that a guest gets, run in this
 * process (bench/native.h). The programs are compiled from filters as users write them, and from
 * memory that the host writes. The trampoline must record exactly the events that pass the host's
 * own evaluation. Other events must leave no trace in the ring. Filters change and other events
 * come before each instruction. x86-64. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "bench/native.h"
#include "ringbuf/ring.h"
#include "tests/lib/event_call.h"
#include "tests/lib/run_suite.h"
#include "tracer/guest/trampoline_programs.h"
#include "tree/settings/event_filter.h"

#define NR_SLOTS  64
#define NR_FILES  4
#define MAPPED_AT ((void *)0x50000000) /* the trampolines' code has 32-bit addresses */

struct entry {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	int8_t s1;
	uint8_t u1;
	int16_t s2;
	uint16_t u2;
	int32_t s4;
	uint32_t u4;
	int64_t s8;
	uint64_t u8;
	char text[4];
} __attribute__((packed));

#define FIELD(type, name, is_signed)                                                               \
	{                                                                                          \
#name, type, offsetof(struct entry, name), sizeof(((struct entry *)0)->name), 0,   \
			0, is_signed                                                               \
	}

static struct hv_event_field common[] = {
	{"common_pid", "int", 4, 4, 0, 0, true},
	{"common_type", "unsigned short", 0, 2, 0, 0, false},
};
static struct hv_event_field fields[] = {
	FIELD("s8", s1, true),	      FIELD("u8", u1, false),
	FIELD("short", s2, true),     FIELD("unsigned short", u2, false),
	FIELD("int", s4, true),	      FIELD("unsigned int", u4, false),
	FIELD("long", s8, true),      FIELD("unsigned long", u8, false),
	FIELD("char[4]", text, true), {"far", "int", HV_ENTRY_LEN_MAX - 4, 4, 0, 0, true},
};
#define NR_NUMBERS 8 /* the first fields are numbers */

static struct hv_catalogue catalogue = {.common = {common, HV_ARRAY_LEN(common)}};
static const struct hv_event_type type = {
	.system = "test", .name = "test", .fields = {fields, HV_ARRAY_LEN(fields)}};

static struct world *world;
static struct hv_region region; /* only its files and filters are used */
static struct hv_trampoline_filters used;

static void use_region(const struct world *w)
{
	uint64_t *hole = w->values->hole;

	hole[HV_HOLE_event_files] = (uintptr_t)region.host + HV_REGION_FILES_OFF;
	hole[HV_HOLE_event_files_len] = NR_FILES * sizeof(struct hv_event_file);
	hole[HV_HOLE_filters] = (uintptr_t)region.host + HV_REGION_FILTERS_OFF;
}

static void set_up_world(void)
{
	const struct world_case c = {"", 0, 0, use_region};

	world_set_up(world, &c);
	event_make_kernel(world);
	event_traps = 0;
	for (unsigned i = 0; i < NR_FILES; i++)
		hv_trampoline_filters_set(&used, &region, i, NULL);
}

static void set_up(void)
{
	const char *lack = NULL;

	world = native_new(NR_SLOTS, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
	region.host =
		mmap(MAPPED_AT, HV_REGION_WRITABLE_OFF, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_eq(region.host, MAPPED_AT);
	used = (struct hv_trampoline_filters){0};
	set_up_world();
}

static void tear_down(void)
{
	munmap(region.host, HV_REGION_WRITABLE_OFF);
	native_free(world);
}

static struct hv_event_filter *parse(const char *text)
{
	const struct hv_filter_scope scope = {NULL, &catalogue, &type, 4};
	struct hv_filter_fault fault = {0};
	struct hv_event_filter *filter = hv_event_filter_parse(&scope, text, &fault);

	ck_assert_msg(filter != NULL, "%s: %s", text, fault.why);
	return filter;
}

static struct hv_trampoline_filter program_of(const char *text)
{
	struct hv_event_filter *filter = parse(text);
	struct hv_trampoline_filter program;

	ck_assert_msg(hv_event_filter_program(filter, &program), "%s", text);
	hv_event_filter_free(filter);
	return program;
}

/* From now on file INDEX has the filter TEXT. */
static void use(unsigned index, const char *text)
{
	struct hv_trampoline_filter program = program_of(text);

	hv_trampoline_filters_set(&used, &region, index, &program);
}

static bool has_program(const char *text)
{
	struct hv_event_filter *filter = parse(text);
	struct hv_trampoline_filter program;
	bool has = hv_event_filter_program(filter, &program);

	hv_event_filter_free(filter);
	return has;
}

/* Acts as a probe with file INDEX. Returns whether the event is in the ring of vCPU 0. */
static bool records(unsigned index, const struct entry *entry)
{
	struct world_buffer buffer = {0};
	uint64_t head = world_head(world, 0), file, at;

	file = (uintptr_t)hv_region_event_file(&region, index);
	at = event_reserve(world, &buffer, file, sizeof(*entry));
	ck_assert_uint_ne(at, 0);
	/* A probe does not write the common fields. */
	memcpy((uint8_t *)(uintptr_t)at + HV_ENTRY_HEADER_LEN,
	       (const uint8_t *)entry + HV_ENTRY_HEADER_LEN, sizeof(*entry) - HV_ENTRY_HEADER_LEN);
	event_commit(world, &buffer);
	ck_assert_uint_eq(buffer.file | buffer.event | buffer.entry, 0);
	ck_assert_uint_eq(world_drafts(world, 0), 0);
	return world_head(world, 0) != head;
}

/* -- passing and dropped events ---------------------------------------------------------------- */

static uint64_t random_bits(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* Returns mostly numbers near the points where comparisons change. */
static uint64_t random_number(void)
{
	unsigned nr_bits = 8u << random() % 4;
	uint64_t edge = UINT64_C(1) << (nr_bits - (unsigned)(random() % 2)) % 64;

	switch (random() % 4) {
	case 0:
		return random_bits() >> random() % 64;
	case 1:
		return (uint64_t)(random() % 5) - 2;
	default:
		return edge + (uint64_t)(random() % 3) - 1;
	}
}

static void add_comparison(struct hv_text *text)
{
	static const char *const ops[] = {"==", "!=", "<", "<=", ">", ">=", "&"};
	unsigned field = (unsigned)random() % (NR_NUMBERS + 1);
	bool is_pid = field == NR_NUMBERS;
	const struct hv_event_field *f = is_pid ? &common[0] : &fields[field];
	uint64_t value = random_number();

	if (is_pid && random() % 2)
		value = world_cpu(world)->cat.pid;
	if (f->is_signed && random() % 2)
		hv_text_printf(text, "%s %s %lld", f->name, ops[random() % 7],
			       (long long)(value >> 1) * (random() % 2 ? 1 : -1));
	else
		hv_text_printf(text, "%s %s 0x%llx", f->name, ops[random() % 7],
			       (unsigned long long)(f->is_signed ? value >> 1 : value));
}

/* Adds NR comparisons in a random combination. */
static void add_filter(struct hv_text *text, unsigned nr)
{
	unsigned nr_left = nr / 2;

	if (random() % 3 == 0)
		hv_text_add(text, "!");
	hv_text_add(text, "(");
	if (nr == 1)
		add_comparison(text);
	else
		add_filter(text, nr_left);
	if (nr > 1) {
		hv_text_add(text, random() % 2 ? " && " : " || ");
		add_filter(text, nr - nr_left);
	}
	hv_text_add(text, ")");
}

static bool host_passes(const struct hv_event_filter *filter, struct entry *entry)
{
	const struct hv_filter_record record = {.entry = {(const uint8_t *)entry, sizeof(*entry)},
						.comm = ""};

	entry->pid = (int32_t)world_cpu(world)->cat.pid;
	return hv_event_filter_passes(filter, &record);
}

static struct entry random_entry(void)
{
	struct entry entry = {
		.s1 = (int8_t)random_number(),
		.u1 = (uint8_t)random_number(),
		.s2 = (int16_t)random_number(),
		.u2 = (uint16_t)random_number(),
		.s4 = (int32_t)random_number(),
		.u4 = (uint32_t)random_number(),
		.s8 = (int64_t)random_number(),
		.u8 = random_number(),
	};

	return entry;
}

/* One filter, or two, as with two instances. */
START_TEST(trampoline_and_host_filters_agree)
{
	unsigned nr_passed = 0, nr_others = 0;

	srandom((unsigned)_i + 1);
	for (unsigned i = 0; i < 400; i++) {
		struct hv_text texts[2] = {0};
		struct hv_event_filter *filters[2];
		struct hv_trampoline_filter program, other;
		unsigned nr_filters = 1 + i % 2;

		for (unsigned n = 0; n < 2; n++) {
			add_filter(&texts[n], 1 + (unsigned)random() % (8 / nr_filters));
			filters[n] = parse(texts[n].data);
		}
		ck_assert(hv_event_filter_program(filters[0], &program));
		if (nr_filters == 2) {
			ck_assert(hv_event_filter_program(filters[1], &other));
			ck_assert(hv_trampoline_filter_or(&program, &other));
		}
		hv_trampoline_filters_set(&used, &region, i % NR_FILES, &program);
		for (unsigned k = 0; k < 20; k++) {
			struct entry entry = random_entry();
			bool passes = host_passes(filters[0], &entry) ||
				      (nr_filters == 2 && host_passes(filters[1], &entry));

			ck_assert_msg(records(i % NR_FILES, &entry) == passes, "%s | %s",
				      texts[0].data, texts[1].data);
			*(passes ? &nr_passed : &nr_others) += 1;
		}
		for (unsigned n = 0; n < 2; n++) {
			hv_event_filter_free(filters[n]);
			hv_text_deinit(&texts[n]);
		}
	}
	ck_assert_uint_gt(nr_passed, 500);
	ck_assert_uint_gt(nr_others, 500);
}
END_TEST

START_TEST(unsupported_filters_stay_on_the_host)
{
	ck_assert(has_program("s1==1||s1==2||s1==3||s1==4||s1==5||s1==6||s1==7||s1==8"));
	ck_assert(!has_program("s1==1||s1==2||s1==3||s1==4||s1==5||s1==6||s1==7||s1==8||s1==9"));
	ck_assert(has_program("s1 == 1 && common_pid > 1"));
	ck_assert(!has_program("s1 == 1 && common_type == 1"));
	ck_assert(!has_program("s1 == 1 || text == \"a\""));
	ck_assert(!has_program("s1 == 1 || COMM == \"a\""));
	ck_assert(!has_program("s1 == 1 || CPU == 0"));
	ck_assert(!has_program("far == 1")); /* the draft has less than eight bytes there */
}
END_TEST

START_TEST(filters_of_several_instances)
{
	struct hv_trampoline_filter a = program_of("s1 == 1 && u1 == 2"), b = program_of("s4 < 0");
	struct hv_trampoline_filter many = program_of("u1==1||u1==2||u1==3||u1==4||u1==5"), before;

	ck_assert(hv_trampoline_filter_or(&a, &b));
	ck_assert_uint_eq(a.nr, 3);
	before = a;
	ck_assert(hv_trampoline_filter_or(&a, &before)); /* an equal filter adds nothing */
	ck_assert_uint_eq(a.nr, 3);
	ck_assert(hv_trampoline_filter_or(&many, &a));
	ck_assert_uint_eq(many.nr, 8);
	before = many;
	ck_assert(!hv_trampoline_filter_or(&many, &b));
	ck_assert_mem_eq(&many, &before, sizeof(many));
}
END_TEST

/* -- side effects ------------------------------------------------------------------------------ */

/* A dropped event leaves no task record, no stack and no count. */
START_TEST(filtered_events_write_nothing)
{
	struct entry entry = {.s4 = -5};

	use(1, "s4 > 0");
	hv_region_event_file(&region, 1)->does = HV_EVENT_FILE_STACK;
	world_state(world, 0)->last_pid = 0;
	ck_assert(!records(1, &entry));
	ck_assert_uint_eq(world_state(world, 0)->last_pid, 0);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	entry.s4 = 5;
	ck_assert(records(1, &entry));
	ck_assert_uint_gt(world_head(world, 0), 4); /* task, two of data, event, stack */
	/* Recorded: an event without a filter, and this one after its filter is removed. */
	entry.s4 = -5;
	hv_region_event_file(&region, 1)->does = 0;
	ck_assert(records(2, &entry));
	hv_trampoline_filters_set(&used, &region, 1, NULL);
	ck_assert(records(1, &entry));
}
END_TEST

/* Index of the trampoline instruction before which AT_TRAP is called; number of executed
 * instructions. */
static int trap_at, nr_trapped;
static void (*at_trap)(void);

static void on_trap(int signal, siginfo_t *info, void *context)
{
	uint64_t ip = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)info;
	if (ip - world_gva(world, WORLD_CODE_OFF).v >= hv_arch_x86_64.trampolines.len_bytes)
		return;
	if (nr_trapped++ != trap_at)
		return;
	event_traps = 0;
	at_trap();
	event_traps = EVENT_TRAP_FLAG;
}

/* Calls DO_THIS before each instruction of an event with the filter BEFORE. CHECK checks whether
 * the event was recorded. */
static void before_each(const char *before, const struct entry *entry, void (*do_this)(void),
			void (*check)(bool recorded))
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	bool recorded;

	at_trap = do_this;
	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	trap_at = -1;
	do {
		trap_at++;
		nr_trapped = 0;
		set_up_world();
		use(1, before);
		event_traps = EVENT_TRAP_FLAG;
		recorded = records(1, entry);
		event_traps = 0;
		check(recorded);
	} while (trap_at < nr_trapped);
	ck_assert_int_gt(nr_trapped, 60);
}

/* Passes the old filter and the new one. A mixture of the two would drop it. */
static const struct entry both = {.s4 = 5, .u8 = 7};

static void change_filter(void)
{
	use(1, "u8 == 7");
}

static void change_to_none(void)
{
	hv_trampoline_filters_set(&used, &region, 1, NULL);
}

/* The other file gets the memory of the first one's filter. */
static void give_to_another(void)
{
	change_to_none();
	use(2, "u8 == 9");
}

static void must_be_recorded(bool recorded)
{
	ck_assert_msg(recorded, "instruction %d", trap_at);
}

START_TEST(a_filter_that_changes_before_each_instruction)
{
	before_each("s4 == 5", &both, change_filter, must_be_recorded);
	before_each("s4 == 5", &both, change_to_none, must_be_recorded);
	before_each("s4 == 5", &both, give_to_another, must_be_recorded);
	before_each("s4 < 0 || s4 > 7 || s4 & 4", &both, change_filter, must_be_recorded);
}
END_TEST

static unsigned nr_recorded;

static void another_event(void)
{
	struct entry entry = {.s4 = 1};
	uint32_t drafts = world_drafts(world, 0);
	struct world_buffer buffer = {0};

	for (unsigned file = 1; file <= 2; file++) {
		uint64_t at = event_reserve(world, &buffer,
					    (uintptr_t)hv_region_event_file(&region, file),
					    sizeof(entry));

		ck_assert_uint_ne(at, 0);
		memcpy((void *)(uintptr_t)(at + 8), (uint8_t *)&entry + 8, sizeof(entry) - 8);
		event_commit(world, &buffer);
	}
	ck_assert_uint_eq(world_drafts(world, 0), drafts);
	nr_recorded++;
}

/* Only one of the two events that came in between is recorded. */
static void one_other_is_recorded(bool recorded)
{
	unsigned nr = (sizeof(struct entry) - 8 + HV_DATA_LEN - 1) / HV_DATA_LEN + 1;

	ck_assert_uint_eq(world_head(world, 0), nr_recorded ? nr : 0);
	ck_assert_uint_eq(recorded, nr_recorded != 0);
	nr_recorded = 0;
}

START_TEST(events_that_interrupt_a_filtered_event)
{
	before_each("s4 > 1", &(struct entry){.s4 = 0}, another_event, one_other_is_recorded);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60); /* thousands of traps */
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, trampoline_and_host_filters_agree, 0, 4);
	tcase_add_test(tc, unsupported_filters_stay_on_the_host);
	tcase_add_test(tc, filters_of_several_instances);
	tcase_add_test(tc, filtered_events_write_nothing);
	tcase_add_test(tc, a_filter_that_changes_before_each_instruction);
	tcase_add_test(tc, events_that_interrupt_a_filtered_event);
}

int main(void)
{
	return run_suite("trampoline_event_filter", add_tests);
}
