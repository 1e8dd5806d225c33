/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches to a guest, records its events until the standard input ends, and detaches. Prints the
 * number of enabled events, a line for each that is refused, "recording", a line for each recorded
 * event, "off", and "NAME COUNT" for each event:
 *
 *  plug_probe SPEC SYSTEM:EVENT...
 *
 * EVENT may be "*". At the end it disables the events and waits until no task uses them. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "ringbuf/ring.h"
#include "tracer/guest/tracee.h"
#include "tracer/session.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/event_types.h"
#include "vmm/open.h"

#define EVENTS_MAX 4096
#define TRIES	   1500 /* of 0.1 s each: more is a hang */
#define CPUS_MAX   64
#define PERIOD_MS  50

static struct hv_session *session;
static struct hv_tracee *tracee;
static const struct hv_catalogue *catalogue;
static struct hv_event_want wants[EVENTS_MAX];
static unsigned long counts[1 << 16]; /* by id */
static unsigned nr_wants;

static void must(struct hv_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "plug_probe: %s\n", err->message);
	exit(1);
}

static void want(char *name)
{
	char *event = strchr(name, ':');
	unsigned before = nr_wants;

	if (event)
		*event++ = '\0';
	for (size_t i = 0; event && i < catalogue->nr; i++) {
		const struct hv_event_type *type = &catalogue->types[i];

		if (type->is_available && (!strcmp(name, "*") || !strcmp(type->system, name)) &&
		    (!strcmp(event, "*") || !strcmp(type->name, event)) && nr_wants < EVENTS_MAX)
			wants[nr_wants++].type = type;
	}
	if (nr_wants == before)
		must(hv_err_new(ENOENT, "there is no event %s", name));
}

static void switch_on(void)
{
	struct hv_event_tracer_stat stat;
	struct hv_session_stat before, after;
	uint64_t start_ns = hv_now_ns();

	hv_session_stat(session, &before);
	must(hv_event_tracer_set(session->events, wants, nr_wants));
	hv_session_stat(session, &after);
	for (unsigned i = 0; i < nr_wants; i++)
		if (wants[i].why_not)
			printf("refused %s:%s: %s\n", wants[i].type->system, wants[i].type->name,
			       wants[i].why_not->message);
	hv_event_wants_deinit(wants, nr_wants);
	hv_event_tracer_stat(session->events, &stat);
	printf("on %zu in %llu ms, %llu holds, %llu us, longest %llu us\n", stat.nr_on,
	       (unsigned long long)(hv_now_ns() - start_ns) / 1000000,
	       (unsigned long long)(after.nr_holds - before.nr_holds),
	       (unsigned long long)(after.hold_total_ns - before.hold_total_ns) / 1000,
	       (unsigned long long)after.hold_max_ns / 1000);
}

static void print(unsigned cpu, const struct hv_record *event, const uint8_t *entry)
{
	unsigned id = event->word[1] & 0xffff, len = event->word[1] >> HV_EVENT_LEN_SHIFT & 0xffff;

	const struct hv_event_type *type = hv_catalogue_by_id(catalogue, id);

	counts[id]++;
	printf("%s %u ", type ? type->name : "?", cpu);
	for (unsigned i = HV_ENTRY_HEADER_LEN; i < len && i < HV_ENTRY_LEN_MAX; i++)
		printf("%02x", entry[i]);
	printf("\n");
}

static void put_data(const struct hv_record *r, uint8_t *entry)
{
	unsigned number = r->word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX;
	uint64_t first = r->word[1] | r->word[3] >> HV_DATA_FIRST_SHIFT << HV_WORD_BITS;
	uint64_t second = r->word[2] | r->word[3] >> HV_DATA_SECOND_SHIFT << HV_WORD_BITS;
	uint8_t *to = entry + HV_ENTRY_HEADER_LEN + number * HV_DATA_LEN;

	if (number >= HV_ENTRY_LEN_MAX / HV_DATA_LEN)
		return;
	memcpy(to, &first, sizeof(first));
	memcpy(to + 8, &second, sizeof(second));
	memcpy(to + 16, &r->word[3], 4);
}

static void read_ring(unsigned cpu, struct hv_ring *ring)
{
	static uint8_t entries[CPUS_MAX][HV_ENTRY_LEN_MAX + HV_DATA_LEN];
	struct hv_record record;
	enum hv_ring_result result;
	uint64_t lost;

	while ((result = hv_ring_read(ring, hv_now_ns(), &record, &lost)) != HV_RING_EMPTY) {
		unsigned kind = record.word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;

		if (result == HV_RING_LOST)
			must(hv_err_new(EIO, "%llu records lost", (unsigned long long)lost));
		if (kind == HV_RECORD_DATA)
			put_data(&record, entries[cpu]);
		if (kind == HV_RECORD_EVENT)
			print(cpu, &record, entries[cpu]);
	}
}

static void record(void)
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	struct hv_ring rings[CPUS_MAX];
	unsigned nr = tracee->plan.nr_cpus < CPUS_MAX ? tracee->plan.nr_cpus : CPUS_MAX;

	for (unsigned cpu = 0; cpu < nr; cpu++) {
		struct hv_state *state = hv_tracee_state(tracee, cpu);

		hv_ring_init(&rings[cpu], state, (struct hv_record *)(state + 1),
			     tracee->plan.nr_slots);
	}
	printf("recording\n");
	for (bool is_over = false; !is_over;) {
		fflush(stdout);
		is_over = poll(&input, 1, PERIOD_MS) > 0;
		for (unsigned cpu = 0; cpu < nr; cpu++)
			read_ring(cpu, &rings[cpu]);
	}
}

static void wait_unused(void)
{
	struct hv_event_tracer_stat stat;

	for (unsigned i = 0; i < TRIES; i++) {
		hv_session_refresh(session);
		hv_event_tracer_stat(session->events, &stat);
		if (!stat.nr_leaving)
			return;
		usleep(100000);
	}
	must(hv_err_new(EBUSY, "%zu events are in use", stat.nr_leaving));
}

static void leave(void)
{
	HV_AUTO_TEXT struct hv_text report = {0};
	const struct hv_draft *drafts = (void *)(tracee->region.host + tracee->plan.drafts_off);

	must(hv_event_tracer_set(session->events, NULL, 0));
	wait_unused();
	printf("off\n");
	for (unsigned i = 0; i < nr_wants; i++)
		if (counts[wants[i].type->id])
			printf("%s %lu\n", wants[i].type->name, counts[wants[i].type->id]);
	for (unsigned i = 0; i < tracee->plan.nr_cpus * HV_NR_DRAFTS; i++)
		if (drafts[i].event)
			must(hv_err_new(EIO, "vCPU %u has a draft left", i / HV_NR_DRAFTS));
	must(hv_session_detach(session, &report));
	printf("%s", report.data);
}

int main(int argc, char **argv)
{
	HV_AUTO_GUEST struct hv_guest *guest = NULL;
	HV_AUTO_KERNEL struct hv_kernel *kernel = NULL;

	if (argc < 3) {
		fprintf(stderr, "usage: plug_probe SPEC SYSTEM:EVENT...\n");
		return 2;
	}
	must(hv_guest_open(argv[1], NULL, HV_VIA_AUTO, &guest));
	must(hv_kernel_open(guest, NULL, NULL, &kernel));
	must(hv_session_attach(guest, kernel, &session));
	tracee = session->tracee;
	must(hv_event_types_catalogue(session->types, &catalogue));
	for (int i = 2; i < argc; i++)
		want(argv[i]);
	switch_on();
	record();
	leave();
	hv_session_free(session);
	return 0;
}
