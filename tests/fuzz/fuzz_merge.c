/* The merge, marks and decoding over rings that the input writes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/decode.h"
#include "tracer/merge.h"

#define NR_CPUS	 2
#define NR_SLOTS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct change { /* one of the input */
	uint8_t kind;
	uint8_t at;
	uint64_t value;
} __attribute__((packed));

static struct hv_state states[NR_CPUS];
static struct hv_record records[NR_CPUS][NR_SLOTS];
static const struct hv_decode decode = {.arch = &hv_arch_x86_64, .resched = {.need = 8}};

static struct hv_record more; /* the last one, of whatever exit */

static void check(int holds)
{
	if (!holds)
		abort();
}

static void use(const struct hv_merge_item *item)
{
	struct hv_event event;
	char comm[HV_COMM_LEN];
	uint32_t pid;

	check(item->cpu < NR_CPUS);
	if (hv_record_kind(&item->record) == HV_RECORD_TASK) {
		hv_decode_task(&item->record, &pid, comm);
		check(comm[HV_COMM_LEN - 1] == '\0');
		return;
	}
	if (!hv_record_is_event(&item->record)) {
		more = item->record;
		return;
	}
	hv_decode_event(&decode, &item->record, &more, &event);
	check(event.preempt_depth <= 15 && event.migrate_depth <= 15);
}

static void return_all(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until)
{
	struct hv_merge_item item;
	unsigned calls = 0;

	while (hv_merge_next(m, now_ns, until, &item)) {
		check(calls++ < 4 * NR_CPUS * NR_SLOTS);
		use(&item);
	}
}

static struct hv_merge *go_on(struct hv_merge *m, const struct hv_ring *rings)
{
	struct hv_merge_mark marks[NR_CPUS];

	hv_merge_marks(m, marks);
	hv_merge_free(m);
	return hv_merge_new(rings, 0, NR_CPUS, marks, (struct hv_merge_clock){NULL, NULL});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hv_ring rings[NR_CPUS];
	struct hv_merge *m;
	uint64_t now_ns = 0;

	memset(states, 0, sizeof(states));
	memset(records, 0, sizeof(records));
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		hv_ring_init(&rings[cpu], &states[cpu], records[cpu], NR_SLOTS);
	m = hv_merge_new(rings, 0, NR_CPUS, NULL, (struct hv_merge_clock){NULL, NULL});
	for (size_t off = 0; off + sizeof(struct change) <= len; off += sizeof(struct change)) {
		struct hv_record *record;
		struct change c;

		memcpy(&c, data + off, sizeof(c));
		record = &records[c.at & 1][c.at / 2 % NR_SLOTS];
		record->word[c.at >> 6] = c.value;
		if (c.kind & 1)
			states[c.at & 1].head += c.value & 31;
		if (c.kind & 2)
			states[c.at & 1].head = c.value;
		if (c.kind & 4)
			now_ns += c.value & 0x7ffffff;
		if (c.kind & 8)
			return_all(m, now_ns, HV_MERGE_LIVE);
		if (c.kind & 16)
			return_all(m, now_ns, HV_MERGE_FINAL);
		if (c.kind & 32)
			m = go_on(m, rings);
		if (c.kind == 255)
			hv_merge_stop_here(m);
	}
	return_all(m, now_ns, HV_MERGE_FINAL);
	hv_merge_free(m);
	return 0;
}
