/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/golden/tree_guest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "ringbuf/abi.h"
#include "tests/lib/script.h"
#include "tracer/events/names.h"
#include "tracer/graph/call_counts.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/guest/actions.h"
#include "tracer/guest/scope.h"
#include "tracer/guest/trampolines.h"
#include "tracer/sites/site_trampolines.h"

static void do_site(struct golden_guest *g, char *args)
{
	uint64_t ip = strtoull(next_word(&args), NULL, 16);
	char *name = next_word(&args);
	char *module = next_word(&args);
	bool invalid = strcmp(module, "invalid") == 0;

	unescape(name);
	unescape(module);
	hv_fake_site(g->session, ip, name, *module && !invalid ? module : NULL, invalid);
}

static void do_type(struct golden_guest *g, char *args)
{
	uint32_t id = (uint32_t)next_number(&args);
	char *system = next_word(&args);
	char *name = next_word(&args);
	uint64_t reg = strcmp(next_word(&args), "off") == 0 ? 0 : 0xffffffff81111110;

	hv_fake_event_type(g->session, system, name, id, reg);
}

/* ARGS: ID NR NAME, and the call's arguments. */
static void do_syscall(struct golden_guest *g, char *args)
{
	uint32_t id = (uint32_t)next_number(&args);
	int32_t nr = (int32_t)next_number(&args);
	char *name = next_word(&args), *words[8] = {0};
	unsigned nr_words = 0;

	for (char *word = next_word(&args); *word && nr_words < 8; word = next_word(&args))
		words[nr_words++] = word;
	hv_fake_syscall(g->session, id, nr, name, words, nr_words);
}

static void do_string(struct golden_guest *g, char *args)
{
	uint64_t at = strtoull(next_word(&args), NULL, 16);

	unescape(args);
	hv_fake_print_string(g->session, at, args);
}

static void do_count(struct golden_guest *g, char *args)
{
	unsigned cpu = (unsigned)next_number(&args);
	struct hv_profile_count count = {.site = next_number(&args)};

	count.hits = next_number(&args);
	count.time_ns = next_number(&args);
	count.spread_ns2 = next_number(&args);
	count.host_ns = next_number(&args);
	hv_fake_count(g->session, cpu, &count);
}

static void do_graph(struct hv_event *e, char *args)
{
	const char *retval;

	e->depth = (uint16_t)next_number(&args);
	if (e->kind == HV_EVENT_GRAPH_EXIT) {
		e->call_ns = next_number(&args);
		e->overrun = (uint32_t)next_number(&args);
		retval = next_word(&args);
		e->has_retval = *retval && *retval != '-';
		e->retval = strtoull(retval, NULL, 0);
	}
	e->lost_before = next_number(&args);
	if (e->kind == HV_EVENT_GRAPH_EXIT)
		e->host_ns = next_number(&args);
}

static void do_callers(struct hv_event *e, char *args)
{
	static struct hv_gva callers[8]; /* copied by the caller */

	callers[0] = hv_gva_add(e->ip, 5);
	e->callers = callers;
	e->nr_callers = !e->of_event;
	for (const char *word = next_word(&args); *word && e->nr_callers < 8;
	     word = next_word(&args)) {
		callers[e->nr_callers] = hv_gva(strtoull(word, NULL, 16));
		e->callers_end_early = !callers[e->nr_callers].v;
		e->nr_callers += !e->callers_end_early;
	}
}

/* Adds data that the guest read: &TAG=TEXT, or &TAG if the read failed. */
static void add_result(struct hv_event *e, char *word)
{
	static uint8_t results[512]; /* copied by the caller */
	uint32_t head[2] = {(uint32_t)strtoul(word + 1, &word, 16), HV_FETCH_FAULT};
	size_t len = *word == '=' ? unescape(++word) : 0;

	if (len)
		head[1] = (uint32_t)len;
	if (e->results_len + sizeof(head) + len + HV_FETCH_ALIGN > sizeof(results))
		return;
	memcpy(results + e->results_len, head, sizeof(head));
	memcpy(results + e->results_len + sizeof(head), word, len);
	e->results = results;
	e->results_len += (uint16_t)(sizeof(head) +
				     (len + HV_FETCH_ALIGN - 1) / HV_FETCH_ALIGN * HV_FETCH_ALIGN);
}

/* Builds the entry of raw_syscalls:* or of a call with registers from numbers of 8 bytes each. The
 * data that the guest read follows. */
