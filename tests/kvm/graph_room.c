/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/kvm/graph_room.h"

#include <string.h>

static uint32_t end_of(uint64_t site_off)
{
	return (uint32_t)(world_gva(&room->world, site_off).v + hv_arch_x86_64.site_len_bytes);
}

static struct graph_recorded *recorded_of(struct graph_found *found, uint32_t site_end)
{
	if (site_end == end_of(WORLD_TRACED_OFF))
		return &found->outer;
	ck_assert_uint_eq(site_end, end_of(WORLD_TRACED_OTHER_OFF));
	return &found->inner;
}

/* The words of a call or a return, collected from its data records. */
static uint64_t words[HV_DATA_RECORDS_MAX * HV_DATA_LEN / 8];

static void note_data(const struct hv_record *record)
{
	unsigned nr = record->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
	uint64_t first = record->word[1] | record->word[3] >> HV_DATA_FIRST_SHIFT << HV_WORD_BITS;
	uint64_t second = record->word[2] | record->word[3] >> HV_DATA_SECOND_SHIFT << HV_WORD_BITS;
	uint8_t *at = (uint8_t *)words + nr * HV_DATA_LEN;

	ck_assert_uint_lt(nr, HV_DATA_RECORDS_MAX);
	memcpy(at, &first, 8);
	memcpy(at + 8, &second, 8);
	memcpy(at + 16, &record->word[3], 4);
}

static void check_all_registers(void)
{
	ck_assert_uint_eq(words[HV_REGS_SITE], world_gva(&room->world, WORLD_TRACED_OFF).v);
	ck_assert_uint_eq(words[HV_REGS_STACK], room->before.rsp - 8);
	ck_assert_uint_eq(words[HV_REGS_STACK_WORD], room_outer(room).caller.v);
	ck_assert_uint_eq(words[3], room->before.rbx);
	ck_assert_uint_eq(words[14], room->before.r15);
	ck_assert_uint_eq(words[15], room->before.rax);
	ck_assert_uint_eq(words[16], room->before.r10);
	ck_assert_uint_eq(words[17], room->before.r11);
	ck_assert_uint_eq(words[18] & ~(uint64_t)ROOM_FLAG_TF, room->before.rflags);
}

static void note_probed(const struct hv_record *record, struct graph_found *found)
{
	struct graph_recorded *r =
		recorded_of(found, (uint32_t)(words[HV_REGS_SITE] + hv_arch_x86_64.site_len_bytes));
	bool has_args = (uint16_t)record->word[1] == HV_EVENT_ID_RETURN_ARGS;
	bool is_return = has_args || (uint16_t)record->word[1] == HV_EVENT_ID_RETURN;

	r->returns += is_return;
	r->calls += !is_return;
	if (r == &found->outer && (uint16_t)record->word[1] == HV_EVENT_ID_ALL_REGS)
		check_all_registers();
	if (r != &found->outer || !is_return)
		return;
	ck_assert_uint_eq(words[HV_REGS_CALLER], room_outer(room).caller.v);
	ck_assert_uint_eq(words[HV_REGS_RETVAL], room->before.rcx);
	ck_assert_uint_eq(words[HV_REGS_STACK], room->before.rsp);
	ck_assert_uint_eq(words[3], room->before.rbx);
	ck_assert_uint_eq(words[5], room->before.rdx);
	ck_assert_uint_eq(words[14], room->before.r15);
	if (!has_args)
		return;
	ck_assert_uint_eq(words[HV_RETURN_ARGS], room->before.rdi);
	ck_assert_uint_eq(words[HV_RETURN_ARGS + 1], room->before.rsi);
	ck_assert_uint_eq(words[HV_RETURN_ARGS + 2], room->before.rdx);
	ck_assert_uint_eq(words[HV_RETURN_ARGS + 3], room->before.rcx);
	ck_assert_uint_eq(words[HV_RETURN_ARGS + 4], room->before.r8);
	ck_assert_uint_eq(words[HV_RETURN_ARGS + 5], room->before.r9);
}

static void note_record(const struct hv_record *record, bool more_before, struct graph_found *found)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT;
	unsigned depth = record->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
	const struct world_cpu *cpu = world_cpu(&room->world);
	bool is_exit = kind == HV_RECORD_EXIT;
	uint32_t pid =
		(uint32_t)(record->word[2] >> (is_exit ? HV_EXIT_PID_SHIFT : HV_CALL_PID_SHIFT));
	struct graph_recorded *r;

	if (kind == HV_RECORD_TASK) {
		found->tasks++;
		return;
	}
	if (kind == HV_RECORD_MORE)
		return;
	if (kind == HV_RECORD_DATA) {
		note_data(record);
		return;
	}
	if (kind == HV_RECORD_EVENT) {
		note_probed(record, found);
		return;
	}
	r = recorded_of(found, (uint32_t)record->word[is_exit ? 2 : 1] | 1u << 31);
	ck_assert(pid == cpu->cat.pid || pid == cpu->dd.pid);
	ck_assert(record->word[0] >= room->before_tsc);
	if (kind == HV_RECORD_FUNCTION) {
		r->functions++;
		return;
	}
	if (kind == HV_RECORD_ENTRY) {
		r->entries++;
		r->entry_depth = depth;
		r->called = record->word[0];
		return;
	}
	ck_assert_uint_eq(kind, HV_RECORD_EXIT);
	r->exits++;
	r->mores += more_before;
	r->exit_depth = depth;
	r->returned = record->word[0];
	if (r->entries == 1 && r->exits == 1)
		ck_assert_uint_eq(record->word[1], r->called);
}

