#include "tests/kvm/graph_room.h"

#include <string.h>

static struct graph_recorded *recorded_of(struct graph_found *found, const struct hv_record *record)
{
	uint32_t site = (uint32_t)record->word[1];

	if (site == (uint32_t)world_gva(&room->world, WORLD_TRACED_OFF).v)
		return &found->outer;
	ck_assert_uint_eq(site, (uint32_t)world_gva(&room->world, WORLD_TRACED_OTHER_OFF).v);
	return &found->inner;
}

static uint64_t ticks_of(const struct hv_record *record)
{
	return (record->word[1] >> 32 & 0x7fffffff) | (record->word[2] >> 32 & 0x7fffffff) << 31;
}

static void note_record(const struct hv_record *record, bool more_before, struct graph_found *found)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & 0xf;
	unsigned depth = record->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
	const struct world_cpu *cpu = world_cpu(&room->world);
	uint32_t pid = (uint32_t)record->word[2];
	struct graph_recorded *r;

	if (kind == HV_RECORD_TASK) {
		found->tasks++;
		return;
	}
	if (kind == HV_RECORD_MORE)
		return;
	r = recorded_of(found, record);
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
		ck_assert_uint_eq(r->returned - ticks_of(record), r->called);
}

/* What the record before an exit must say. */
static void check_more(const struct hv_record *more, const struct hv_record *exit)
{
	const struct hv_params *params = world_params(&room->world);
	unsigned valued = params->graph_flags & HV_GRAPH_RETVAL ? 1 : 0;

	ck_assert_uint_eq(more->word[0], exit->word[0]);
	ck_assert_uint_eq((uint32_t)more->word[3], (uint32_t)exit->word[2]);
	ck_assert_uint_eq(more->word[3] >> HV_MORE_VALUE_SHIFT & 1, valued);
	if (!valued)
		ck_assert_uint_eq(more->word[2], 7); /* the case's overrun */
	else if ((uint32_t)exit->word[1] == (uint32_t)world_gva(&room->world, WORLD_TRACED_OFF).v)
		ck_assert_uint_eq(more->word[1] | more->word[3] >> HV_MORE_VALUE63_SHIFT << 63,
				  room->before.rax);
}

static void read_ring(unsigned cpu, struct graph_found *found)
{
	uint8_t *expected = room->expected + MACHINE_FREE_OFF;
	struct hv_state *was = (struct hv_state *)(expected + WORLD_STATES_OFF) + cpu;
	struct hv_state *is = &world_states(&room->world)[cpu];
	struct hv_record *ring =
		(struct hv_record *)(expected + WORLD_RINGS_OFF) + cpu * room->world.nr_slots;
	struct hv_record before = {0};

	ck_assert_uint_le(is->head - was->head, room->world.nr_slots);
	for (uint64_t p = was->head; p != is->head; p++) {
		struct hv_record record = world_ring(&room->world, cpu)[p % room->world.nr_slots];
		bool more;

		ring[p % room->world.nr_slots] = record;
		ck_assert(room_clear_lap(room, &record, p));
		more = (before.word[3] >> HV_RECORD_KIND_SHIFT & 0xf) == HV_RECORD_MORE;
		if (more)
			check_more(&before, &record);
		note_record(&record, more, found);
		before = record;
	}
	*was = *is;
}

/* Every return stack has the frames it had, and nothing counted is left. */
static void check_stacks(void)
{
	struct hv_stack *was =
		(struct hv_stack *)(room->expected + MACHINE_FREE_OFF + WORLD_STACKS_OFF);

	for (unsigned i = 0; i < WORLD_NR_STACKS; i++) {
		const struct hv_stack *is = world_stack(&room->world, i);

		ck_assert_uint_eq(is->word & HV_STACK_NR_MASK, was[i].word & HV_STACK_NR_MASK);
		if (was[i].word & HV_STACK_NR_MASK) {
			ck_assert_uint_eq(is->word, was[i].word);
			ck_assert_uint_eq(is->inside, was[i].inside);
			ck_assert_uint_eq(is->muted, was[i].muted);
			ck_assert_uint_eq(is->stopped, was[i].stopped);
		}
		was[i] = *is;
	}
}

struct hv_count graph_counted(uint64_t site_off)
{
	uint32_t site = (uint32_t)world_gva(&room->world, site_off).v;
	struct hv_count sum = {.function_low = site};

	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		for (unsigned i = 0; i < WORLD_NR_COUNTS; i++) {
			const struct hv_count *c = &world_counts(&room->world, cpu)[i];

			if (c->function_low != site)
				continue;
			ck_assert_uint_le(c->hits, 1);
			ck_assert_uint_eq(c->squares, c->ticks * c->ticks);
			ck_assert_uint_eq(c->squares_high, c->ticks >> 32 ? c->squares_high : 0);
			sum.hits += c->hits;
			sum.ticks += c->ticks;
		}
	return sum;
}

struct graph_found graph_check(void)
{
	struct graph_found found = {0};

	memcpy(room->expected + MACHINE_FREE_OFF + WORLD_COUNTS_OFF, world_counts(&room->world, 0),
	       WORLD_NR_CPUS * WORLD_NR_COUNTS * sizeof(struct hv_count));

	ck_assert(room_registers_are_right(room));
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		read_ring(cpu, &found);
	check_stacks();
	ck_assert(room_memory_is_right(room));
	return found;
}
