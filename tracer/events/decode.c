/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/decode.h"
#include "tracer/events/names.h"

#include <string.h>

#define DEPTH_SHOWN_MAX 15
#define PIECE		64 /* bytes zeroed at a time */
#define BITS_31		UINT64_C(0x7fffffff)
#define BITS_48		UINT64_C(0xffffffffffff)
#define WORD_MASK	((UINT64_C(1) << HV_WORD_BITS) - 1)

uint32_t hv_record_pid(const struct hv_record *record)
{
	switch (hv_record_kind(record)) {
	case HV_RECORD_TASK:
		return (uint32_t)record->word[3] & HV_TASK_PID_MASK;
	case HV_RECORD_EXIT:
		return (uint32_t)(record->word[2] >> HV_EXIT_PID_SHIFT);
	default:
		return (uint32_t)(record->word[2] >> HV_CALL_PID_SHIFT);
	}
}

uint64_t hv_record_call_tsc(const struct hv_record *record)
{
	return record->word[1] < record->word[0] ? record->word[1] : record->word[0];
}

void hv_decode_task(const struct hv_record *record, uint32_t *ret_pid, char *ret_comm)
{
	uint64_t top = record->word[3] >> HV_TASK_COMM7_SHIFT & 3;
	uint64_t comm[2] = {record->word[1] | top << HV_WORD_BITS, record->word[2]};

	memcpy(ret_comm, comm, HV_COMM_LEN);
	ret_comm[HV_COMM_LEN - 1] = '\0';
	*ret_pid = hv_record_pid(record);
}

uint32_t hv_record_tgid(const struct hv_record *record)
{
	return (uint32_t)(record->word[3] >> HV_TASK_TGID_SHIFT) & HV_TASK_PID_MASK;
}

_Static_assert(HV_CONTEXT_IRQS_OFF == HV_TRACE_IRQS_OFF &&
		       HV_CONTEXT_NEED_RESCHED_LAZY == HV_TRACE_NEED_RESCHED_LAZY &&
		       HV_CONTEXT_NEED_RESCHED == HV_TRACE_NEED_RESCHED &&
		       HV_CONTEXT_HARDIRQ == HV_TRACE_HARDIRQ &&
		       HV_CONTEXT_SOFTIRQ == HV_TRACE_SOFTIRQ &&
		       HV_CONTEXT_PREEMPT_RESCHED == HV_TRACE_PREEMPT_RESCHED &&
		       HV_CONTEXT_NMI == HV_TRACE_NMI && HV_CONTEXT_BH_OFF == HV_TRACE_BH_OFF,
	       "flags are not translated");

static uint8_t shown_depth(unsigned depth)
{
	return depth < DEPTH_SHOWN_MAX ? (uint8_t)depth : DEPTH_SHOWN_MAX;
}

unsigned hv_record_number(const struct hv_record *record)
{
	return record->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
}

/* Returns the lowest address at or above START whose low bits are LOW_BITS. */
static uint32_t address_after(uint32_t start, uint64_t low_bits)
{
	uint32_t low = (uint32_t)low_bits << 3 & HV_WORD_ADDRESS_MASK;

	return start + ((low - start) & HV_WORD_ADDRESS_MASK);
}

void hv_decode_words(const struct hv_decode *d, const struct hv_record *words, unsigned nr,
		     struct hv_stack_words *ret)
{
	const struct hv_record *head = &words[0];
	uint32_t second = (uint32_t)(head->word[2] >> HV_WORDS_SECOND_SHIFT << 3 & BITS_31);

	ret->sp = (uint32_t)(head->word[1] & BITS_31);
	ret->bp = (uint32_t)(head->word[2] & BITS_31);
	ret->ip = hv_gva(0);
	ret->text_base = d->text_base;
	ret->nr = 0;
	for (unsigned i = 1; i < nr; i++)
		for (unsigned j = 1; j <= 3; j++) {
			uint64_t word = words[i].word[j];
			bool is_second = word >> HV_WORD_SECOND_BIT & 1;

			if (!(word & BITS_48))
				continue;
			ret->list[ret->nr].at = address_after(is_second ? second : ret->sp,
							      word >> HV_WORD_ADDRESS_SHIFT);
			ret->list[ret->nr].value = (uint32_t)(word & BITS_31);
			ret->list[ret->nr++].is_text = (word & HV_WORD_TEXT) != 0;
		}
}

