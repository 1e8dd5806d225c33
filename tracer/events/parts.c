/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/parts.h"

#include "tracer/events/decode.h"

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
