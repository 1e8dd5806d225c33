/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/syscalls.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/events/catalogue.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/syscall_reads.h"

#define WORD  8u /* size of an argument, and of a result */
#define PLACE 4u /* size of the word with an offset and a length in the entry */

/* The event of one system call. */
struct made {
	bool is_known;
	uint16_t id;
	uint16_t nr_off, words_off; /* offsets in the entry */
	uint8_t nr_words;
	uint16_t places_off; /* end of the arguments; the words that locate memory follow, if any */
	struct hv_syscall_memory memory;
};

/* sys_enter or sys_exit of raw_syscalls. */
struct carrier {
	bool is_known;
	uint16_t id;
	uint16_t nr_off, words_off; /* offsets in the entry */
	bool may_sleep;		    /* whether its probe may sleep */
	struct made list[HV_SYSCALL_NR_MAX];
};

enum { ENTER, EXIT, NR_CARRIERS };

static const struct {
	const char *name;
	const char *words; /* the field that contains the words */
	enum hv_event_reg reg;
	unsigned nr_words;
} known[NR_CARRIERS] = {
	[ENTER] = {"sys_enter", "args", HV_EVENT_REG_SYSCALL_ENTER, HV_SYSCALL_ARGS_MAX},
	[EXIT] = {"sys_exit", "ret", HV_EVENT_REG_SYSCALL_EXIT, 1},
};

_Static_assert(16 + HV_SYSCALL_ARGS_MAX * (WORD + PLACE + HV_SYSCALL_MEMORY_MAX) <=
		       HV_SYSCALL_ENTRY_MAX,
	       "entry");

struct hv_syscalls {
	uint32_t user_bytes; /* bytes shown per argument */
	struct carrier carriers[NR_CARRIERS];
	uint8_t is_made[(UINT16_MAX + 1) / 8]; /* bit mask by id: system call events */
};

bool hv_syscalls_is(const struct hv_event_type *type)
{
	return type->syscall &&
	       (type->reg_kind == known[ENTER].reg || type->reg_kind == known[EXIT].reg);
}

bool hv_syscalls_has_memory(const struct hv_event_type *type)
{
	return type->syscall->user_mask && type->reg_kind == known[ENTER].reg;
}

static unsigned kind_of(const struct hv_event_type *type)
{
	return type->reg_kind == known[EXIT].reg ? EXIT : ENTER;
}

/* Returns whether FIELD has LEN_BYTES and is within the part of an entry that is decoded. */
static bool is_field(const struct hv_event_field *field, uint32_t len_bytes)
{
	return field && field->size_bytes == len_bytes && field->off >= HV_ENTRY_HEADER_LEN &&
	       field->off <= HV_SYSCALL_ENTRY_MAX - len_bytes;
}

static void learn_carrier(struct carrier *carrier, const struct hv_catalogue *c, unsigned kind)
{
	const struct hv_event_type *type = hv_catalogue_find(c, "raw_syscalls", known[kind].name);
	const struct hv_event_field *nr = type ? hv_event_type_field(c, type, "id") : NULL;
	const struct hv_event_field *words =
		type ? hv_event_type_field(c, type, known[kind].words) : NULL;

	if (!is_field(nr, WORD) || !is_field(words, known[kind].nr_words * WORD))
		return;
	carrier->is_known = true;
	carrier->id = (uint16_t)type->id;
	carrier->may_sleep = type->tracepoint.faultable;
	carrier->nr_off = (uint16_t)nr->off;
	carrier->words_off = (uint16_t)words->off;
}

/* Returns whether the NR fields at LIST have LEN_BYTES each and are contiguous from OFF. */
static bool are_fields(const struct hv_event_field *list, size_t nr, uint32_t len_bytes,
		       uint32_t off)
{
	for (size_t i = 0; i < nr; i++)
		if (!is_field(&list[i], len_bytes) || list[i].off != off + i * len_bytes)
			return false;
	return true;
}

/* Checks the fields: the number, then contiguous words, then the locations of the memory in
 * MADE->memory. */
static bool learn_fields(struct made *made, const struct hv_event_fields *fields, size_t max_words)
{
	const struct hv_event_field *list = fields->list;
	size_t nr_places = hv_syscall_memory_nr(&made->memory),
	       nr_words = fields->nr - 1 - nr_places;

	if (fields->nr < 1 + nr_places || nr_words > max_words ||
	    !is_field(&list[0], sizeof(uint32_t)) || made->memory.mask >> nr_words ||
	    (made->memory.is_sized && made->memory.size_arg >= nr_words))
		return false;
	made->nr_off = (uint16_t)list[0].off;
	made->words_off = (uint16_t)((made->nr_off + sizeof(uint32_t) + WORD - 1) / WORD * WORD);
	made->nr_words = (uint8_t)nr_words;
	made->places_off = (uint16_t)(made->words_off + made->nr_words * WORD);
	return made->places_off + nr_places * (PLACE + HV_SYSCALL_MEMORY_MAX) <=
		       HV_SYSCALL_ENTRY_MAX &&
	       are_fields(list + 1, nr_words, WORD, made->words_off) &&
	       are_fields(list + 1 + nr_words, nr_places, PLACE, made->places_off);
}

