/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/syscalls.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/events/catalogue.h"
#include "tracer/events/fetch_results.h"
#include "tree/instance/core/instance.h"

/* -- memory that arguments point to ------------------------------------------------------------ */

#define WORD	 8u  /* size of an argument, and of a result */
#define LOC	 4u  /* size of the word with an offset and a length in the entry */
#define READ_MAX 169 /* maximum read per argument: SYSCALL_FAULT_ARG_SZ - 1 */
#define SET_BITS 64
#define NR_SETS	 (HV_SYSCALL_NR_MAX / SET_BITS)
#define DOTS	 "..."
#define FAULT	 "(fault)"

/* Lower addresses are never mapped in a program. */
#define FIRST_ADDRESS 4096

/* The upper half of these tags is 0. In tags of event probes it is the probe's serial, from 1 up;
 * if the serial wraps to 0, the tags are below FIRST_TAG because a probe has fewer results. */
#define FIRST_TAG 0xf000u

/* Value of `way` for strings, instead of the index of the size argument. */
#define OF_STRING HV_SYSCALL_ARGS_MAX
#define NR_WAYS	  (HV_SYSCALL_ARGS_MAX + 1)

#define LOC_LEN_SHIFT 16 /* __data_loc */

_Static_assert(FIRST_TAG + NR_WAYS * HV_SYSCALL_ARGS_MAX * NR_SETS <= 0x10000, "tags");
_Static_assert(HV_USER_BYTES_MAX + sizeof(DOTS) <= HV_SYSCALL_MEMORY_MAX, "a string with dots");

bool hv_syscall_memory_of(const struct hv_syscall *call, struct hv_syscall_memory *ret)
{
	int32_t size_arg = call->user_size_arg;

	if (call->user_mask >> HV_SYSCALL_ARGS_MAX || size_arg >= HV_SYSCALL_ARGS_MAX)
		return false;
	*ret = (struct hv_syscall_memory){
		.mask = (uint8_t)call->user_mask,
		.is_sized = size_arg >= 0,
		.size_arg = size_arg >= 0 ? (uint8_t)size_arg : 0,
	};
	return true;
}

unsigned hv_syscall_memory_nr(const struct hv_syscall_memory *m)
{
	return (unsigned)__builtin_popcount(m->mask);
}

/* -- the program ------------------------------------------------------------------------------- */

/* Returns whether TYPE is a carrier of system call events with memory. */
static bool carries_memory(const struct hv_instances *all, const struct hv_event_type *type);

static unsigned way_of(const struct hv_syscall_memory *m)
{
	return m->is_sized ? m->size_arg : OF_STRING;
}

/* Adjacent steps have the same tag only if they belong to the same read. */
static uint32_t tag_of(unsigned arg, unsigned way, uint32_t nr)
{
	return FIRST_TAG + (arg * NR_WAYS + way) * NR_SETS + nr / SET_BITS;
}

/* The system calls that read memory for each argument and way. */
struct sets {
	uint64_t of[HV_SYSCALL_ARGS_MAX][NR_WAYS][NR_SETS];
};

static void add_call(struct sets *sets, uint32_t nr, const struct hv_syscall_memory *m)
{
	for (unsigned arg = 0; arg < HV_SYSCALL_ARGS_MAX; arg++)
		if (m->mask >> arg & 1)
			sets->of[arg][way_of(m)][nr / SET_BITS] |= UINT64_C(1) << nr % SET_BITS;
}

/* Finds the sets for the events that any instance wants, with TYPE as their carrier. */
static bool find_sets(const struct hv_instances *all, const struct hv_catalogue *c,
		      const struct hv_event_type *type, struct sets *ret,
		      struct hv_kprobe_carrier *ret_carrier)
{
	bool any = false;

	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_event_type *made = &c->types[i], *carrier = NULL;
		HV_AUTO_ERR struct hv_err *err = NULL;
		struct hv_syscall_memory memory;

		if (!hv_syscalls_is(made) || !hv_syscalls_has_memory(made) ||
		    !hv_instances_want_event(all, made))
			continue;
		err = hv_syscalls_carrier(all, c, made, &carrier);
		if (err || carrier != type || !hv_syscall_memory_of(made->syscall, &memory))
			continue;
		add_call(ret, (uint32_t)made->syscall->nr, &memory);
		*ret_carrier = hv_syscalls_in_carrier(all, made);
		any = true;
	}
	return any;
}

