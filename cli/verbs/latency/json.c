/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <string.h>

#include "cli/verbs/latency/report.h"

#define VERSION 1

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

/* All texts may contain names of the guest. */
static json_object *string(const char *text, size_t size)
{
	HV_AUTO_TEXT struct hv_text shown = {0};

	hv_text_add_utf8(&shown, text, size);
	hv_text_add(&shown, "");
	return json_object_new_string(shown.data);
}

static void add_string(json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, string(value, strlen(value)));
}

static void add_task(json_object *o, const char *key, const struct hv_stall_task *task)
{
	json_object *t = json_object_new_object();

	add_number(t, "pid", task->pid);
	json_object_object_add(t, "comm", string(task->comm, sizeof(task->comm)));
	json_object_object_add(o, key, t);
}

static void add_stack(json_object *o, const struct hv_stall *s)
{
	json_object *list;

	if (s->kind != HV_STALL_SECTION && !s->end[0])
		return;
	if (s->kind == HV_STALL_SECTION)
		json_object_object_add(o, "from", string(s->name, sizeof(s->name)));
	json_object_object_add(o, "function", string(s->end, sizeof(s->end)));
	list = json_object_new_array();
	for (unsigned i = 0; i < HV_STALL_CALLERS && s->callers[i][0]; i++)
		json_object_array_add(list, string(s->callers[i], sizeof(s->callers[i])));
	json_object_object_add(o, "callers", list);
}

static void add_samples(json_object *o, const struct hv_stall *s)
{
	json_object *samples = json_object_new_object();

	add_number(samples, "taken", s->nr_samples);
	add_number(samples, "in_function", s->nr_most);
	json_object_object_add(samples, "function", string(s->most_name, sizeof(s->most_name)));
	json_object_object_add(samples, "caller",
			       string(s->most_caller_name, sizeof(s->most_caller_name)));
	json_object_object_add(o, "samples", samples);
}

static void add_text(json_object *o, const char *key, struct hv_text *text)
{
	hv_text_add(text, "");
	add_string(o, key, text->data);
}

static void add_before(json_object *o, const struct hv_stall *s)
{
	json_object *list = json_object_new_array();

	for (unsigned i = 0; i < s->nr_before; i++) {
		json_object *slice = json_object_new_object();

		add_task(slice, "task", &s->before[i].task);
		add_number(slice, "ns", s->before[i].ns);
		json_object_array_add(list, slice);
	}
	json_object_object_add(o, "before", list);
}

static void add_storm(json_object *o, const struct hv_stall *s)
{
	json_object_object_add(o, "reason", string(s->name, sizeof(s->name)));
	add_number(o, "exits", s->nr);
	add_number(o, "longest_exit_ns", s->longest_ns);
	add_number(o, "passed_ns", s->to_ns - s->from_ns);
}

static void add_searches(json_object *o, const struct hv_stall *s)
{
	add_number(o, "searches", s->nr);
	add_number(o, "longest_search_ns", s->longest_ns);
	add_number(o, "passed_ns", s->to_ns - s->from_ns);
}

static void add_faults(json_object *o, const struct hv_stall *s)
{
	add_number(o, "faults", s->nr);
	add_number(o, "longest_fault_ns", s->longest_ns);
	add_number(o, "passed_ns", s->to_ns - s->from_ns);
}

static void add_syscall(json_object *o, const struct hv_stall *s)
{
	HV_AUTO_TEXT struct hv_text name = {0};

	latency_add_syscall(&name, s);
	add_number(o, "number", s->number);
	add_text(o, "system_call", &name);
}

static void add_victim(json_object *o, const struct hv_stall *s)
{
	json_object *victim;

	add_task(o, "victim", &s->task);
	victim = json_object_object_get(o, "victim");
	add_string(victim, "cause", latency_word_kind(s));
	add_stack(victim, s);
}

static void add_limit(json_object *o, const struct latency_report *r, const struct hv_stall *s)
{
	const struct hv_limit_group *g = hv_limits_group(r->latency->finders.limits, s->number);
	json_object *limit = json_object_new_object();

	if (s->flags)
		add_string(limit, "class", s->flags & HV_LIMIT_REALTIME ? "realtime" : "deadline");
	else if (g)
		json_object_object_add(limit, "cgroup", string(g->path, sizeof(g->path)));
	if (!s->flags && g) {
		add_number(limit, "quota_ns", g->quota_ns);
		add_number(limit, "period_ns", g->period_ns);
	}
	json_object_object_add(o, "limit", limit);
}

static json_object *answer_of(const struct latency_report *r)
{
	HV_AUTO_TEXT struct hv_text words = {0};

	latency_add_answer(&words, r);
	words.data[words.len_bytes - 1] = '\0'; /* removes the newline */
	return string(words.data, words.len_bytes - 1);
}