static bool is_deepest(const struct hv_record *record)
{
	return hv_record_kind(record) == HV_RECORD_STACK &&
	       record->word[3] >> HV_STACK_DEEPEST_BIT & 1;
}

static bool is_of_section(const struct hv_record *record)
{
	return hv_record_kind(record) == HV_RECORD_SECTION ||
	       (hv_record_kind(record) == HV_RECORD_STACK && !is_deepest(record) &&
		record->word[3] >> HV_STACK_SECTION_BIT & 1 &&
		record->word[3] >> HV_STACK_COMMAND_BIT & 1);
}

static bool is_of_event(const struct hv_record *record)
{
	return hv_record_kind(record) == HV_RECORD_STACK &&
	       record->word[3] >> HV_STACK_SECTION_BIT & 1 &&
	       !(record->word[3] >> HV_STACK_COMMAND_BIT & 1);
}

/* Returns the guest instruction that leads to the detour; 0: no such detour. */
static struct hv_gva detoured_by(const struct hv_decode *d, const struct hv_record *record)
{
	uint32_t low_bits = (uint32_t)HV_TEXT_BIT | d->arch->decode_call(record->word[1]).site_end;
	struct hv_gva found = {0};

	if (!d->find_detoured || !d->find_detoured(d->detours, low_bits, &found))
		return hv_gva(0);
	return found;
}

/* Returns the function whose site ends at END, an address as in a record. */
static inline struct hv_gva site_of(const struct hv_decode *d, uint32_t end)
{
	return hv_gva_add(d->text_base, (HV_TEXT_BIT | end) - d->arch->site_len_bytes);
}

/* Zeroes E in pieces that compile without a call or a loop, because this runs for each event. */
static inline void clear_event(struct hv_event *e)
{
	uint8_t *bytes = (uint8_t *)e;

	_Static_assert(sizeof(*e) > 2 * PIECE && sizeof(*e) <= 3 * PIECE, "three pieces");
	memset(bytes, 0, PIECE);
	memset(bytes + PIECE, 0, PIECE);
	memset(bytes + 2 * PIECE, 0, sizeof(*e) - 2 * PIECE);
}

/* Decodes the fields common to all events, except ip. */
static inline void decode_common(const struct hv_decode *d, const struct hv_record *record,
				 uint16_t thread_flags, uint64_t pid, struct hv_event *ret)
{
	const uint64_t *word = record->word;
	struct hv_context context = d->arch->decode_context(
		(uint32_t)word[3], (uint16_t)(word[3] >> 32), thread_flags, d->context_bits);

	clear_event(ret);
	ret->kind = HV_EVENT_FUNCTION;
	ret->pid = (uint32_t)pid;
	ret->flags = context.flags;
	ret->preempt_depth = shown_depth(context.preempt_depth);
}

/* Decodes the preempt count of a guest event, as it was outside the callback. */
static void decode_depth(const struct hv_decode *d, const struct hv_record *record,
			 struct hv_event *ret)
{
	const uint64_t *word = record->word;
	struct hv_context context = d->arch->decode_context(
		(uint32_t)word[3], (uint16_t)(word[3] >> 32), 0, d->context_bits);

	if (!(word[1] >> HV_EVENT_INSIDE_BIT & 1) &&
	    context.preempt_depth >= d->callback_preempt_depth)
		context.preempt_depth -= d->callback_preempt_depth;
	if (d->callback_preempt_depth)
		context.preempt_depth += word[1] >> HV_EVENT_DEEPER_SHIFT & HV_EVENT_DEEPER_MAX;
	ret->preempt_depth = shown_depth(context.preempt_depth);
}

static uint16_t depth_of(const struct hv_record *record)
{
	return record->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
}

/* CALLER is an address as in a record. If another traced function jumped to a function, its caller
 * is our handler. */
static inline struct hv_gva parent_of(const struct hv_decode *d, uint32_t caller)
{
	struct hv_gva parent = hv_gva_add(d->text_base, HV_TEXT_BIT | caller);
	uint64_t reader_len = d->arch->trampolines.ftrace_reader_len_bytes;
	uint64_t off = parent.v - d->ftrace_readers.v;

	if (off < HV_NR_FTRACE_READERS * reader_len)
		return d->ftrace_reader_callers[off / reader_len];
	return parent.v == d->handler.v ? hv_gva(0) : parent;
}

