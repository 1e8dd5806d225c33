/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/events/catalogue.h"

#define WORD 8u /* bytes of an argument, and of a result */

/* The event of one system call. */
struct made {
	bool is_known;
	uint16_t id;
	uint16_t nr_off, words_off; /* in the entry */
	uint8_t nr_words;
	uint16_t len_bytes;
};

/* sys_enter or sys_exit of raw_syscalls. */
struct carrier {
	bool is_known;
	uint16_t id;
	uint16_t nr_off, words_off; /* in the entry */
	struct made list[HV_SYSCALL_NR_MAX];
};

enum { ENTER, EXIT, NR_CARRIERS };

static const struct {
	const char *name;
	const char *words; /* the field that has them */
	enum hv_event_reg reg;
	unsigned nr_words;
} known[NR_CARRIERS] = {
	[ENTER] = {"sys_enter", "args", HV_EVENT_REG_SYSCALL_ENTER, HV_SYSCALL_ARGS_MAX},
	[EXIT] = {"sys_exit", "ret", HV_EVENT_REG_SYSCALL_EXIT, 1},
};

struct hv_syscalls {
	struct carrier carriers[NR_CARRIERS];
	uint8_t is_made[(UINT16_MAX + 1) / 8]; /* by id: an event of one system call */
};

bool hv_syscalls_is(const struct hv_event_type *type)
{
	return type->syscall &&
	       (type->reg_kind == known[ENTER].reg || type->reg_kind == known[EXIT].reg);
}

static unsigned kind_of(const struct hv_event_type *type)
{
	return type->reg_kind == known[EXIT].reg ? EXIT : ENTER;
}

/* Whether FIELD has LEN_BYTES, in the part of an entry that is looked at. */
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
	carrier->nr_off = (uint16_t)nr->off;
	carrier->words_off = (uint16_t)words->off;
}

/* The first field is the number, the others are words that follow each other. */
static bool learn_fields(struct made *made, const struct hv_event_fields *fields)
{
	if (!fields->nr || !is_field(&fields->list[0], sizeof(uint32_t)))
		return false;
	made->nr_off = (uint16_t)fields->list[0].off;
	made->words_off = (uint16_t)((made->nr_off + sizeof(uint32_t) + WORD - 1) / WORD * WORD);
	made->nr_words = (uint8_t)(fields->nr - 1);
	made->len_bytes = (uint16_t)(made->words_off + made->nr_words * WORD);
	for (size_t i = 1; i < fields->nr; i++)
		if (!is_field(&fields->list[i], WORD) ||
		    fields->list[i].off != made->words_off + (i - 1) * WORD)
			return false;
	return true;
}

static void learn(struct hv_syscalls *s, const struct hv_event_type *type)
{
	unsigned kind = kind_of(type);
	struct made made = {.is_known = true, .id = (uint16_t)type->id};
	int32_t nr = type->syscall->nr;

	s->is_made[made.id / 8] |= (uint8_t)(1u << made.id % 8);
	if (nr < 0 || nr >= HV_SYSCALL_NR_MAX || !type->has_fields ||
	    type->fields.nr > 1 + known[kind].nr_words || !learn_fields(&made, &type->fields))
		return;
	s->carriers[kind].list[nr] = made;
}

struct hv_syscalls *hv_syscalls_new(const struct hv_catalogue *c)
{
	struct hv_syscalls *s = hv_alloc(sizeof(*s));

	for (unsigned kind = 0; kind < NR_CARRIERS; kind++)
		learn_carrier(&s->carriers[kind], c, kind);
	for (size_t i = 0; i < c->nr; i++)
		if (hv_syscalls_is(&c->types[i]))
			learn(s, &c->types[i]);
	return s;
}

void hv_syscalls_free(struct hv_syscalls *s)
{
	free(s);
}

struct hv_err *hv_syscalls_carrier(const struct hv_syscalls *s, const struct hv_catalogue *c,
				   const struct hv_event_type *type,
				   const struct hv_event_type **ret)
{
	const struct carrier *carrier = &s->carriers[kind_of(type)];
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
	return *ret ? NULL : hv_err_new(ENODEV, "the guest has no such event any more");
}

struct hv_kprobe_carrier hv_syscalls_in_carrier(const struct hv_syscalls *s,
						const struct hv_event_type *type)
{
	const struct carrier *carrier = &s->carriers[kind_of(type)];

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

bool hv_syscalls_any(const struct hv_syscalls *s, const struct hv_event_set *set)
{
	for (size_t i = 0; s && i < set->nr; i++)
		if (is_made(s, set->list[i].id))
			return true;
	return false;
}

bool hv_syscalls_event(const struct hv_syscalls *s, const struct hv_event *raw,
		       struct hv_event *ret, uint8_t *entry)
{
	const struct carrier *carrier = NULL;
	const struct made *made;
	uint64_t nr;
	int32_t number;

	for (unsigned kind = 0; s && kind < NR_CARRIERS; kind++)
		if (s->carriers[kind].is_known && s->carriers[kind].id == raw->id)
			carrier = &s->carriers[kind];
	if (!carrier || raw->is_compat || !hv_span_u64(raw->entry, carrier->nr_off, &nr) ||
	    nr >= HV_SYSCALL_NR_MAX)
		return false;
	made = &carrier->list[nr];
	number = (int32_t)nr;
	memset(entry, 0, HV_SYSCALL_ENTRY_MAX);
	if (!made->is_known || !hv_span_copy(raw->entry, carrier->words_off,
					     entry + made->words_off, made->nr_words * WORD))
		return false;
	memcpy(entry, raw->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &made->id, sizeof(made->id));
	memcpy(entry + made->nr_off, &number, sizeof(number));
	*ret = *raw;
	ret->id = made->id;
	ret->entry = (struct hv_span){entry, made->len_bytes};
	return true;
}
