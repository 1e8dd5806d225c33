/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes records (ringbuf/abi_bits.h) into events. Records are untrusted: any 32 bytes either
 * decode to an event or are rejected.
 *
 * merge.h orders records and detects losses. Text and symbols are added elsewhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "kernel/tasks/unwind.h"
#include "ringbuf/abi.h"
#include "tracer/events/event.h"

#define HV_COMM_IDLE	"<idle>"
#define HV_COMM_UNKNOWN "<...>"

/* Returns HV_RECORD_*, or HV_RECORD_UNKNOWN for other kinds. */
#define HV_RECORD_UNKNOWN 0x10
static inline unsigned hv_record_kind(const struct hv_record *record)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;

	return kind <= HV_RECORD_EVENT || kind == HV_RECORD_SECTION ? kind : HV_RECORD_UNKNOWN;
}
/* Returns whether RECORD is an event by itself. Other records only add information to events. */
static inline bool hv_record_is_event(const struct hv_record *record)
{
	unsigned kind = hv_record_kind(record);

	return kind == HV_RECORD_FUNCTION || kind == HV_RECORD_ENTRY || kind == HV_RECORD_EXIT ||
	       kind == HV_RECORD_MARK || kind == HV_RECORD_STACK || kind == HV_RECORD_EVENT ||
	       kind == HV_RECORD_SECTION;
}

/* Returns whether RECORD is a call or a return (struct hv_brief). */
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

/* Decodes a task record. RET_COMM has HV_COMM_LEN bytes with a NUL, and is untrusted. */
void hv_decode_task(const struct hv_record *record, uint32_t *ret_pid, char *ret_comm);

/* Returns the tgid of a task record. */
uint32_t hv_record_tgid(const struct hv_record *record);

/* Records that exist only in host memory: one that reports NR missing records, and a task record.
 * COMM has 16 bytes. */
#define HV_RECORD_LOST 15
struct hv_record hv_encode_lost(uint64_t tsc, uint64_t nr);
/* Returns 0 for other records. */
static inline uint64_t hv_record_lost(const struct hv_record *record)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;

	return kind == HV_RECORD_LOST ? record->word[1] : 0;
}
struct hv_record hv_encode_task(uint64_t tsc, uint32_t pid, uint32_t tgid, const char *comm);

/* Returns the index of a record of words or data within its event. For a stack record, returns the
 * number of its word records except the first (at most HV_STACK_RECORDS_MAX), with
 * HV_STACK_SECTION_BIT and HV_STACK_COMMAND_BIT above it; for an event record, the number of its
 * data records. */
unsigned hv_record_number(const struct hv_record *record);

/* Properties of the guest's kernel that are needed to decode its records. */
struct hv_decode {
	const struct hv_arch *arch;
	struct hv_gva text_base; /* base of addresses in records (struct hv_arch) */
	struct hv_context_bits context_bits;
	struct hv_gva handler; /* return address that a graph puts on stacks; never a caller */
	/* The first entry of the trampoline through which the guest's ftrace reads sites. Functions
	 * called by entry N are shown as called at ftrace_reader_callers[N]. */
	struct hv_gva ftrace_readers;
	struct hv_gva ftrace_reader_callers[HV_NR_FTRACE_READERS];
	/* How much higher the preempt count is inside the callback of a guest event than where the
	 * event happens. */
	uint8_t callback_preempt_depth;
	/* Offset in entries of PREEMPT_RT's lazy preemption count; 0: none. */
	uint32_t lazy_count_off;
	/* Finds the guest instruction whose detour contains the address with the low 32 bits
	 * LOW_BITS. NULL: there are no detours. */
	bool (*find_detoured)(void *ctx, uint32_t low_bits, struct hv_gva *ret);
	void *detours;
};

/* Returns whether the entry length of RECORD, an HV_RECORD_EVENT, is possible and fits its data
 * records. */
