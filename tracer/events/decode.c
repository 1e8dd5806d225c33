#include "tracer/events/decode.h"

#include <string.h>

#define TSC_MASK	(~(UINT64_C(1) << HV_LAP_BIT))
#define DEPTH_SHOWN_MAX 15
#define BITS_31		UINT64_C(0x7fffffff)

unsigned hv_record_kind(const struct hv_record *record)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & 0xf;

	return kind >= HV_RECORD_FUNCTION && kind <= HV_RECORD_COMMAND ? kind : 0;
}

bool hv_record_is_event(const struct hv_record *record)
{
	unsigned kind = hv_record_kind(record);

	return kind == HV_RECORD_FUNCTION || kind == HV_RECORD_ENTRY || kind == HV_RECORD_EXIT ||
	       kind == HV_RECORD_MARK || kind == HV_RECORD_STACK;
}

uint64_t hv_record_tsc(const struct hv_record *record)
{
	return record->word[0] & TSC_MASK;
}

uint32_t hv_record_pid(const struct hv_record *record)
{
	unsigned kind = hv_record_kind(record);

	return (uint32_t)record->word[kind == HV_RECORD_TASK || kind == HV_RECORD_MORE ? 3 : 2];
}

uint64_t hv_record_call_tsc(const struct hv_record *record)
{
	uint64_t ticks = record->word[1] >> 32 & BITS_31;

	ticks |= (record->word[2] >> 32 & BITS_31) << 31;
	return hv_record_tsc(record) - ticks;
}

void hv_decode_task(const struct hv_record *record, uint32_t *ret_pid, char *ret_comm)
{
	uint64_t top = record->word[3] >> HV_TASK_COMM7_SHIFT & 1;
	uint64_t comm[2] = {(record->word[1] & TSC_MASK) | top << 63, record->word[2] & TSC_MASK};

	memcpy(ret_comm, comm, HV_COMM_LEN);
	ret_comm[HV_COMM_LEN - 1] = '\0';
	*ret_pid = hv_record_pid(record);
}

#define TGID_LOW  ((UINT64_C(1) << HV_TASK_TGID_LOW) - 1)
#define TGID_HIGH ((UINT64_C(1) << HV_TASK_TGID_HIGH) - 1)

uint32_t hv_record_tgid(const struct hv_record *record)
{
	uint64_t low = record->word[3] >> HV_TASK_TGID_SHIFT & TGID_LOW;
	uint64_t high = record->word[3] >> HV_TASK_TGID_SHIFT2 & TGID_HIGH;

	return (uint32_t)(high << HV_TASK_TGID_LOW | low);
}

static uint8_t trace_flags(struct hv_context context)
{
	uint8_t flags = 0;

	flags |= context.irqs_off ? HV_TRACE_IRQS_OFF : 0;
	flags |= context.need_resched ? HV_TRACE_NEED_RESCHED : 0;
	flags |= context.need_resched_lazy ? HV_TRACE_NEED_RESCHED_LAZY : 0;
	flags |= context.preempt_resched ? HV_TRACE_PREEMPT_RESCHED : 0;
	flags |= context.hardirq ? HV_TRACE_HARDIRQ : 0;
	flags |= context.softirq ? HV_TRACE_SOFTIRQ : 0;
	flags |= context.nmi ? HV_TRACE_NMI : 0;
	flags |= context.bh_off ? HV_TRACE_BH_OFF : 0;
	return flags;
}

static uint8_t shown_depth(unsigned depth)
{
	return depth < DEPTH_SHOWN_MAX ? (uint8_t)depth : DEPTH_SHOWN_MAX;
}

unsigned hv_record_number(const struct hv_record *record)
{
	return record->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
}

/* PLACE are the low bits of an address that is not below START, and not far above it. */
static uint32_t place_after(uint32_t start, uint64_t place)
{
	uint32_t low = (uint32_t)place << 3 & HV_WORD_PLACE_MASK;

	return start + ((low - start) & HV_WORD_PLACE_MASK);
}

void hv_decode_words(const struct hv_decode *d, const struct hv_record *words, unsigned nr,
		     struct hv_stack_words *ret)
{
	const struct hv_record *head = &words[0];
	uint32_t second = (uint32_t)(head->word[2] >> 31 & BITS_31);

	ret->sp = (uint32_t)(head->word[1] & BITS_31);
	ret->bp = (uint32_t)(head->word[2] & BITS_31);
	ret->text_base = d->text_base;
	ret->nr = 0;
	for (unsigned i = 1; i < nr; i++)
		for (unsigned j = 1; j <= 3; j++) {
			uint64_t word = words[i].word[j];
			bool is_second = word >> HV_WORD_SECOND_BIT & 1;

			if (!(word & ((UINT64_C(1) << HV_RECORD_KIND_SHIFT) - 1)))
				continue;
			ret->list[ret->nr].at = place_after(is_second ? second : ret->sp,
							    word >> HV_WORD_PLACE_SHIFT);
			ret->list[ret->nr].value = (uint32_t)(word & BITS_31);
			ret->list[ret->nr++].is_text = (word & HV_WORD_TEXT) != 0;
		}
}

