#include "tracer/decode.h"

#include <string.h>

#define TSC_MASK	(~(UINT64_C(1) << HV_LAP_BIT))
#define WORD_IP		UINT64_C(0xffffffff00000000)
#define WORD_PARENT_IP	UINT64_C(0xffffffff80000000)
#define DEPTH_SHOWN_MAX 15

unsigned hv_record_kind(const struct hv_record *record)
{
	unsigned kind = record->word[3] >> HV_RECORD_KIND_SHIFT & 0xf;

	return kind == HV_RECORD_FUNCTION || kind == HV_RECORD_TASK ? kind : 0;
}

uint64_t hv_record_tsc(const struct hv_record *record)
{
	return record->word[0] & TSC_MASK;
}

uint32_t hv_record_pid(const struct hv_record *record)
{
	unsigned word = hv_record_kind(record) == HV_RECORD_TASK ? 3 : 2;

	return (uint32_t)record->word[word];
}

void hv_decode_task(const struct hv_record *record, uint32_t *ret_pid, char *ret_comm)
{
	uint64_t top = record->word[3] >> HV_TASK_COMM7_SHIFT & 1;
	uint64_t comm[2] = {(record->word[1] & TSC_MASK) | top << 63, record->word[2] & TSC_MASK};

	memcpy(ret_comm, comm, HV_COMM_LEN);
	ret_comm[HV_COMM_LEN - 1] = '\0';
	*ret_pid = hv_record_pid(record);
}

static uint8_t trace_flags(struct hv_context context)
{
	uint8_t flags = 0;

	flags |= context.irqs_off ? HV_TRACE_IRQS_OFF : 0;
	flags |= context.need_resched ? HV_TRACE_NEED_RESCHED : 0;
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

void hv_decode_function(const struct hv_decode *d, const struct hv_record *record,
			struct hv_event *ret)
{
	const uint64_t *word = record->word;
	struct hv_context context =
		d->arch->decode_context((uint32_t)word[3], (uint16_t)(word[3] >> 32),
					(uint16_t)(word[2] >> 32), d->need_resched_mask);

	*ret = (struct hv_event){
		.kind = HV_EVENT_FUNCTION,
		.pid = hv_record_pid(record),
		.flags = trace_flags(context),
		.preempt_depth = shown_depth(context.preempt_depth),
		.migrate_depth = shown_depth(word[2] >> 48 & 0xff),
		.ip = hv_gva(WORD_IP | (uint32_t)word[1]),
		.parent_ip = hv_gva(WORD_PARENT_IP | word[1] >> 32),
	};
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