struct builder {
	struct hv_trampoline_program *program;
	const struct hv_kprobe_carrier *carrier;
	uint32_t tag;
	bool is_full;
};

static void add_step(struct builder *b, unsigned does, uint64_t value, size_t len_bytes)
{
	struct hv_trampoline_program *p = b->program;

	b->is_full = b->is_full || p->nr >= HV_FETCH_STEPS_MAX;
	if (!b->is_full)
		p->steps[p->nr++] = (struct hv_fetch_step){
			.does = (uint8_t)does,
			.len_bytes = (uint16_t)len_bytes,
			.tag = b->tag,
			.value = value,
		};
}

static void load(struct builder *b, uint64_t entry_off)
{
	add_step(b, HV_FETCH_FIELD, offsetof(struct hv_draft, entry) + entry_off, 0);
}

static void load_arg(struct builder *b, unsigned arg)
{
	load(b, b->carrier->carrier_words_off + arg * WORD);
}

/* Adds the steps for the system calls in SET, numbered from FIRST. */
static void add_reads(struct builder *b, unsigned arg, unsigned way, uint32_t first, uint64_t set)
{
	bool is_sized = way != OF_STRING;

	b->tag = tag_of(arg, way, first);
	load(b, b->carrier->nr_off);
	add_step(b, HV_FETCH_IN, set, first);
	if (is_sized) {
		load_arg(b, way);
		add_step(b, HV_FETCH_MOST, 0, 0);
	}
	load_arg(b, arg);
	add_step(b, HV_FETCH_READS | HV_FETCH_USER | (is_sized ? HV_FETCH_KEEPS : HV_FETCH_STRING),
		 0, is_sized ? READ_MAX : READ_MAX + 1);
}

struct hv_err *hv_syscall_reads_add(const struct hv_instances *all, const struct hv_catalogue *c,
				    const struct hv_event_type *type,
				    struct hv_trampoline_program *ret)
{
	struct hv_kprobe_carrier carrier;
	struct builder b = {.program = ret, .carrier = &carrier};
	HV_AUTO_FREE struct sets *sets = NULL;

	if (!carries_memory(all, type))
		return NULL;
	sets = hv_alloc(sizeof(*sets));
	if (!find_sets(all, c, type, sets, &carrier))
		return NULL;
	for (unsigned arg = 0; arg < HV_SYSCALL_ARGS_MAX; arg++)
		for (unsigned way = 0; way < NR_WAYS; way++)
			for (unsigned i = 0; i < NR_SETS; i++)
				if (sets->of[arg][way][i])
					add_reads(&b, arg, way, i * SET_BITS,
						  sets->of[arg][way][i]);
	if (b.is_full)
		return hv_err_new(ENOSPC,
				  "the events of system calls and the probes of %s:%s read too much"
				  " memory: they need more than %d steps: enable fewer of them",
				  type->system, type->name, HV_FETCH_STEPS_MAX);
	return NULL;
}

/* -- the entry --------------------------------------------------------------------------------- */

/* isprint() of the kernel, which uses Latin-1. */
static bool is_printable(uint8_t c)
{
	return (c >= ' ' && c <= '~') || c >= 0xa0;
}

/* Writes a string like sys_fault_user(). Returns the number of bytes. */
static uint32_t put_string(uint8_t *to, struct hv_span string, uint32_t user_bytes)
{
	size_t len = string.len_bytes ? strnlen((const char *)string.data, string.len_bytes) : 0;
	size_t shown = len > user_bytes ? user_bytes : len;

	for (size_t i = 0; i < shown; i++)
		to[i] = is_printable(string.data[i]) ? string.data[i] : '.';
	if (len > user_bytes)
		memcpy(to + shown, DOTS, sizeof(DOTS));
	else
		to[shown] = '\0';
	return (uint32_t)(shown + (len > user_bytes ? sizeof(DOTS) : 1));
}

/* Writes the text for unreadable memory. For an address that a program cannot map, the kernel
 * writes nothing. */
