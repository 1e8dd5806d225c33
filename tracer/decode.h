/* Records (ringbuf/abi.h) -> events. Any 32 bytes decode to something or are refused; nothing is
 * trusted. Leaves to others: order and loss (merge.h), text (format.h), symbols. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "ringbuf/abi.h"
#include "tracer/comms.h"
#include "tracer/event.h"

#define HV_COMM_IDLE	"<idle>"
#define HV_COMM_UNKNOWN "<...>"

/* HV_RECORD_*, 0 when it is none of them. */
unsigned hv_record_kind(const struct hv_record *record);
uint64_t hv_record_tsc(const struct hv_record *record);
uint32_t hv_record_pid(const struct hv_record *record);

/* What a task record says. RET_COMM: HV_COMM_LEN bytes, NUL-terminated, hostile. */
void hv_decode_task(const struct hv_record *record, uint32_t *ret_pid, char *ret_comm);

/* What the guest's kernel says about its records. */
struct hv_decode {
	const struct hv_arch *arch;
	uint16_t need_resched_mask; /* TIF_NEED_RESCHED in the thread flags */
};

/* An event of a function record. comm, cpu, time and loss are the caller's to fill in. */
void hv_decode_function(const struct hv_decode *d, const struct hv_record *record,
			struct hv_event *ret);

/* Fills in the comm of a pid: COMM as found, or NULL for unknown. pid 0 is always "<idle>". */
void hv_event_set_comm(struct hv_event *event, const char *comm);