static json_object *cause_of(const struct latency_report *r, const struct hv_cause *c)
{
	HV_AUTO_TEXT struct hv_text words = {0}, command = {0};
	json_object *o = json_object_new_object();
	const struct hv_stall *s = &c->longest;

	add_string(o, "cause", latency_word_kind(s));
	add_string(o, "fault", latency_word_fault(c->fault));
	latency_add_cause(&words, r->latency, c);
	add_text(o, "text", &words);
	add_number(o, "longest_ns", s->length_ns);
	add_number(o, "total_ns", c->total_ns);
	add_number(o, "times", c->nr);
	add_number(o, "at_ns", s->from_ns);
	add_number(o, "cpu", s->cpu);
	add_number(o, "not_run_ns", c->host_ns);
	if (s->kind != HV_STALL_HOST)
		add_task(o, "task", &s->task);
	if (s->kind == HV_STALL_RUNQUEUE && s->by.pid)
		add_task(o, "by", &s->by);
	if (s->kind == HV_STALL_HOST && s->by.comm[0])
		json_object_object_add(o, "by", latency_json_taker(r->latency, s));
	if (s->kind == HV_STALL_EXITS)
		add_storm(o, s);
	if (s->kind == HV_STALL_RECLAIM)
		add_searches(o, s);
	if (s->kind == HV_STALL_FAULTS)
		add_faults(o, s);
	if (s->kind == HV_STALL_SYSCALL)
		add_syscall(o, s);
	if (s->kind == HV_STALL_LIMIT)
		add_limit(o, r, s);
	if (c->nr_crowd)
		add_number(o, "crowd", c->nr_crowd);
	if (s->kind == HV_STALL_IO_DEVICE)
		add_number(o, "vmm_waited_ns", c->vmm_ns);
	if (c->vmm_ns)
		add_task(o, "vmm", &c->vmm);
	add_stack(o, s);
	if (s->nr_samples)
		add_samples(o, s);
	add_number(o, "victims", c->nr_victims);
	if (c->victim.task.pid)
		add_victim(o, &c->victim);
	if (r->tells_before)
		add_before(o, s);
	latency_add_command(&command, r, c);
	if (command.len_bytes)
		add_text(o, "command", &command);
	return o;
}

static json_object *gaps_of(const struct hv_text *gaps)
{
	json_object *list = json_object_new_array();
	HV_AUTO_FREE char *copy = hv_strdup(gaps->len_bytes ? gaps->data : "");
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			json_object_array_add(list, string(line, strlen(line)));
	return list;
}

static json_object *function_of(const struct latency_report *r, uint64_t function)
{
	HV_AUTO_FREE char *number = hv_format("0x%llx", (unsigned long long)function);
	const char *name = hv_calls_symbol(r->calls, function);

	return name ? string(name, strlen(name)) : json_object_new_string(number);
}

static json_object *call_of(const struct latency_report *r, const struct hv_call *c)
{
	json_object *o = json_object_new_object(), *callers = json_object_new_array();

	json_object_object_add(o, "function", function_of(r, c->function));
	add_number(o, "longest_ns", c->to_ns - c->from_ns);
	if (hv_calls_have_host(r->calls))
		add_number(o, "host_ns", c->host_ns);
	add_number(o, "at_ns", c->from_ns);
	add_number(o, "calls", c->nr);
	add_number(o, "cpu", c->cpu);
	add_task(o, "task", &c->task);
	for (unsigned i = 0; i < c->nr_callers; i++)
		json_object_array_add(callers, function_of(r, c->callers[i]));
	json_object_object_add(o, "callers", callers);
	return o;
}

static json_object *calls_of(const struct latency_report *r)
{
	const struct hv_calls *calls = hv_calls_of(r->calls);
	json_object *o = json_object_new_object(), *list = json_object_new_array();

	add_number(o, "seen", calls->nr_seen);
	add_number(o, "lost", calls->nr_lost);
	for (unsigned i = 0; i < calls->nr && i < LATENCY_CALLS; i++)
		json_object_array_add(list, call_of(r, &calls->list[i]));
	json_object_object_add(o, "longest", list);
	return o;
}

void latency_json(struct hv_text *out, const struct latency_report *r)
{
	json_object *o = json_object_new_object(), *list = json_object_new_array();

	add_number(o, "version", VERSION);
	add_string(o, "domain", r->domain);
	add_number(o, "measured_ns", r->measured_ns);
	add_number(o, "threshold_ns", r->threshold_ns);
	add_number(o, "cpus", r->nr_cpus);
	add_number(o, "events", r->latency->nr_events);
	add_number(o, "lost", r->latency->nr_lost);
	add_number(o, "load_ppm", r->load_ppm);
	json_object_object_add(o, "answer", answer_of(r));
	for (size_t i = 0; i < r->verdict->nr; i++)
		json_object_array_add(list, cause_of(r, &r->verdict->list[i]));
	json_object_object_add(o, "verdict", list);
	if (r->latency->shares.nr)
		json_object_object_add(o, "vcpus", latency_json_shares(r));
	if (r->latency->has_host_events)
		json_object_object_add(o, "host", latency_json_host(r->latency));
	if (r->calls)
		json_object_object_add(o, "calls", calls_of(r));
	json_object_object_add(o, "gaps", gaps_of(r->gaps));
	hv_text_add(out, json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	hv_text_add(out, "\n");
	json_object_put(o);
}