/* Checks MORE, the additional record before an exit. */
static void check_more(const struct hv_record *more, const struct hv_record *exit)
{
	const struct hv_params *params = world_params(&room->world);
	unsigned valued = params->graph_flags & HV_GRAPH_RETVAL ? 1 : 0;
	uint32_t overrun = world_home(&room->world, room->world.stack.v)->overrun;

	ck_assert_uint_eq(more->word[0], exit->word[0]);
	ck_assert_uint_eq(more->word[2] >> HV_MORE_VALUE_SHIFT & 1, valued);
	if (!valued)
		ck_assert_uint_eq(more->word[2], overrun);
	else if ((uint32_t)exit->word[2] == end_of(WORLD_TRACED_OFF))
		ck_assert_uint_eq(more->word[1] | more->word[2] >> HV_MORE_TOP_SHIFT
									   << HV_WORD_BITS,
				  room->before.rcx);
}

static void read_ring(unsigned cpu, struct graph_found *found)
{
	struct hv_state *was = room_expected_state(room, cpu);
	struct hv_record *ring = (struct hv_record *)(was + 1);
	uint64_t first = was->head / sizeof(struct hv_record) - room->world.nr_slots;
	struct hv_record before = {0};

	ck_assert_uint_le(world_head(&room->world, cpu) - first, room->world.nr_slots);
	for (uint64_t p = first; p != world_head(&room->world, cpu); p++) {
		struct hv_record record = world_ring(&room->world, cpu)[p % room->world.nr_slots];
		bool more;

		ring[p % room->world.nr_slots] = record;
		ck_assert(room_take_key(room, &record, p));
		more = before.word[3] >> HV_RECORD_KIND_SHIFT == HV_RECORD_MORE;
		if (more) {
			check_more(&before, &record);
			found->host_ns += before.word[3] & ((UINT64_C(1) << HV_MORE_HOST_BITS) - 1);
		}
		note_record(&record, more, found);
		before = record;
	}
	*was = *world_state(&room->world, cpu);
}

/* Checks that every return stack has the same frames as before, and that no counts remain. */
static void check_stacks(void)
{
	struct hv_stack *was =
		(struct hv_stack *)(room->expected + MACHINE_FREE_OFF + WORLD_STACKS_OFF);

	for (unsigned i = 0; i < WORLD_NR_STACKS; i++) {
		const struct hv_stack *is = world_stack(&room->world, i);

		ck_assert_uint_eq(is->word & HV_STACK_NR_MASK, was[i].word & HV_STACK_NR_MASK);
		if (was[i].word & HV_STACK_NR_MASK) {
			ck_assert_uint_eq(is->word,
					  was[i].word | (is->overrun ? HV_STACK_SLOW : 0));
			ck_assert_uint_eq(is->inside, was[i].inside);
			ck_assert_uint_eq(is->depth, was[i].depth);
			ck_assert_uint_eq(is->muted, was[i].muted);
			ck_assert_uint_eq(is->stopped, was[i].stopped);
		}
		was[i] = *is;
	}
}

struct hv_count graph_counted(uint64_t site_off)
{
	struct hv_count sum = {.function_low = end_of(site_off)};

	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		for (unsigned i = 0; i < WORLD_NR_COUNTS; i++) {
			const struct hv_count *c = &world_counts(&room->world, cpu)[i];

			if (c->function_low != sum.function_low)
				continue;
			ck_assert_uint_le(c->hits, 1);
			ck_assert_uint_eq(c->squares, c->ticks * c->ticks);
			ck_assert_uint_eq(c->squares_high, c->ticks >> 32 ? c->squares_high : 0);
			sum.hits += c->hits;
			sum.ticks += c->ticks;
			sum.host += c->host;
		}
	return sum;
}

struct graph_found graph_check(void)
{
	struct graph_found found = {0};
	struct world_cpu *expected_cpu;
	const struct hv_control *control = world_control(&room->world);

	memcpy(room->expected + MACHINE_FREE_OFF + WORLD_COUNTS_OFF, world_counts(&room->world, 0),
	       WORLD_NR_CPUS * WORLD_NR_COUNTS * sizeof(struct hv_count));

	memcpy(room->expected + MACHINE_FREE_OFF + WORLD_DRAFTS_OFF,
	       room->world.host + WORLD_DRAFTS_OFF, WORLD_VCPU_OFF - WORLD_DRAFTS_OFF);
	memcpy(room->expected + MACHINE_FREE_OFF + WORLD_CONTROL_OFF, control, sizeof(*control));
	found.missed = control->missed[WORLD_FETCH_GROUP];
	ck_assert(room_registers_are_right(room));
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		read_ring(cpu, &found);
	check_stacks();
	/* A case may change the steal time, as the host does. */
	expected_cpu = (struct world_cpu *)(room->expected + MACHINE_FREE_OFF + WORLD_CPU_OFF);
	expected_cpu->steal_ns = world_cpu(&room->world)->steal_ns;
	ck_assert(room_memory_is_right(room));
	return found;
}

const struct world_case *graph_case(const char *name)
{
	for (unsigned i = 0; i < world_nr_graph_cases; i++)
		if (strcmp(world_graph_cases[i].name, name) == 0)
			return &world_graph_cases[i];
	ck_abort_msg("no case '%s'", name);
	return NULL;
}

void graph_run_to_the_body(void)
{
	uint64_t body = world_gva(&room->world, WORLD_TRACED_OFF + 5).v;
	struct kvm_regs regs;
	unsigned port;

	room_begin(room, 0);
	do {
		ck_assert_int_eq(machine_step(room->machine, &port), MACHINE_STEP);
		machine_get_regs(room->machine, &regs);
	} while (regs.rip != body);
}