static void do_words(struct hv_event *e, uint32_t id, char *text)
{
	static uint8_t entry[HV_ENTRY_HEADER_LEN + 8 * 64]; /* copied by the caller */
	size_t len = HV_ENTRY_HEADER_LEN;

	memset(entry, 0, sizeof(entry));
	memcpy(entry, &id, 2);
	memcpy(entry + 4, &e->pid, sizeof(e->pid));
	for (char *word = next_word(&text); *word && len < sizeof(entry); word = next_word(&text)) {
		uint64_t number = strtoull(word, NULL, 0);

		if (*word == '&') {
			add_result(e, word);
			continue;
		}
		memcpy(entry + len, &number, sizeof(number));
		len += sizeof(number);
	}
	e->id = (uint16_t)id;
	e->entry = (struct hv_span){entry, len};
}

/* The entry has the 16-byte field of every type, or TEXT if that is longer. */
static void do_entry(struct hv_event *e, uint32_t id, char *text)
{
	static uint8_t entry[HV_ENTRY_HEADER_LEN + 256]; /* copied by the caller */
	size_t len = unescape(text);

	memset(entry, 0, sizeof(entry));
	memcpy(entry, &id, 2);
	memcpy(entry + 4, &e->pid, sizeof(e->pid));
	memcpy(entry + HV_ENTRY_HEADER_LEN, text, len < 256 ? len : 256);
	e->id = (uint16_t)id;
	e->entry = (struct hv_span){entry, HV_ENTRY_HEADER_LEN + (len < 16 ? 16 : len)};
}

static struct hv_event event_of(struct golden_guest *g, struct hv_event e, char *args)
{
	char *bytes, *end;
	size_t len;

	e.cpu = (unsigned)next_number(&args);
	e.time_ns = next_number(&args);
	e.pid = (uint32_t)next_number(&args);
	e.tgid = hv_names_tgid(g->session->names, e.pid);
	bytes = hv_strdup(next_word(&args));
	len = unescape(bytes);
	memcpy(e.comm, bytes, len < sizeof(e.comm) ? len : sizeof(e.comm) - 1);
	free(bytes);
	e.flags = (uint8_t)next_number(&args);
	e.preempt_depth = (uint8_t)next_number(&args);
	e.migrate_depth = (uint8_t)strtoul(next_word(&args), &end, 0);
	e.lazy_depth = *end == ':' ? (uint8_t)strtoul(end + 1, NULL, 0) : 0;
	if (e.kind == HV_EVENT_GUESTS) {
		uint32_t id = (uint32_t)next_number(&args);

		e.is_compat = *args == '~';
		if (*args == '=' || *args == '~')
			do_words(&e, id, args + 1);
		else
			do_entry(&e, id, args);
		return e;
	}
	e.ip = hv_gva(strtoull(next_word(&args), NULL, 16));
	if (e.kind == HV_EVENT_STACK) {
		do_callers(&e, args);
	} else if (e.kind == HV_EVENT_FUNCTION) {
		e.parent_ip = hv_gva(strtoull(next_word(&args), NULL, 16));
		e.lost_before = next_number(&args);
	} else {
		do_graph(&e, args);
	}
	return e;
}

static void do_event(struct golden_guest *g, struct hv_event e, char *args)
{
	e = event_of(g, e, args);
	hv_fake_event(g->session, &e);
}

/* Ends ARGS at the next comma. Returns the rest, or NULL at the end. */
static char *cut(char *args)
{
	char *comma = args ? strchr(args, ',') : NULL;

	if (comma)
		*comma++ = '\0';
	return comma;
}

/* Parses ARGS as a line of `entry` or `exit`, or as the arguments of `event`. */
static struct hv_event call_of(struct golden_guest *g, char *args)
{
	static const struct {
		const char *word;
		enum hv_event_kind kind;
	} kinds[] = {{" entry ", HV_EVENT_GRAPH_ENTRY}, {" exit ", HV_EVENT_GRAPH_EXIT}};

	for (size_t i = 0; i < HV_ARRAY_LEN(kinds); i++)
		if (strncmp(args, kinds[i].word, strlen(kinds[i].word)) == 0)
			return event_of(g, (struct hv_event){.kind = kinds[i].kind},
					args + strlen(kinds[i].word));
	return event_of(g, (struct hv_event){.kind = HV_EVENT_FUNCTION}, args);
}

/* ARGS: the start and the end of the section, then the calls in it, separated by commas. Empty: no
 * section. */
static void do_section(struct golden_guest *g, char *args)
{
	const struct hv_event call = {.kind = HV_EVENT_FUNCTION};
	struct hv_section *section;
	char *to = cut(args), *calls = cut(to);

	if (!to) {
		hv_fake_section(g->session, NULL);
		return;
	}
	section = hv_alloc(sizeof(*section));
	*section = (struct hv_section){
		.nr_refs = 1, .from = event_of(g, call, args), .to = event_of(g, call, to)};
	section->cpu = section->to.cpu;
	section->stolen_ns = section->from.lost_before;
	section->from.lost_before = 0;
	section->ns = section->to.time_ns - section->from.time_ns - section->stolen_ns;
	section->calls = hv_alloc(8 * sizeof(*section->calls));
	while (calls && section->nr_calls < 8) {
		char *next = cut(calls);

		section->calls[section->nr_calls++] = call_of(g, calls);
		calls = next;
	}
	section->nr_lost = section->nr_calls ? section->calls[0].lost_before : 0;
	hv_fake_section(g->session, section);
	g->section = section;
}

