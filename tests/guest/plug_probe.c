/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches to a guest, records events of its tracepoints for a while as the parts of hvtrace that
 * are there for it do, and detaches. Prints "recording", a line for each event that was recorded,
 * and "NAME COUNT" for each event. What hvtrace itself cannot do yet is tried here:
 *
 *	plug_probe SPEC SECONDS SYSTEM:EVENT...
 *
 * If it is killed, only a reboot of the guest takes everything away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/events/probe_calls.h"
#include "kernel/kernel.h"
#include "ringbuf/ring.h"
#include "tracer/event_types.h"
#include "tracer/plug.h"
#include "tracer/redirect.h"
#include "tracer/session.h"
#include "tracer/tracee.h"

#define EVENTS_MAX 64
#define TRIES	   100
#define CPUS_MAX   64

static struct hv_session *session;
static struct hv_tracee *tracee;
static const struct hv_catalogue *catalogue;
static struct hv_tracepoint_layout layout;
static struct hv_plug plugs[EVENTS_MAX];
static unsigned long counts[EVENTS_MAX];
static unsigned nr_plugs;

static void must(struct hv_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "plug_probe: %s\n", err->message);
	exit(1);
}

static struct hv_gva stub_at(size_t off)
{
	return hv_gva_add(tracee->range.start, HV_STUBS_CODE_OFF + off);
}

/* The changes are journalled as a kind that detach does not put back by itself. */
static void redirect(const struct hv_call *call, size_t off)
{
	struct hv_change change;
	bool is_planned;

	must(hv_redirect_plan(tracee, call, stub_at(off), HV_CHANGE_YIELD, &change, &is_planned));
	if (is_planned)
		must(hv_patcher_apply(tracee->patcher, &change, 1));
	if (!is_planned || change.refused)
		must(hv_err_new(EBUSY, "0x%llx cannot be redirected",
				(unsigned long long)call->at.v));
}

static void redirect_releases(void)
{
	const struct hv_stub_image *stubs = &tracee->kernel->core.as.arch->stubs;
	struct hv_release_calls calls;

	must(hv_release_calls_read(tracee->kernel, &calls));
	for (size_t i = 0; i < calls.calls.nr; i++)
		redirect(&calls.calls.list[i], stubs->event_release_offs[calls.head_argument]);
	hv_release_calls_deinit(&calls);
}

static void redirect_probe(const struct hv_probe_calls *calls, const struct hv_event_type *type)
{
	const struct hv_stub_image *stubs = &tracee->kernel->core.as.arch->stubs;
	const struct hv_probe_call *list;
	size_t nr;

	must(hv_probe_calls_of(tracee->kernel, calls, type->probe, &list, &nr));
	for (size_t i = 0; i < nr; i++)
		redirect(&list[i].call,
			 list[i].commits ? stubs->event_commit_off : stubs->event_reserve_off);
}

/* Tries again while the guest is changing tracepoints. */
static void again(struct hv_err *(*plug_it)(const struct hv_plug *), const struct hv_plug *plug)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < TRIES; i++) {
		hv_err_free(err);
		err = plug_it(plug);
		if (!err || err->code != EBUSY)
			break;
		usleep(100000);
	}
	must(err);
}

static struct hv_err *in(const struct hv_plug *plug)
{
	return hv_plug_in(tracee, &layout, plug);
}

static struct hv_err *out(const struct hv_plug *plug)
{
	return hv_plug_out(tracee, &layout, &plug->type->tracepoint);
}

static void plug(const struct hv_probe_calls *calls, char *name)
{
	char *event = strchr(name, ':');
	const struct hv_event_type *type;

	if (event)
		*event++ = '\0';
	type = event ? hv_catalogue_find(catalogue, name, event) : NULL;
	if (!type)
		must(hv_err_new(ENOENT, "there is no event %s", name));
	redirect_probe(calls, type);
	plugs[nr_plugs] = (struct hv_plug){type, nr_plugs};
	hv_plug_prepare(tracee, &layout, &plugs[nr_plugs]);
	again(in, &plugs[nr_plugs++]);
}

static void print(unsigned cpu, const struct hv_record *event, const uint8_t *entry)
{
	unsigned id = event->word[1] & 0xffff, len = event->word[1] >> HV_EVENT_LEN_SHIFT & 0xffff;

	for (unsigned i = 0; i < nr_plugs; i++) {
		if (plugs[i].type->id != id)
			continue;
		counts[i]++;
		printf("%s %u ", plugs[i].type->name, cpu);
	}
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

/* Prints the events of CPU that are there now. */
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

static void record(unsigned seconds)
{
	struct hv_ring rings[CPUS_MAX];
	unsigned nr = tracee->plan.nr_cpus < CPUS_MAX ? tracee->plan.nr_cpus : CPUS_MAX;

	for (unsigned cpu = 0; cpu < nr; cpu++) {
		struct hv_state *state = hv_tracee_state(tracee, cpu);

		hv_ring_init(&rings[cpu], state, (struct hv_record *)(state + 1),
			     tracee->plan.nr_slots);
	}
	printf("recording\n");
	for (unsigned i = 0; i < seconds * 20; i++) {
		fflush(stdout);
		usleep(50000);
		for (unsigned cpu = 0; cpu < nr; cpu++)
			read_ring(cpu, &rings[cpu]);
	}
}

static struct hv_err *check_held(struct hv_hold *hold, void *ctx)
{
	(void)ctx;
	return hv_plugs_check_unused(tracee, hold);
}

static struct hv_err *unused(const struct hv_plug *plug)
{
	(void)plug;
	return hv_patcher_held(tracee->patcher, check_held, NULL);
}

static void leave(void)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	HV_AUTO_TEXT struct hv_text report = {0};
	size_t nr;

	for (unsigned i = 0; i < nr_plugs; i++)
		again(out, &plugs[i]);
	again(unused, NULL);
	nr = hv_patcher_undo_plan(tracee->patcher, HV_CHANGE_YIELD, &undo);
	must(hv_patcher_apply(tracee->patcher, undo, nr));
	for (unsigned i = 0; i < nr_plugs; i++)
		printf("%s %lu\n", plugs[i].type->name, counts[i]);
	for (unsigned cpu = 0; cpu < tracee->plan.nr_cpus; cpu++)
		if (hv_tracee_state(tracee, cpu)->drafts)
			must(hv_err_new(EIO, "vCPU %u has a draft left", cpu));
	must(hv_session_detach(session, &report));
	printf("%s", report.data);
}

int main(int argc, char **argv)
{
	HV_AUTO_GUEST struct hv_guest *guest = NULL;
	HV_AUTO_KERNEL struct hv_kernel *kernel = NULL;
	struct hv_probe_calls calls = {0};

	if (argc < 4 || argc - 3 > EVENTS_MAX) {
		fprintf(stderr, "usage: plug_probe SPEC SECONDS SYSTEM:EVENT...\n");
		return 2;
	}
	must(hv_guest_open(argv[1], NULL, HV_VIA_AUTO, &guest));
	must(hv_kernel_open(guest, NULL, &kernel));
	must(hv_session_attach(guest, kernel, &session));
	tracee = session->tracee;
	must(hv_event_types_catalogue(session->types, &catalogue));
	must(hv_tracepoint_layout_find(kernel, &layout));
	must(hv_probe_calls_read(kernel, &calls));
	redirect_releases();
	for (int i = 3; i < argc; i++)
		plug(&calls, argv[i]);
	record((unsigned)atoi(argv[2]));
	leave();
	hv_probe_calls_deinit(&calls);
	hv_session_free(session);
	return 0;
}