/* Decodes the fields common to calls and guest events, except ip. */
static inline void decode_in_task(const struct hv_decode *d, const struct hv_record *record,
				  struct hv_event *ret)
{
	const uint64_t word = record->word[2];
	uint16_t thread_flags = word >> HV_CALL_FLAGS_SHIFT & 0xff;

	decode_common(d, record, (uint16_t)(thread_flags << hv_resched_shift(d->context_bits)),
		      word >> HV_CALL_PID_SHIFT, ret);
	ret->migrate_depth = shown_depth(word & 0xff);
	ret->lazy_depth = word >> HV_CALL_LAZY_SHIFT & HV_CALL_LAZY_MAX;
	if (word >> HV_CALL_LAZY_ASKED & 1)
		ret->flags |= HV_TRACE_NEED_RESCHED_LAZY;
}

/* Includes the results, if any. */
static unsigned entry_len(const struct hv_record *record)
{
	return record->word[1] >> HV_EVENT_LEN_SHIFT & (HV_EVENT_RESULTS - 1);
}

static bool has_results(const struct hv_record *record)
{
	return record->word[1] >> HV_EVENT_LEN_SHIFT & HV_EVENT_RESULTS;
}

bool hv_record_has_entry(const struct hv_record *record)
{
	unsigned len = entry_len(record), nr = hv_record_number(record);

	return len >= HV_ENTRY_HEADER_LEN && len <= HV_ENTRY_LEN_MAX &&
	       nr == (len - HV_ENTRY_HEADER_LEN + HV_DATA_LEN - 1) / HV_DATA_LEN;
}

static void put_header(const struct hv_decode *d, const struct hv_event *e, uint8_t *entry)
{
	uint16_t type = e->id;

	memcpy(entry, &type, sizeof(type));
	entry[2] = e->flags;
	entry[3] = (uint8_t)((e->preempt_depth & 15u) | (e->migrate_depth & 15u) << 4);
	memcpy(entry + 4, &e->pid, sizeof(e->pid));
	if (d->lazy_count_off && d->lazy_count_off < e->entry.len_bytes)
		entry[d->lazy_count_off] = e->lazy_depth;
}

static void put_data(const struct hv_record *r, uint8_t *at)
{
	uint64_t first = r->word[1] | (r->word[3] >> HV_DATA_FIRST_SHIFT) << HV_WORD_BITS;
	uint64_t second = r->word[2] | (r->word[3] >> HV_DATA_SECOND_SHIFT) << HV_WORD_BITS;
	uint32_t third = (uint32_t)r->word[3];

	memcpy(at, &first, sizeof(first));
	memcpy(at + 8, &second, sizeof(second));
	memcpy(at + 16, &third, sizeof(third));
}

/* Splits the results off the entry of E. If the entry does not contain their end, it has no
 * results. */
static void split_results(struct hv_event *e)
{
	struct hv_span all = e->entry;
	uint64_t end, len, at;

	if (all.len_bytes < HV_ENTRY_HEADER_LEN + HV_EVENT_RESULTS_END)
		return;
	end = all.len_bytes - HV_EVENT_RESULTS_END;
	if (!hv_span_u64(all, end, &len) || len < HV_ENTRY_HEADER_LEN || len > end)
		return;
	at = (len + HV_FETCH_ALIGN - 1) / HV_FETCH_ALIGN * HV_FETCH_ALIGN;
	if (at > end)
		return;
	e->entry.len_bytes = len;
	e->results = all.data + at;
	e->results_len = (uint16_t)(end - at);
}

/* The entry has room for whole data records. */
void hv_decode_entry(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *data, struct hv_event *event, uint8_t *entry)
{
	unsigned nr = hv_record_number(record);

	for (unsigned i = 0; i < nr; i++)
		put_data(&data[i], entry + HV_ENTRY_HEADER_LEN + i * HV_DATA_LEN);
	event->entry = (struct hv_span){entry, entry_len(record)};
	if (has_results(record))
		split_results(event);
	put_header(d, event, entry);
}

static void get_data(const uint8_t *at, struct hv_record *r)
{
	uint64_t first, second;
	uint32_t third;

	memcpy(&first, at, sizeof(first));
	memcpy(&second, at + 8, sizeof(second));
	memcpy(&third, at + 16, sizeof(third));
	r->word[1] = first & WORD_MASK;
	r->word[2] = second & WORD_MASK;
	r->word[3] = third | second >> HV_WORD_BITS << HV_DATA_SECOND_SHIFT |
		     first >> HV_WORD_BITS << HV_DATA_FIRST_SHIFT |
		     (uint64_t)HV_RECORD_DATA << HV_RECORD_KIND_SHIFT;
}