/* Sets UID NICE POLICY RT_PRIO of the section and the addresses of the stack at its end. An address
 * of 0 ends the stack early. */
static void do_ends_in(struct golden_guest *g, char *args)
{
	struct hv_section *section = g->section;

	section->uid = (uint32_t)next_number(&args);
	section->nice = atoi(next_word(&args));
	section->policy = (uint32_t)next_number(&args);
	section->rt_priority = (uint32_t)next_number(&args);
	free(section->callers);
	section->callers = hv_alloc(8 * sizeof(*section->callers));
	section->nr_callers = 0;
	for (const char *word = next_word(&args); *word && section->nr_callers < 8;
	     word = next_word(&args)) {
		struct hv_gva at = hv_gva(strtoull(word, NULL, 16));

		section->callers[section->nr_callers] = at;
		section->callers_end_early = !at.v;
		section->nr_callers += at.v != 0;
	}
}

/* KIND: "raw", the guest has no trace clock that hvtrace can compute; "unstable", its clock has
 * become unstable; or "host", the host's clock is available. */
static void do_clock(struct golden_guest *g, const char *kind)
{
	if (strcmp(kind, "raw") == 0)
		hv_fake_clock(g->session, HV_CLOCK_RAW);
	else if (strcmp(kind, "unstable") == 0)
		hv_fake_unstable_clock(g->session);
	else
		hv_fake_host_clock(g->session);
}

bool golden_guest_line(struct golden_guest *g, const char *command, char *args)
{
	if (strcmp(command, "site") == 0)
		do_site(g, args);
	else if (strcmp(command, "section") == 0)
		do_section(g, args);
	else if (strcmp(command, "ends_in") == 0)
		do_ends_in(g, args);
	else if (strcmp(command, "event") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_FUNCTION}, args);
	else if (strcmp(command, "begins") == 0)
		do_event(g,
			 (struct hv_event){.kind = HV_EVENT_FUNCTION,
					   .of_section = HV_SECTION_BEGINS},
			 args);
	else if (strcmp(command, "ends") == 0)
		do_event(
			g,
			(struct hv_event){.kind = HV_EVENT_FUNCTION, .of_section = HV_SECTION_ENDS},
			args);
	else if (strcmp(command, "entry") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_GRAPH_ENTRY}, args);
	else if (strcmp(command, "exit") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_GRAPH_EXIT}, args);
	else if (strcmp(command, "stack") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_STACK}, args);
	else if (strcmp(command, "command") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_STACK, .of_command = 1}, args);
	else if (strcmp(command, "deepest") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_STACK, .is_deepest = 1}, args);
	else if (strcmp(command, "behind") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_STACK, .of_event = 1}, args);
	else if (strcmp(command, "guests") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_GUESTS}, args);
	else if (strcmp(command, "called") == 0)
		do_event(g, (struct hv_event){.kind = HV_EVENT_COMMAND}, args);
	else if (strcmp(command, "count") == 0)
		do_count(g, args);
	else if (strcmp(command, "overrun") == 0)
		hv_fake_overrun(g->session, next_number(&args));
	else if (strcmp(command, "type") == 0)
		do_type(g, args);
	else if (strcmp(command, "syscall") == 0)
		do_syscall(g, args);
	else if (strcmp(command, "syscalls_sleep") == 0)
		hv_fake_syscalls_sleep(g->session);
	else if (strcmp(command, "scheduler") == 0)
		hv_fake_scheduler(g->session);
	else if (strcmp(command, "user_stacks") == 0)
		hv_fake_user_stacks(g->session);
	else if (strcmp(command, "forks") == 0)
		hv_fake_event_forks(g->session);
	else if (strcmp(command, "notypes") == 0)
		hv_fake_forget_event_types(g->session);
	else if (strcmp(command, "string") == 0)
		do_string(g, args);
	else if (strcmp(command, "steal") == 0)
		hv_fake_steal_time(g->session);
	else if (strcmp(command, "switch") == 0)
		hv_fake_switch(g->session, (unsigned)next_number(&args));
	else if (strcmp(command, "btf") == 0)
		hv_fake_types(g->session);
	else if (strcmp(command, "casts") == 0)
		hv_fake_casts(g->session);
	else if (strcmp(command, "lazy") == 0)
		hv_fake_lazy(g->session);
	else if (strcmp(command, "clock") == 0)
		do_clock(g, args);
	else if (strcmp(command, "comm") == 0) {
		uint32_t pid = (uint32_t)next_number(&args);

		unescape(args);
		hv_fake_comm(g->session, pid, 0, args);
	} else if (strcmp(command, "task") == 0) {
		uint32_t pid = (uint32_t)next_number(&args), tgid = (uint32_t)next_number(&args);

		hv_fake_comm(g->session, pid, tgid, args);
	} else if (strcmp(command, "fork") == 0) {
		uint32_t pid = (uint32_t)next_number(&args);

		hv_fake_fork(g->session, pid, (uint32_t)next_number(&args));
	} else
		return false;
	return true;
}

