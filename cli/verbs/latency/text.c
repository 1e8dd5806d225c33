/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/clock.h"
#include "cli/verbs/latency/report.h"

#define VMM_PART 10 /* the VMM is mentioned if its part of a request is at least 1/VMM_PART */

static void add_callers(struct hv_text *out, const struct hv_stall *s)
{
	for (unsigned i = 0; i < HV_STALL_CALLERS && s->callers[i][0]; i++) {
		hv_text_add(out, " <- ");
		hv_text_add_guest(out, s->callers[i], sizeof(s->callers[i]));
	}
}

static void add_where(struct hv_text *out, const struct hv_stall *s)
{
	if (s->kind == HV_STALL_SECTION) {
		hv_text_add(out, "\n   from ");
		hv_text_add_guest(out, s->name, sizeof(s->name));
		hv_text_add(out, " to ");
		hv_text_add_guest(out, s->end, sizeof(s->end));
	}
	if (s->kind != HV_STALL_SECTION && s->end[0]) {
		hv_text_add(out, "\n   in ");
		hv_text_add_guest(out, s->end, sizeof(s->end));
	}
	add_callers(out, s);
}

/* For a system call, the samples already show the stack. */
static void add_samples(struct hv_text *out, const struct hv_stall *s)
{
	if (s->kind == HV_STALL_SYSCALL && !s->nr_samples && !s->end[0])
		hv_text_add(out, "\n   where is not known: no sample of the timer was taken");
	if (!s->nr_samples || !s->most_name[0])
		return;
	hv_text_printf(out, "\n   %u of %u samples in ", s->nr_most, s->nr_samples);
	hv_text_add_guest(out, s->most_name, sizeof(s->most_name));
	if (!s->most_caller_name[0] || s->kind == HV_STALL_SYSCALL)
		return;
	hv_text_add(out, " <- ");
	hv_text_add_guest(out, s->most_caller_name, sizeof(s->most_caller_name));
}

/* Adds the delayed task, and where it was delayed. */
static void add_who(struct hv_text *out, const struct hv_stall *s)
{
	if (s->kind == HV_STALL_IO_DEVICE || s->kind == HV_STALL_IO_QUEUE) {
		hv_text_add(out, ", request by ");
		latency_add_task(out, &s->task);
		return;
	}
	hv_text_printf(out, ", vCPU %u", s->cpu);
	if (s->kind == HV_STALL_HOST)
		return;
	hv_text_add(out, ", ");
	latency_add_task(out, &s->task);
}

/* Omits short waits, which are common. */
static void add_vmm(struct hv_text *out, const struct hv_cause *c)
{
	if (VMM_PART * c->vmm_ns < c->longest.length_ns || !c->vmm_ns)
		return;
	hv_text_add(out, "; during this time, ");
	latency_add_task(out, &c->vmm);
	hv_text_add(out, " of the VMM waited for a CPU of the host for ");
	latency_add_time(out, c->vmm_ns);
}

static void add_counts(struct hv_text *out, const struct hv_cause *c)
{
	hv_text_add(out, "\n   ");
	if (c->nr == 1)
		hv_text_add(out, "once");
	else
		hv_text_printf(out, "%" PRIu64 " times, ", c->nr);
	if (c->nr > 1) {
		latency_add_time(out, c->total_ns);
		hv_text_add(out, " in all");
	}
	if (c->longest.kind == HV_STALL_EXITS) {
		hv_text_printf(out, "; %" PRIu64 " exits, the longest ", c->longest.nr);
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->longest.kind == HV_STALL_RECLAIM && c->longest.nr > 1) {
		hv_text_printf(out, "; %" PRIu64 " searches, the longest ", c->longest.nr);
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->longest.kind == HV_STALL_FAULTS && c->longest.nr > 1) {
		hv_text_printf(out, "; %" PRIu64 " faults, the longest ", c->longest.nr);
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->longest.kind == HV_STALL_HOST && c->longest.longest_ns &&
	    c->longest.longest_ns < c->longest.length_ns) {
		hv_text_add(out, "; in pieces of up to about ");
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->host_ns) {
		hv_text_add(out, "; besides, the host did not run the vCPU for ");
		latency_add_time(out, c->host_ns);
	}
	add_vmm(out, c);
	if (!c->nr_victims)
		return;
	hv_text_printf(out, "; %" PRIu64 " other stall%s followed from it, the longest ",
		       c->nr_victims, hv_plural(c->nr_victims));
	latency_add_time(out, c->victim.length_ns);
	if (c->victim.task.pid) {
		hv_text_add(out, " of ");
		latency_add_task(out, &c->victim.task);
	}
	hv_text_printf(out, " (%s)", latency_word_kind(&c->victim));
	if (!c->victim.end[0] || c->victim.kind == HV_STALL_SECTION)
		return;
	hv_text_add(out, "\n   it was in ");
	hv_text_add_guest(out, c->victim.end, sizeof(c->victim.end));
	add_callers(out, &c->victim);
}