/* What all events have. */
static void decode_common(const struct hv_decode *d, const struct hv_record *record,
			  uint16_t thread_flags, struct hv_event *ret)
{
	const uint64_t *word = record->word;
	struct hv_context context = d->arch->decode_context(
		(uint32_t)word[3], (uint16_t)(word[3] >> 32), thread_flags, d->resched);

	*ret = (struct hv_event){
		.kind = HV_EVENT_FUNCTION,
		.pid = hv_record_pid(record),
		.flags = trace_flags(context),
		.preempt_depth = shown_depth(context.preempt_depth),
		.ip = hv_gva_add(d->text_base, (uint32_t)word[1]),
	};
}

static uint16_t depth_of(const struct hv_record *record)
{
	return record->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
}

/* A function called by a jump from another traced one has our handler for a caller. */
static struct hv_gva parent_of(const struct hv_decode *d, const struct hv_record *record)
{
	uint32_t low = record->word[1] >> 32 & BITS_31;
	struct hv_gva parent = hv_gva_add(d->text_base, HV_TEXT_BIT | low);
	uint64_t yield_len = d->arch->stubs.yield_len_bytes;
	uint64_t off = parent.v - d->yields.v;

	if (off < HV_NR_YIELDS * yield_len)
		return d->yield_callers[off / yield_len];
	return parent.v == d->handler.v ? hv_gva(0) : parent;
}

static void decode_call(const struct hv_decode *d, const struct hv_record *record,
			struct hv_event *ret)
{
	decode_common(d, record, (uint16_t)(record->word[2] >> 32), ret);
	ret->migrate_depth = shown_depth(record->word[2] >> 48 & 0xff);
	ret->lazy_depth = record->word[2] >> HV_CALL_LAZY_SHIFT & HV_CALL_LAZY_MAX;
	if (record->word[2] >> HV_CALL_LAZY_ASKED & 1)
		ret->flags |= HV_TRACE_NEED_RESCHED_LAZY;
	ret->parent_ip = parent_of(d, record);
}

static void decode_exit(const struct hv_decode *d, const struct hv_record *record,
			const struct hv_record *more, struct hv_event *ret)
{
	decode_common(d, record, 0, ret);
	ret->kind = HV_EVENT_GRAPH_EXIT;
	ret->depth = depth_of(record);
	if (!more)
		return;
	ret->overrun = (uint32_t)more->word[2];
	ret->has_retval = more->word[3] >> HV_MORE_VALUE_SHIFT & 1;
	if (ret->has_retval)
		ret->retval = (more->word[1] & TSC_MASK) |
			      (more->word[3] >> HV_MORE_VALUE63_SHIFT & 1) << 63;
}

void hv_decode_event(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *more, struct hv_event *ret)
{
	if (hv_record_kind(record) == HV_RECORD_EXIT) {
		decode_exit(d, record, more, ret);
		return;
	}
	decode_call(d, record, ret);
	switch (hv_record_kind(record)) {
	case HV_RECORD_ENTRY:
		ret->kind = HV_EVENT_GRAPH_ENTRY;
		ret->depth = depth_of(record);
		return;
	case HV_RECORD_STACK:
	case HV_RECORD_COMMAND:
		ret->kind = hv_record_kind(record) == HV_RECORD_STACK ? HV_EVENT_STACK
								      : HV_EVENT_COMMAND;
		ret->of_command = record->word[3] >> HV_STACK_COMMAND_BIT & 1;
		return;
	default:
		return;
	}
}

void hv_event_set_comm(struct hv_event *event, const char *comm)
{
	if (event->pid == 0)
		comm = HV_COMM_IDLE;
	else if (!comm)
		comm = HV_COMM_UNKNOWN;
	memset(event->comm, 0, sizeof(event->comm));
	strncpy(event->comm, comm, sizeof(event->comm) - 1);
}

struct hv_record hv_encode_lost(uint64_t tsc, uint64_t nr)
{
	struct hv_record r = {{tsc, nr, 0, (uint64_t)HV_RECORD_LOST << HV_RECORD_KIND_SHIFT}};

	return r;
}

uint64_t hv_record_lost(const struct hv_record *record)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & 0xf;

	return kind == HV_RECORD_LOST ? record->word[1] : 0;
}

struct hv_record hv_encode_task(uint64_t tsc, uint32_t pid, uint32_t tgid, const char *comm)
{
	struct hv_record r = {{tsc}};

	for (unsigned i = 0; i < 16; i++)
		r.word[1 + i / 8] |= (uint64_t)(uint8_t)comm[i] << i % 8 * 8;
	r.word[3] = pid | (r.word[1] >> 63) << HV_TASK_COMM7_SHIFT |
		    (tgid & TGID_LOW) << HV_TASK_TGID_SHIFT |
		    (tgid >> HV_TASK_TGID_LOW & TGID_HIGH) << HV_TASK_TGID_SHIFT2 |
		    (uint64_t)HV_RECORD_TASK << HV_RECORD_KIND_SHIFT;
	return r;
}