unsigned hv_encode_entry(const struct hv_record *record, const struct hv_event *event,
			 struct hv_record *ret)
{
	const struct hv_span entry = event->entry;
	size_t len_bytes = entry.len_bytes - HV_ENTRY_HEADER_LEN;
	unsigned nr = 0;

	for (size_t at = 0; at < len_bytes; at += HV_DATA_LEN, nr++) {
		size_t part = len_bytes - at < HV_DATA_LEN ? len_bytes - at : HV_DATA_LEN;
		uint8_t data[HV_DATA_LEN] = {0};

		memcpy(data, entry.data + HV_ENTRY_HEADER_LEN + at, part);
		ret[nr].word[0] = record->word[0];
		get_data(data, &ret[nr]);
		ret[nr].word[3] |= (uint64_t)nr << HV_RECORD_DEPTH_SHIFT;
	}
	ret[nr] = *record;
	ret[nr].word[1] = event->id | (uint64_t)entry.len_bytes << HV_EVENT_LEN_SHIFT |
			  (uint64_t)!event->is_as_deep << HV_EVENT_INSIDE_BIT |
			  (uint64_t)(event->deeper & HV_EVENT_DEEPER_MAX) << HV_EVENT_DEEPER_SHIFT |
			  (record->word[1] & UINT64_C(1) << HV_EVENT_COMPAT_BIT);
	ret[nr].word[3] &= ~((uint64_t)HV_RECORD_DEPTH_MAX << HV_RECORD_DEPTH_SHIFT);
	ret[nr].word[3] |= (uint64_t)nr << HV_RECORD_DEPTH_SHIFT;
	return nr + 1;
}

/* decode_in_task() and parent_of() decode the rest. */
static void decode_section(const struct hv_decode *d, const struct hv_record *record,
			   struct hv_event *ret)
{
	bool begins = hv_record_kind(record) == HV_RECORD_SECTION &&
		      !(record->word[3] >> HV_SECTION_ENDS_BIT & 1);

	ret->ip = detoured_by(d, record);
	ret->of_section = begins ? HV_SECTION_BEGINS : HV_SECTION_ENDS;
	if (!d->arch->decode_call(record->word[1]).caller)
		ret->parent_ip = hv_gva(0);
}

static void decode_exit(const struct hv_decode *d, const struct hv_record *record,
			const struct hv_record *more, struct hv_event *ret)
{
	decode_common(d, record, 0, record->word[2] >> HV_EXIT_PID_SHIFT, ret);
	ret->ip = site_of(d, (uint32_t)(record->word[2] & HV_EXIT_SITE_MASK));
	ret->kind = HV_EVENT_GRAPH_EXIT;
	ret->depth = depth_of(record);
	if (!more)
		return;
	ret->overrun = (uint32_t)more->word[2];
	ret->host_ns = more->word[3] & ((UINT64_C(1) << HV_MORE_HOST_BITS) - 1);
	ret->has_retval = more->word[2] >> HV_MORE_VALUE_SHIFT & 1;
	if (ret->has_retval)
		ret->retval = more->word[1] | more->word[2] >> HV_MORE_TOP_SHIFT << HV_WORD_BITS;
}

static void decode_guests(const struct hv_decode *d, const struct hv_record *record,
			  struct hv_event *ret)
{
	decode_in_task(d, record, ret);
	decode_depth(d, record, ret);
	ret->kind = HV_EVENT_GUESTS;
	ret->id = hv_record_event_id(record);
	ret->is_compat = record->word[1] >> HV_EVENT_COMPAT_BIT & 1;
}

/* decode_in_task() and parent_of() decode the rest. */
static void decode_call_kind(const struct hv_decode *d, const struct hv_record *record,
			     struct hv_event *ret)
{
	if (is_of_section(record))
		decode_section(d, record, ret);
	switch (hv_record_kind(record)) {
	case HV_RECORD_ENTRY:
		ret->kind = HV_EVENT_GRAPH_ENTRY;
		ret->depth = depth_of(record);
		return;
	case HV_RECORD_STACK:
	case HV_RECORD_COMMAND:
		ret->kind = hv_record_kind(record) == HV_RECORD_STACK ? HV_EVENT_STACK
								      : HV_EVENT_COMMAND;
		ret->is_deepest = is_deepest(record);
		ret->of_command = record->word[3] >> HV_STACK_COMMAND_BIT & 1 &&
				  !(ret->is_deepest && record->word[3] >> HV_STACK_SECTION_BIT & 1);
		ret->of_event = is_of_event(record);
		if (ret->of_event)
			ret->ip = hv_gva(0);
		return;
	default:
		return;
	}
}

