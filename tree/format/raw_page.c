#include "tree/format/raw_page.h"

#include <string.h>

#define TYPE_TIME_EXTEND 30
#define DELTA_BITS	 27
#define DELTA_MAX	 ((UINT64_C(1) << 59) - 1)
#define MISSED_EVENTS	 (UINT64_C(1) << 31)
#define MISSED_STORED	 (UINT64_C(1) << 30)

/* Pages are little endian on every host, as the guests are. */
static uint8_t *put(uint8_t *at, uint64_t value, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
	return at + len_bytes;
}

void hv_raw_page_init(struct hv_raw_page *p, size_t max_bytes)
{
	*p = (struct hv_raw_page){.max_bytes = max_bytes};
}

static unsigned type_of(const struct hv_event *e)
{
	switch (e->kind) {
	case HV_EVENT_FUNCTION:
		return HV_RAW_FUNCTION;
	case HV_EVENT_GRAPH_ENTRY:
		return HV_RAW_GRAPH_ENTRY;
	case HV_EVENT_GRAPH_EXIT:
		return HV_RAW_GRAPH_EXIT;
	case HV_EVENT_STACK:
		return HV_RAW_STACK;
	case HV_EVENT_PRINT:
		return HV_RAW_PRINT;
	case HV_EVENT_RAW_DATA:
		return HV_RAW_DATA;
	case HV_EVENT_COMMAND:
		break;
	}
	return 0;
}

/* LEN bytes: those of E that fit, a newline if it is a line without one, and zeros. */
static uint8_t *put_text(uint8_t *at, size_t len, const struct hv_event *e)
{
	size_t text_len = e->text_len < HV_RAW_TEXT_MAX ? e->text_len : HV_RAW_TEXT_MAX;

	memset(at, 0, len);
	if (text_len)
		memcpy(at, e->text, text_len);
	if (e->kind == HV_EVENT_PRINT && (!text_len || at[text_len - 1] != '\n'))
		at[text_len] = '\n';
	return at + len;
}

/* The fields of events/ftrace/NAME/format. */
static uint8_t *put_payload(uint8_t *at, const struct hv_event *e)
{
	at = put(at, type_of(e), 2);
	at = put(at, e->flags, 1);
	at = put(at, (e->preempt_depth & 15) | (e->migrate_depth & 15) << 4, 1);
	at = put(at, e->pid, 4);
	if (e->kind == HV_EVENT_RAW_DATA)
		return put_text(at, hv_raw_payload_len(e) - 8, e);
	if (e->kind == HV_EVENT_STACK) {
		at = put(at, e->nr_callers, 8); /* int, and four bytes of nothing */
		for (size_t i = 0; i < e->nr_callers; i++)
			at = put(at, e->callers[i].v, 8);
		return at;
	}
	at = put(at, e->ip.v, 8);
	switch (e->kind) {
	case HV_EVENT_FUNCTION:
		return put(at, e->parent_ip.v, 8);
	case HV_EVENT_GRAPH_ENTRY:
		return put(at, e->depth, 4);
	case HV_EVENT_GRAPH_EXIT:
		at = put(at, e->depth, 4);
		at = put(at, e->overrun, 4);
		at = put(at, e->call_ns, 8);
		return put(at, e->time_ns, 8);
	case HV_EVENT_PRINT:
		return put_text(at, hv_raw_payload_len(e) - 16, e);
	case HV_EVENT_RAW_DATA:
	case HV_EVENT_STACK:
	case HV_EVENT_COMMAND:
		break;
	}
	return at;
}

static bool fits(const struct hv_raw_page *p, const struct hv_event *e, uint64_t delta)
{
	size_t len = hv_raw_event_len(e);

	if (p->len_bytes && (e->lost_before || delta > DELTA_MAX))
		return false;
	len += delta >> DELTA_BITS ? 8 : 0;
	len += p->lost || e->lost_before ? 8 : 0;
	return p->len_bytes + len <= p->max_bytes;
}

/* A long payload is measured by a word of its own, which counts itself. */
static uint8_t *put_head(uint8_t *at, size_t payload_len, uint64_t delta)
{
	if (payload_len <= HV_RAW_SMALL_MAX)
		return put(at, payload_len / 4 | delta << 5, 4);
	at = put(at, delta << 5, 4);
	return put(at, payload_len + 4, 4);
}

bool hv_raw_page_add(struct hv_raw_page *p, const struct hv_event *e)
{
	uint8_t *data = p->bytes + HV_RAW_HEAD_LEN, *at = data + p->len_bytes;
	uint64_t delta = 0;

	/* In the kernel's buffer time does not run backwards. */
	if (p->len_bytes && e->time_ns > p->time_ns)
		delta = e->time_ns - p->time_ns;
	if (!fits(p, e, delta))
		return false;
	if (!p->len_bytes) {
		put(p->bytes, e->time_ns, 8);
		p->time_ns = e->time_ns;
		p->lost = e->lost_before;
	}
	p->time_ns += delta;
	if (delta >> DELTA_BITS) {
		at = put(at, TYPE_TIME_EXTEND | (delta & ((1U << DELTA_BITS) - 1)) << 5, 4);
		at = put(at, delta >> DELTA_BITS, 4);
		delta = 0;
	}
	at = put_head(at, hv_raw_payload_len(e), delta);
	at = put_payload(at, e);
	p->len_bytes = (size_t)(at - data);
	return true;
}

void hv_raw_page_finish(struct hv_raw_page *p)
{
	uint64_t commit = p->len_bytes;

	if (p->lost) {
		put(p->bytes + HV_RAW_HEAD_LEN + p->len_bytes, p->lost, 8);
		commit |= MISSED_EVENTS | MISSED_STORED;
	}
	put(p->bytes + 8, commit, 8);
}
