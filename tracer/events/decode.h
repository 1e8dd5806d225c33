/* Records (ringbuf/abi.h) -> events. Any 32 bytes decode to something or are refused; nothing is
 * trusted. Leaves to others: order and loss (merge.h), text (format.h), symbols. */
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

/* HV_RECORD_*, 0 when it is none of them. */
unsigned hv_record_kind(const struct hv_record *record);
/* It becomes an event by itself; the others only tell something about events. */
bool hv_record_is_event(const struct hv_record *record);
uint64_t hv_record_tsc(const struct hv_record *record);
uint32_t hv_record_pid(const struct hv_record *record);

/* What a task record says. RET_COMM: HV_COMM_LEN bytes, NUL-terminated, hostile. */
void hv_decode_task(const struct hv_record *record, uint32_t *ret_pid, char *ret_comm);

/* The tgid that a task record says. */
uint32_t hv_record_tgid(const struct hv_record *record);

/* In host memory only: that NR records are missing, and whose events come next. COMM: 16 bytes. */
#define HV_RECORD_LOST 15
struct hv_record hv_encode_lost(uint64_t tsc, uint64_t nr);
uint64_t hv_record_lost(const struct hv_record *record); /* 0: it is another record */
struct hv_record hv_encode_task(uint64_t tsc, uint32_t pid, uint32_t tgid, const char *comm);

/* Which of the records of a stack's words this is; of a stack: how many there are but the first,
 * and a bit above. */
unsigned hv_record_number(const struct hv_record *record);

/* What the guest's kernel says about its records. */
struct hv_decode {
	const struct hv_arch *arch;
	struct hv_gva text_base;	 /* of addresses in records (struct hv_arch) */
	struct hv_resched_masks resched; /* of the thread flags */
	struct hv_gva handler; /* what a graph's return addresses are: no caller's address */
	/* Of entries by which the guest's ftrace reads: whoever is called by entry N was called at
	 * yield_callers[N], as far as the guest knows. */
	struct hv_gva yields;
	struct hv_gva yield_callers[HV_NR_YIELDS];
};

/* The words of a stack in NR records of them, whole (parts.h). */
void hv_decode_words(const struct hv_decode *d, const struct hv_record *words, unsigned nr,
		     struct hv_stack_words *ret);

/* An event of a record that is one. MORE: the record before an exit that belongs to it (parts.h);
 * NULL: there is none or it was lost. comm, cpu, loss and times are the caller's to fill in. */
void hv_decode_event(const struct hv_decode *d, const struct hv_record *record,
		     const struct hv_record *more, struct hv_event *ret);

/* When an exit's function was called, in the units of hv_record_tsc. */
uint64_t hv_record_call_tsc(const struct hv_record *record);

/* Fills in the comm of a pid: COMM as found, or NULL for unknown. pid 0 is always "<idle>". */
void hv_event_set_comm(struct hv_event *event, const char *comm);