void hv_decode_event(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *more, struct hv_event *ret)
{
	const unsigned kind = hv_record_kind(record);
	struct hv_call_addresses call;

	if (kind == HV_RECORD_EXIT) {
		decode_exit(d, record, more, ret);
		return;
	}
	if (kind == HV_RECORD_EVENT) {
		decode_guests(d, record, ret);
		return;
	}
	call = d->arch->decode_call(record->word[1]);
	decode_in_task(d, record, ret);
	ret->ip = site_of(d, call.site_end);
	ret->parent_ip = parent_of(d, call.caller);
	if (kind != HV_RECORD_FUNCTION)
		decode_call_kind(d, record, ret);
}

/* -- in brief ------------------------------------------------------------------------------ */

/* The encoded and decoded context of the last record. Most records have the same context as the one
 * before. */
struct last_context {
	uint64_t word; /* words of the record; UINT64_MAX: none */
	struct hv_context found;
};

/* Returns a bit for each kind of record that is an event of KINDS. */
static unsigned record_kinds(unsigned kinds)
{
	static const struct {
		unsigned event, record;
	} both[] = {{HV_EVENT_FUNCTION, HV_RECORD_FUNCTION},
		    {HV_EVENT_GRAPH_ENTRY, HV_RECORD_ENTRY},
		    {HV_EVENT_GRAPH_EXIT, HV_RECORD_EXIT}};
	unsigned found = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(both); i++)
		if (kinds & HV_BRIEF_KIND(both[i].event))
			found |= 1u << both[i].record;
	return found;
}

/* FLAGS is the byte with the thread flags. */
static inline void brief_context(const struct hv_decode *d, uint64_t word, uint64_t flags,
				 struct last_context *last, struct hv_brief *ret)
{
	word = (word & BITS_48) | flags << 48;
	if (word != last->word) {
		last->word = word;
		last->found = d->arch->decode_context(
			(uint32_t)word, (uint16_t)(word >> 32),
			(uint16_t)(flags << hv_resched_shift(d->context_bits)), d->context_bits);
	}
	ret->flags = last->found.flags;
	ret->preempt_depth = shown_depth(last->found.preempt_depth);
}

static inline void decode_brief_exit(const struct hv_decode *d, const struct hv_record *record,
				     struct last_context *last, struct hv_brief *ret)
{
	brief_context(d, record->word[3], 0, last, ret);
	ret->kind = HV_EVENT_GRAPH_EXIT;
	ret->pid = (uint32_t)(record->word[2] >> HV_EXIT_PID_SHIFT);
	ret->ip = site_of(d, (uint32_t)(record->word[2] & HV_EXIT_SITE_MASK));
	ret->parent_ip = hv_gva(0);
	ret->call_ns = hv_record_call_tsc(record);
	ret->depth = depth_of(record);
	ret->migrate_depth = ret->lazy_depth = 0;
}

static inline void decode_brief_call(const struct hv_decode *d, const struct hv_record *record,
				     struct last_context *last, struct hv_brief *ret)
{
	const struct hv_call_addresses call = d->arch->decode_call(record->word[1]);
	const uint64_t word = record->word[2];

	brief_context(d, record->word[3], word >> HV_CALL_FLAGS_SHIFT & 0xff, last, ret);
	ret->pid = (uint32_t)(word >> HV_CALL_PID_SHIFT);
	ret->ip = site_of(d, call.site_end);
	ret->parent_ip = parent_of(d, call.caller);
	ret->call_ns = 0;
	ret->migrate_depth = shown_depth(word & 0xff);
	ret->lazy_depth = word >> HV_CALL_LAZY_SHIFT & HV_CALL_LAZY_MAX;
	if (word >> HV_CALL_LAZY_ASKED & 1)
		ret->flags |= HV_TRACE_NEED_RESCHED_LAZY;
	ret->kind = HV_EVENT_FUNCTION;
	ret->depth = 0;
	if (hv_record_kind(record) == HV_RECORD_FUNCTION)
		return;
	ret->kind = HV_EVENT_GRAPH_ENTRY;
	ret->depth = depth_of(record);
}