static uint32_t put_fault(uint8_t *to, const uint8_t *word)
{
	uint64_t address;

	memcpy(&address, word, sizeof(address));
	if (address < FIRST_ADDRESS || address >> 63)
		return 0;
	memcpy(to, FAULT, sizeof(FAULT));
	return sizeof(FAULT);
}

static uint32_t put(const struct hv_syscall_memory *m, const struct hv_syscall_filling *f,
		    unsigned arg, const struct hv_fetch_result *r, uint8_t *to)
{
	size_t len = r->bytes.len_bytes;

	if (!f->user_bytes)
		return 0;
	if (!m->is_sized)
		return !r->is_fault ? put_string(to, r->bytes, f->user_bytes)
				    : put_fault(to, f->words + arg * WORD);
	len = len > f->user_bytes ? f->user_bytes : len;
	if (len)
		memcpy(to, r->bytes.data, len);
	return (uint32_t)len;
}

uint32_t hv_syscall_memory_fill(const struct hv_syscall_memory *m,
				const struct hv_syscall_filling *f)
{
	uint32_t loc_off = f->locs_off, len;
	uint32_t end = loc_off + hv_syscall_memory_nr(m) * (uint32_t)sizeof(uint32_t);
	bool any = !m->mask;

	for (unsigned arg = 0; arg < HV_SYSCALL_ARGS_MAX; arg++) {
		struct hv_fetch_result r = {.is_fault = true};
		uint32_t loc;

		if (!(m->mask >> arg & 1))
			continue;
		any |= hv_fetch_results_find(f->results, tag_of(arg, way_of(m), f->nr), &r);
		len = put(m, f, arg, &r, f->entry + end);
		loc = len << LOC_LEN_SHIFT | end;
		memcpy(f->entry + loc_off, &loc, sizeof(loc));
		loc_off += (uint32_t)sizeof(loc);
		end += len;
	}
	return any ? end : 0;
}

/* -- events ------------------------------------------------------------------------------------ */

/* The event of one system call. */
struct made {
	bool is_known;
	uint16_t id;
	uint16_t nr_off, words_off; /* offsets in the entry */
	uint8_t nr_words;
	uint16_t locs_off; /* end of the arguments; the words that locate memory follow, if any */
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

_Static_assert(16 + HV_SYSCALL_ARGS_MAX * (WORD + LOC + HV_SYSCALL_MEMORY_MAX) <=
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
	size_t nr_locs = hv_syscall_memory_nr(&made->memory), nr_words = fields->nr - 1 - nr_locs;

	if (fields->nr < 1 + nr_locs || nr_words > max_words ||
	    !is_field(&list[0], sizeof(uint32_t)) || made->memory.mask >> nr_words ||
	    (made->memory.is_sized && made->memory.size_arg >= nr_words))
		return false;
	made->nr_off = (uint16_t)list[0].off;
	made->words_off = (uint16_t)((made->nr_off + sizeof(uint32_t) + WORD - 1) / WORD * WORD);
	made->nr_words = (uint8_t)nr_words;
	made->locs_off = (uint16_t)(made->words_off + made->nr_words * WORD);
	return made->locs_off + nr_locs * (LOC + HV_SYSCALL_MEMORY_MAX) <= HV_SYSCALL_ENTRY_MAX &&
	       are_fields(list + 1, nr_words, WORD, made->words_off) &&
	       are_fields(list + 1 + nr_words, nr_locs, LOC, made->locs_off);
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

static bool carries_memory(const struct hv_instances *all, const struct hv_event_type *type)
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
		return hv_err_new(EOPNOTSUPP, "unknown layout of this kernel's raw_syscalls:%s",
				  known[kind_of(type)].name);
	if (nr < 0 || nr >= HV_SYSCALL_NR_MAX || !carrier->list[nr].is_known ||
	    carrier->list[nr].id != type->id)
		return hv_err_new(EOPNOTSUPP, "unknown layout of its entries");
	*ret = hv_catalogue_by_id(c, carrier->id);
	return *ret ? NULL
		    : hv_err_new(ENODEV, "the guest's module that had this event was removed");
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
					     .locs_off = made->locs_off,
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
