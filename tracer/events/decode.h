/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes records (ringbuf/record_bits.h) into events. Any 32 bytes decode to something or are
 * refused; nothing is trusted. Leaves to others: order and loss (merge.h), text (format.h),
 * symbols. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "kernel/unwind.h"
#include "ringbuf/abi.h"
#include "tracer/events/comms.h"
#include "tracer/events/event.h"

#define HV_COMM_IDLE	"<idle>"
#define HV_COMM_UNKNOWN "<...>"

/* Returns HV_RECORD_*, or HV_RECORD_UNKNOWN for any other kind. */
#define HV_RECORD_UNKNOWN 0x10
static inline unsigned hv_record_kind(const struct hv_record *record)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;

	return kind <= HV_RECORD_EVENT || kind == HV_RECORD_SECTION ? kind : HV_RECORD_UNKNOWN;
}
/* Returns whether RECORD becomes an event by itself. Other records only say something about
 * events. */
static inline bool hv_record_is_event(const struct hv_record *record)
{
	unsigned kind = hv_record_kind(record);

	return kind == HV_RECORD_FUNCTION || kind == HV_RECORD_ENTRY || kind == HV_RECORD_EXIT ||
	       kind == HV_RECORD_MARK || kind == HV_RECORD_STACK || kind == HV_RECORD_EVENT ||
	       kind == HV_RECORD_SECTION;
}

/* Returns whether RECORD becomes a call or a return (struct hv_brief). */
static inline bool hv_record_is_call(const struct hv_record *record)
{
	unsigned kind = hv_record_kind(record);

	return kind == HV_RECORD_FUNCTION || kind == HV_RECORD_ENTRY || kind == HV_RECORD_EXIT;
}

static inline uint64_t hv_record_tsc(const struct hv_record *record)
{
	return record->word[0];
}

uint32_t hv_record_pid(const struct hv_record *record);

/* Decodes a task record. RET_COMM has HV_COMM_LEN bytes, NUL-terminated, and is hostile. */
void hv_decode_task(const struct hv_record *record, uint32_t *ret_pid, char *ret_comm);

/* Returns the tgid in a task record. */
uint32_t hv_record_tgid(const struct hv_record *record);

/* Only in host memory: a record that says that NR records are missing, and a task record. COMM has
 * 16 bytes. */
#define HV_RECORD_LOST 15
struct hv_record hv_encode_lost(uint64_t tsc, uint64_t nr);
/* 0: it is another record. */
static inline uint64_t hv_record_lost(const struct hv_record *record)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;

	return kind == HV_RECORD_LOST ? record->word[1] : 0;
}
struct hv_record hv_encode_task(uint64_t tsc, uint32_t pid, uint32_t tgid, const char *comm);

/* Returns the number of a record of words or data among those of its event. For a record of a stack
 * it returns the number of its records of words without the first, and a bit above that; for one of
 * an event the number of its records of data. */
unsigned hv_record_number(const struct hv_record *record);

/* What is known about the guest's kernel to decode its records. */
struct hv_decode {
	const struct hv_arch *arch;
	struct hv_gva text_base; /* of addresses in records (struct hv_arch) */
	struct hv_context_bits context_bits;
	struct hv_gva handler; /* the return address that a graph puts on stacks: not the address of
				  a caller */
	/* The first entry by which the guest's ftrace reads. For the guest, functions that entry N
	 * calls are called at yield_callers[N]. */
	struct hv_gva yields;
	struct hv_gva yield_callers[HV_NR_YIELDS];
	/* By how much the preempt count is higher in the probe of an event of the guest's own than
	 * where the event happens. */
	uint8_t probe_preempt_depth;
	/* Where entries have the count of PREEMPT_RT's own lazy preemption; 0: they have none. */
	uint32_t lazy_count_off;
	/* Finds the instruction of the guest whose detour has PLACE, the low half of an address.
	 * NULL: there are no detours. */
	bool (*find_place)(void *ctx, uint32_t place, struct hv_gva *ret);
	void *places;
};

/* Returns whether the entry of RECORD, an HV_RECORD_EVENT, is of a length that is possible and
 * fills its records of data. */
bool hv_record_has_entry(const struct hv_record *record);

/* Puts together the entry of EVENT, which was decoded from RECORD, whose entry is possible: from
 * its records of data, which are complete (parts.h), and of EVENT what all entries begin with.
 * ENTRY has HV_ENTRY_LEN_MAX bytes. */
void hv_decode_entry(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *data, struct hv_event *event, uint8_t *entry);

/* Makes the records of EVENT, with its id and entry, that happened when and where RECORD, an
 * HV_RECORD_EVENT, says: into RET, which has room for HV_DATA_RECORDS_MAX + 1. Its preempt count is
 * that inside the probe, as in the kernel's events of system calls, or deeper, or, if it says so,
 * that of the event in RECORD. Returns how many
 * they are; the event's own is the last. */
unsigned hv_encode_entry(const struct hv_record *record, const struct hv_event *event,
			 struct hv_record *ret);

/* The type of an event of the guest's own in RECORD, an HV_RECORD_EVENT. */
static inline uint16_t hv_record_event_id(const struct hv_record *record)
{
	return (uint16_t)record->word[1];
}

/* Decodes the words of a stack in NR records of them, which are complete (parts.h). */
void hv_decode_words(const struct hv_decode *d, const struct hv_record *words, unsigned nr,
		     struct hv_stack_words *ret);

/* Decodes RECORD, which is an event. MORE is the record before an exit that belongs to it
 * (parts.h); NULL: there is none, or it was lost. The caller fills in comm, cpu, loss and times. */
void hv_decode_event(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *more, struct hv_event *ret);

/* Decodes records in brief, at most MAX of them, up to the first one whose event is of another kind
 * than KINDS (HV_BRIEF_KIND), and returns how many. The first is at RECORDS, each of the others
 * STRIDE_BYTES behind the one before. The call_ns of a return is in the units of hv_record_tsc. A
 * return's parts are not looked for. The caller fills in times. */
size_t hv_decode_briefs(const struct hv_decode *d, const struct hv_record *records,
			size_t stride_bytes, size_t max, unsigned kinds, struct hv_brief *ret);

/* Returns when the function of an exit was called, in the units of hv_record_tsc. */
uint64_t hv_record_call_tsc(const struct hv_record *record);

/* Sets the comm of EVENT to COMM; NULL: unknown. That of pid 0 is always "<idle>". */
void hv_event_set_comm(struct hv_event *event, const char *comm);