size_t hv_decode_briefs(const struct hv_decode *d, const struct hv_record *records,
			size_t stride_bytes, size_t max, unsigned kinds, struct hv_brief *ret)
{
	const unsigned wanted = record_kinds(kinds);
	struct last_context last = {.word = UINT64_MAX};
	const struct hv_record *r = records;
	size_t nr = 0;

	for (; nr < max && wanted >> hv_record_kind(r) & 1; nr++) {
		if (hv_record_kind(r) == HV_RECORD_EXIT)
			decode_brief_exit(d, r, &last, &ret[nr]);
		else
			decode_brief_call(d, r, &last, &ret[nr]);
		r = (const struct hv_record *)((const char *)r + stride_bytes);
	}
	return nr;
}

/* ------------------------------------------------------------------------------------------ */

void hv_event_set_comm(struct hv_event *event, const char *comm)
{
	if (event->pid == 0)
		comm = HV_COMM_IDLE;
	else if (!comm)
		comm = HV_COMM_UNKNOWN;
	for (size_t i = 0; i < sizeof(event->comm); i++)
		event->comm[i] = 0;
	for (size_t i = 0; i < sizeof(event->comm) - 1 && comm[i]; i++)
		event->comm[i] = comm[i];
}

struct hv_record hv_encode_lost(uint64_t tsc, uint64_t nr)
{
	struct hv_record r = {{tsc, nr, 0, (uint64_t)HV_RECORD_LOST << HV_RECORD_KIND_SHIFT}};

	return r;
}

struct hv_record hv_encode_task(uint64_t tsc, uint32_t pid, uint32_t tgid, const char *comm)
{
	struct hv_record r = {{tsc}};

	for (unsigned i = 0; i < 16; i++)
		r.word[1 + i / 8] |= (uint64_t)(uint8_t)comm[i] << i % 8 * 8;
	r.word[3] = (pid & HV_TASK_PID_MASK) |
		    (uint64_t)(tgid & HV_TASK_PID_MASK) << HV_TASK_TGID_SHIFT |
		    r.word[1] >> HV_WORD_BITS << HV_TASK_COMM7_SHIFT |
		    (uint64_t)HV_RECORD_TASK << HV_RECORD_KIND_SHIFT;
	return r;
}

/* -- records of several parts ------------------------------------------------------------------ */

static bool goes_on(const struct hv_parts *p, const struct hv_record *record, uint64_t position,
		    uint64_t run)
{
	return p->nr && position == p->position + 1 && run == p->run &&
	       hv_record_tsc(record) == hv_record_tsc(&p->list[0]);
}

static unsigned nr_max(const struct hv_record *record)
{
	return hv_record_kind(record) == HV_RECORD_DATA ? HV_DATA_RECORDS_MAX
							: 1 + HV_STACK_RECORDS_MAX;
}

void hv_parts_add(struct hv_parts *p, const struct hv_record *record, uint64_t position,
		  uint64_t run)
{
	unsigned number = hv_record_number(record);

	if (hv_record_kind(record) == HV_RECORD_MORE || number == 0)
		p->nr = 0;
	else if (number != p->nr || number >= nr_max(record) ||
		 hv_record_kind(&p->list[0]) != hv_record_kind(record) ||
		 !goes_on(p, record, position, run)) {
		p->nr = 0;
		return;
	}
	p->list[p->nr++] = *record;
	p->position = position;
	p->run = run;
}

bool hv_parts_are_of(const struct hv_parts *p, const struct hv_record *record, uint64_t position,
		     uint64_t run)
{
	if (!goes_on(p, record, position, run))
		return false;
	switch (hv_record_kind(record)) {
	case HV_RECORD_EXIT:
		return hv_record_kind(&p->list[0]) == HV_RECORD_MORE;
	case HV_RECORD_STACK:
		return hv_record_kind(&p->list[0]) == HV_RECORD_WORDS &&
		       p->nr == 1 + (hv_record_number(record) & HV_STACK_RECORDS_MAX);
	case HV_RECORD_EVENT:
		return hv_record_kind(&p->list[0]) == HV_RECORD_DATA &&
		       p->nr == hv_record_number(record);
	default:
		return false;
	}
}