static void learn(struct hv_syscalls *s, const struct hv_event_type *type)
{
	unsigned kind = kind_of(type);
	struct made made = {.is_known = true, .id = (uint16_t)type->id};
	bool has_memory = hv_syscalls_has_memory(type);
	int32_t nr = type->syscall->nr;

	s->is_made[made.id / 8] |= (uint8_t)(1u << made.id % 8);
	if (nr < 0 || nr >= HV_SYSCALL_NR_MAX || !type->has_fields ||
	    (has_memory && !hv_syscall_memory_of(type->syscall, &made.memory)) ||
	    !learn_fields(&made, &type->fields, known[kind].nr_words))
		return;
	s->carriers[kind].list[nr] = made;
}

static struct hv_syscalls *new_syscalls(const struct hv_catalogue *c)
{
	struct hv_syscalls *s = hv_alloc(sizeof(*s));

	s->user_bytes = c->user_bytes;
	for (unsigned kind = 0; kind < NR_CARRIERS; kind++)
		learn_carrier(&s->carriers[kind], c, kind);
	for (size_t i = 0; i < c->nr; i++)
		if (hv_syscalls_is(&c->types[i]))
			learn(s, &c->types[i]);
	return s;
}

static struct hv_syscalls *state_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_SYSCALLS);
}

bool hv_syscalls_are_known(const struct hv_instances *all)
{
	return state_of(all) != NULL;
}

void hv_syscalls_need(struct hv_instances *all, const struct hv_catalogue *c,
		      const struct hv_event_type *type)
{
	if (!state_of(all) && hv_syscalls_is(type))
		hv_instances_set_state(all, HV_PART_SYSCALLS, new_syscalls(c));
}

bool hv_syscalls_carries_memory(const struct hv_instances *all, const struct hv_event_type *type)
{
	const struct hv_syscalls *s = state_of(all);

	return s && s->carriers[ENTER].is_known && s->carriers[ENTER].id == type->id;
}

struct hv_err *hv_syscalls_carrier(const struct hv_instances *all, const struct hv_catalogue *c,
				   const struct hv_event_type *type,
				   const struct hv_event_type **ret)
{
	const struct carrier *carrier = &state_of(all)->carriers[kind_of(type)];
	int32_t nr = type->syscall->nr;

	if (!carrier->is_known)
		return hv_err_new(EOPNOTSUPP,
				  "the form of this kernel's raw_syscalls:%s is not "
				  "known",
				  known[kind_of(type)].name);
	if (nr < 0 || nr >= HV_SYSCALL_NR_MAX || !carrier->list[nr].is_known ||
	    carrier->list[nr].id != type->id)
		return hv_err_new(EOPNOTSUPP, "the form of its entries is not known");
	*ret = hv_catalogue_by_id(c, carrier->id);
	return *ret ? NULL : hv_err_new(ENODEV, "the guest no longer has this event");
}

struct hv_kprobe_carrier hv_syscalls_in_carrier(const struct hv_instances *all,
						const struct hv_event_type *type)
{
	const struct carrier *carrier = &state_of(all)->carriers[kind_of(type)];

	return (struct hv_kprobe_carrier){
		.is_of_several = true,
		.nr = (uint64_t)type->syscall->nr,
		.nr_off = carrier->nr_off,
		.words_off = carrier->list[type->syscall->nr].words_off,
		.carrier_words_off = carrier->words_off,
	};
}

static bool is_made(const struct hv_syscalls *s, uint32_t id)
{
	return id / 8 < sizeof(s->is_made) && s->is_made[id / 8] >> id % 8 & 1;
}

static bool makes_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	const struct hv_syscalls *s = state_of(all);

	for (size_t i = 0; s && i < set->nr; i++)
		if (is_made(s, set->list[i].id))
			return true;
	return false;
}

bool hv_syscalls_event(const struct hv_instances *all, const struct hv_event *raw,
		       struct hv_event *ret, uint8_t *entry)
{
	const struct hv_syscalls *s = state_of(all);
	const struct carrier *carrier = NULL;
	const struct made *made;
	uint64_t nr;
	int32_t number;
	uint32_t len;

	for (unsigned kind = 0; s && kind < NR_CARRIERS; kind++)
		if (s->carriers[kind].is_known && s->carriers[kind].id == raw->id)
			carrier = &s->carriers[kind];
	if (!carrier || raw->is_compat || !hv_span_u64(raw->entry, carrier->nr_off, &nr) ||
	    nr >= HV_SYSCALL_NR_MAX)
		return false;
	made = &carrier->list[nr];
	number = (int32_t)nr;
	if (!made->is_known)
		return false;
	memset(entry, 0, made->words_off);
	if (!hv_span_copy(raw->entry, carrier->words_off, entry + made->words_off,
			  made->nr_words * WORD))
		return false;
	memcpy(entry, raw->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &made->id, sizeof(made->id));
	memcpy(entry + made->nr_off, &number, sizeof(number));
	len = hv_syscall_memory_fill(&made->memory,
				     &(struct hv_syscall_filling){
					     .nr = (uint32_t)nr,
					     .user_bytes = s->user_bytes,
					     .results = {raw->results, raw->results_len},
					     .words = entry + made->words_off,
					     .entry = entry,
					     .places_off = made->places_off,
				     });
	*ret = *raw;
	ret->id = made->id;
	/* If the probe may sleep, its own preemption count is subtracted as for all other
	 * events. */
	ret->is_as_deep = carrier->may_sleep;
	ret->entry = (struct hv_span){entry, len};
	return len != 0;
}

const struct hv_part hv_syscalls_part = {
	.makes_any = makes_any,
};