bool hv_record_has_entry(const struct hv_record *record);

/* Assembles the entry of EVENT, which was decoded from RECORD and whose entry is possible. Uses its
 * data records, which must be complete (struct hv_parts), and the common fields of EVENT. ENTRY has
 * HV_ENTRY_LEN_MAX bytes. */
void hv_decode_entry(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *data, struct hv_event *event, uint8_t *entry);

/* Encodes EVENT, with its id and entry, at the time and place of RECORD, an HV_RECORD_EVENT. RET
 * has room for HV_DATA_RECORDS_MAX + 1 records. The preempt count is the one inside the callback,
 * as in the kernel's system call events; it is higher if EVENT->deeper is set, and copied from
 * RECORD's event if EVENT->is_as_deep is set. Returns the number of records; the event's own is the
 * last. */
unsigned hv_encode_entry(const struct hv_record *record, const struct hv_event *event,
			 struct hv_record *ret);

/* Returns the type of a guest event in RECORD, an HV_RECORD_EVENT. */
static inline uint16_t hv_record_event_id(const struct hv_record *record)
{
	return (uint16_t)record->word[1];
}

/* Decodes the stack words in NR records, which must be complete (struct hv_parts). */
void hv_decode_words(const struct hv_decode *d, const struct hv_record *words, unsigned nr,
		     struct hv_stack_words *ret);

/* Decodes RECORD, an event. MORE is the record before an exit that belongs to it (struct hv_parts);
 * NULL: none, or lost. The caller sets comm, cpu, loss and times. */
void hv_decode_event(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *more, struct hv_event *ret);

/* Decodes at most MAX records briefly and stops at the first event that is not of KINDS
 * (HV_BRIEF_KIND). Returns the number decoded. The first record is at RECORDS, and each other one
 * STRIDE_BYTES after the previous one. The call_ns of a return is in the units of hv_record_tsc.
 * Ignores the parts of returns. The caller sets times. */
size_t hv_decode_briefs(const struct hv_decode *d, const struct hv_record *records,
			size_t stride_bytes, size_t max, unsigned kinds, struct hv_brief *ret);

/* Returns when the function of an exit was called, in the units of hv_record_tsc. */
uint64_t hv_record_call_tsc(const struct hv_record *record);

/* Sets the comm of EVENT to COMM; NULL: unknown. The comm of pid 0 is always "<idle>". */
void hv_event_set_comm(struct hv_event *event, const char *comm);

/* -- records of several parts ------------------------------------------------------------------ */

/* The parts of an event: additional records that belong to it. These are the record before an exit
 * with further values, the words of a stack, and the data of a guest event. The guest reserves them
 * together with the event's record, directly before it and with the same time.
 *
 * The ring is untrusted: a guest can write anything anywhere, move its head back, and write there
 * again. So records belong together only if nothing was lost between them, and there are never more
 * than HV_PARTS_MAX. */

#define HV_PARTS_MAX HV_DATA_RECORDS_MAX
_Static_assert(HV_PARTS_MAX >= 1 + HV_STACK_RECORDS_MAX, "room for a stack");

/* Zero-initialised: empty. */
struct hv_parts {
	struct hv_record list[HV_PARTS_MAX];
	unsigned nr;
	uint64_t position; /* position of the last part */
	uint64_t run;
};

/* Adds RECORD, an HV_RECORD_MORE, HV_RECORD_WORDS or HV_RECORD_DATA at POSITION. It is the next
 * part, or the first part of another event; otherwise all parts are dropped. RUN is equal for two
 * records of a ring if no record was lost between them. */
void hv_parts_add(struct hv_parts *p, const struct hv_record *record, uint64_t position,
		  uint64_t run);
/* Returns whether these are all the parts of the event RECORD at POSITION. */
bool hv_parts_are_of(const struct hv_parts *p, const struct hv_record *record, uint64_t position,
		     uint64_t run);