static void add_more(struct hv_text *out, const struct latency_report *r, const struct hv_cause *c)
{
	size_t before;

	hv_text_add(out, "\n   more: ");
	before = out->len_bytes;
	latency_add_command(out, r, c);
	if (out->len_bytes == before)
		hv_text_printf(out, "threads of pid %" PRIu64 " on this host", r->vmm_pid);
}

static void add_before(struct hv_text *out, const struct hv_stall *s)
{
	hv_text_add(out, s->nr_before ? "\n   before, the last first:" : "");
	for (unsigned i = 0; i < s->nr_before; i++) {
		hv_text_add(out, i ? ", " : " ");
		latency_add_task(out, &s->before[i].task);
		hv_text_add(out, " ");
		latency_add_time(out, s->before[i].ns);
	}
}

static void add_one(struct hv_text *out, const struct latency_report *r, size_t i)
{
	const struct hv_cause *c = &r->verdict->list[i];

	hv_text_printf(out, "%zu. ", i + 1);
	latency_add_cause(out, r->latency, c);
	hv_text_add(out, ": ");
	latency_add_time(out, c->longest.length_ns);
	add_who(out, &c->longest);
	hv_text_printf(out, "\n   fault: %s", latency_phrase_fault(c->fault));
	if (c->is_doubtful)
		hv_text_add(out, ", since the host did not run the vCPU at about that time");
	add_where(out, &c->longest);
	add_samples(out, &c->longest);
	add_counts(out, c);
	if (r->tells_before && !i)
		add_before(out, &c->longest);
	add_more(out, r, c);
	hv_text_add(out, "\n");
}

static void add_function(struct hv_text *out, const struct latency_report *r, uint64_t function)
{
	const char *name = hv_calls_symbol(r->calls, function);

	if (name)
		hv_text_add_guest(out, name, HV_STALL_NAME_LEN);
	else
		hv_text_printf(out, "0x%" PRIx64, function);
}

static void add_calls(struct hv_text *out, const struct latency_report *r)
{
	const struct hv_calls *calls = hv_calls_of(r->calls);

	hv_text_printf(out, "%" PRIu64 " calls", calls->nr_seen);
	if (calls->nr_lost)
		hv_text_printf(out, ", %" PRIu64 " events lost", calls->nr_lost);
	hv_text_add(out, calls->nr ? "; the longest of each function:\n" : "\n");
	for (unsigned i = 0; i < calls->nr && i < LATENCY_CALLS; i++) {
		const struct hv_call *c = &calls->list[i];

		hv_text_add(out, "   ");
		add_function(out, r, c->function);
		hv_text_add(out, ": ");
		latency_add_time(out, c->to_ns - c->from_ns);
		if (c->host_ns) {
			hv_text_add(out, " (host ");
			latency_add_time(out, c->host_ns);
			hv_text_add(out, ")");
		}
		hv_text_add(out, ", ");
		latency_add_task(out, &c->task);
		hv_text_printf(out, ", vCPU %u, of %" PRIu64 " call%s", c->cpu, c->nr,
			       hv_plural(c->nr));
		for (unsigned by = 0; by < c->nr_callers; by++) {
			hv_text_add(out, by ? " <- " : ", in ");
			add_function(out, r, c->callers[by]);
		}
		hv_text_add(out, "\n");
	}
}

void latency_text(struct hv_text *out, const struct latency_report *r)
{
	size_t shown =
		r->tells_all || r->verdict->nr < LATENCY_CAUSES ? r->verdict->nr : LATENCY_CAUSES;

	latency_add_answer(out, r);
	for (size_t i = 0; i < shown; i++)
		add_one(out, r, i);
	if (shown < r->verdict->nr)
		hv_text_printf(out, "%zu more cause%s: --all\n", r->verdict->nr - shown,
			       hv_plural(r->verdict->nr - shown));
	if (r->verdict->nr_left_out)
		hv_text_printf(out, "%" PRIu64 " more stalls are not shown\n",
			       r->verdict->nr_left_out);
	latency_add_shares(out, r);
	hv_text_printf(out, "measured %.1f s on %u vCPU%s: %" PRIu64 " events",
		       (double)r->measured_ns / HV_NS_PER_S, r->nr_cpus, hv_plural(r->nr_cpus),
		       r->latency->nr_events);
	if (r->latency->nr_lost)
		hv_text_printf(out, ", %" PRIu64 " lost", r->latency->nr_lost);
	hv_text_add(out, "\n");
	latency_add_exits(out, r->latency);
	if (r->calls)
		add_calls(out, r);
	if (r->gaps->len_bytes)
		hv_text_add(out, r->gaps->data);
}