static void show_site(FILE *out, const char *name, unsigned trampoline)
{
	static const char *const trampolines[] = {
		[HV_TRAMPOLINE_NONE] = "",
		[HV_TRAMPOLINE_SECTION_FUNCTION] = ":section",
		[HV_TRAMPOLINE_FUNCTION] = "",
		[HV_TRAMPOLINE_FUNCTION_STACK] = ":stack",
		[HV_TRAMPOLINE_SECTION_GRAPH] = ":section-graph",
		[HV_TRAMPOLINE_GRAPH] = ":graph",
		[HV_TRAMPOLINE_GRAPH_ROOT] = ":root",
		[HV_TRAMPOLINE_GRAPH_NOTRACE] = ":notrace",
		[HV_TRAMPOLINE_FUNCTION_AND_GRAPH] = ":both",
		[HV_TRAMPOLINE_ACTIONS] = ":actions",
	};

	fprintf(out, " %s", name);
	if (trampoline == HV_TRAMPOLINE_LATER) {
		fputs(":later", out);
		return;
	}
	if (!(trampoline & HV_TRAMPOLINE_PROFILED)) {
		fputs(trampolines[trampoline], out);
		return;
	}
	trampoline &= ~(unsigned)HV_TRAMPOLINE_PROFILED;
	fprintf(out, "%s:profile",
		trampoline == HV_TRAMPOLINE_FUNCTION ? ":function" : trampolines[trampoline]);
}

static void show_actions(FILE *out, const struct hv_site_actions *actions)
{
	fprintf(out, "at %llx: %x, %lld %lld\n", (unsigned long long)actions->ip, actions->bits,
		(long long)actions->left[HV_ACTION_ON_COUNTED],
		(long long)actions->left[HV_ACTION_OFF_COUNTED]);
	for (size_t i = 0; i < actions->nr_steps; i++)
		fprintf(out, "  %x: %u, %u, 0x%llx\n", actions->program[i].tag,
			actions->program[i].does, actions->program[i].len_bytes,
			(unsigned long long)actions->program[i].value);
}

void golden_guest_show(const struct golden_guest *g, FILE *out)
{
	const struct hv_sites *sites = &g->session->kernel->sites;
	const uint8_t *patched = hv_site_trampolines_now(g->session->trampolines);
	const struct hv_site_actions *actions;
	const struct hv_graph_options *graph = hv_fake_graph(g->session);
	const uint32_t *pids;
	size_t nr;

	fprintf(out, "sites:");
	for (size_t i = 0; i < sites->nr; i++)
		if (patched[i])
			show_site(out, sites->list[i].name, patched[i]);
	if (graph->flags & HV_GRAPH_NO_SLEEP)
		fprintf(out, "\nwithout sleep");
	if (graph->flags || graph->max_depth || graph->thresh_ns)
		fprintf(out, "\ngraph: flags %u, depth %u, thresh %" PRIu64 " ns", graph->flags,
			graph->max_depth, graph->thresh_ns);
	if (hv_fake_logs(g->session))
		fprintf(out, "\nsections are logged");
	pids = hv_fake_pids(g->session, &nr);
	fprintf(out, "\npids:");
	for (size_t i = 0; i < nr; i++)
		fprintf(out, " %u", pids[i]);
	pids = hv_fake_not_pids(g->session, &nr);
	if (nr)
		fprintf(out, "\nnot:");
	for (size_t i = 0; i < nr; i++)
		fprintf(out, " %u", pids[i]);
	if (*hv_fake_events_on(g->session))
		fprintf(out, "\nevents:%s", hv_fake_events_on(g->session));
	if (hv_fake_forks(g->session) != HV_FORKS_NOT)
		fprintf(out, "\nforks: %s",
			hv_fake_forks(g->session) == HV_FORKS_OF_ONLY ? "only" : "others");
	for (unsigned cpu = 0; cpu < 16; cpu++)
		if (hv_fake_muted(g->session)[cpu])
			fprintf(out, "\nmuted: %u", cpu);
	fprintf(out, "\nrecording: %u%s\n", hv_fake_recording(g->session),
		hv_fake_paused(g->session) ? ", paused" : "");
	actions = hv_fake_actions(g->session, &nr);
	for (size_t i = 0; i < nr; i++)
		show_actions(out, &actions[i]);
}
