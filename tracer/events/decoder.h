/* What all buffers of a guest need to make events of records: what the guest's kernel says about
 * them, clocks, names of tasks, texts of markers, callers.
 * Leaves to others: what one record says (decode.h), which records belong together (parts.h), order
 * and loss (cursor.h). One thread. */
#pragma once

#include "tracer/events/callers.h"
#include "tracer/events/clocks.h"
#include "tracer/events/decode.h"
#include "tracer/events/marks.h"
#include "tracer/events/names.h"
#include "tracer/events/parts.h"

struct hv_decoder {
	const struct hv_kernel *kernel; /* borrowed, as are these: */
	struct hv_clocks *clocks;
	struct hv_names *names;
	struct hv_callers *callers;
	struct hv_decode decode;
	struct hv_marks marks; /* owned */
	uint64_t nr_lost;      /* records of all buffers that nobody will read */
};

/* The four are borrowed and outlive it. The addresses of the stubs in ->decode are 0. */
struct hv_decoder *hv_decoder_new(const struct hv_kernel *k, struct hv_clocks *clocks,
				  struct hv_names *names, struct hv_callers *callers);
void hv_decoder_free(struct hv_decoder *d);

/* The event of RECORD, which is one, and of PARTS, what belongs to it (NULL: nothing, or some of it
 * is missing). cpu, times, loss, callers and the task's name are the caller's to fill in. */
void hv_decoder_event(const struct hv_decoder *d, const struct hv_record *record,
		      const struct hv_parts *parts, struct hv_event *ret);
/* RECORD, HV_RECORD_TASK, names a task. */
void hv_decoder_note_task(struct hv_decoder *d, const struct hv_record *record);
/* Fills in name and thread group of EVENT's task. */
void hv_decoder_name_task(struct hv_decoder *d, struct hv_event *event);
/* The function of EVENT, a stack, and who called it. WORDS: what belongs to the event; without them
 * (NULL) that is its caller alone. RET: room for HV_CALLERS_MAX. Returns how many. */
size_t hv_decoder_callers(struct hv_decoder *d, const struct hv_event *event,
			  const struct hv_parts *words, struct hv_gva *ret);
