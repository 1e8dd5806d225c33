/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/stub_programs.h"

#include <string.h>

#define READS (UINT64_C(1) << HV_EVENT_FILE_READS_BIT)

_Static_assert(HV_REGION_NR_EVENTS < UINT16_MAX, "index of a file");
_Static_assert(HV_REGION_NR_READS > 1, "room for a change");

/* Returns the first entry from START on with the owner OF, or HV_REGION_NR_READS. */
static unsigned find(const struct hv_stub_programs *s, unsigned of, unsigned start)
{
	for (unsigned i = 0; i < HV_REGION_NR_READS; i++) {
		unsigned place = (start + i) % HV_REGION_NR_READS;

		if (s->owners[place] == of)
			return place;
	}
	return HV_REGION_NR_READS;
}

/* Steps after the last one are 0, which ends the program. */
static void write_steps(struct hv_fetch_step *to, const struct hv_stub_program *from)
{
	memset(to, 0, HV_FETCH_STEPS_MAX * sizeof(*to));
	memcpy(to, from->steps, from->nr * sizeof(*to));
}

static bool has_steps(const struct hv_fetch_step *now, const struct hv_stub_program *program)
{
	return memcmp(now, program->steps, sizeof(program->steps)) == 0;
}

void hv_stub_programs_set(struct hv_stub_programs *s, const struct hv_region *r, unsigned index,
			  const struct hv_stub_program *program)
{
	uint64_t *word = &hv_region_event_file(r, index)->filter;
	unsigned now = find(s, index + 1, 0), place;
	bool has_one = now < HV_REGION_NR_READS;

	if (!has_one && (!program || !program->nr))
		return;
	if (has_one && program && *word == (READS | now) &&
	    has_steps(hv_region_reads(r, now), program))
		return;
	place = program && program->nr ? find(s, 0, s->next) : HV_REGION_NR_READS;
	if (has_one)
		s->owners[now] = 0;
	if (place == HV_REGION_NR_READS) {
		__atomic_store_n(word, 0, __ATOMIC_RELAXED);
		return;
	}
	s->owners[place] = (uint16_t)(index + 1);
	s->next = (place + 1) % HV_REGION_NR_READS;
	write_steps(hv_region_reads(r, place), program);
	__atomic_store_n(word, READS | place, __ATOMIC_RELEASE);
}
