/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/stat_agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

#define PIDS_SHOWN   8
#define BUILD_ID_LEN (2 * AGENT_BUILD_ID_MAX + 1)

/* Returns the number of tasks from AT on that share a cgroup. */
static size_t group_of(const struct agent_round *r, size_t at)
{
	size_t nr = 1;

	while (at + nr < r->nr && strcmp(r->tasks[at + nr].cgroup, r->tasks[at].cgroup) == 0)
		nr++;
	return nr;
}

static void build_id_of(const struct agent_file *f, char text[BUILD_ID_LEN])
{
	text[0] = '\0';
	for (unsigned i = 0; i < f->build_id_len; i++)
		snprintf(text + 2 * i, 3, "%02x", f->build_id[i]);
}

/* Text. */

static void print_groups(const struct agent_round *r)
{
	for (size_t at = 0, nr; at < r->nr; at += nr) {
		nr = group_of(r, at);
		printf("agent tasks  %s: pid", r->tasks[at].cgroup);
		for (size_t i = 0; i < nr && i < PIDS_SHOWN; i++)
			printf("%s %u", i ? "," : "", r->tasks[at + i].pid);
		if (nr > PIDS_SHOWN)
			printf(" and %zu more", nr - PIDS_SHOWN);
		printf("\n");
	}
}

void stat_time_print(const char *what, uint64_t realtime_ns, uint64_t host_ns, const char *end)
{
	time_t seconds = (time_t)(realtime_ns / HV_NS_PER_S);
	bool is_ahead = realtime_ns > host_ns;
	uint64_t apart_ns = is_ahead ? realtime_ns - host_ns : host_ns - realtime_ns;
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%-12s %s.%09llu UTC, %.3f s %s this host's%s", what, date,
	       (unsigned long long)realtime_ns % HV_NS_PER_S, (double)apart_ns / HV_NS_PER_S,
	       is_ahead ? "ahead of" : "behind", end);
}

static void print_clock(const struct agent_clock *c)
{
	stat_time_print("agent clock", c->realtime_ns, c->heard_ns, "; ");
	printf("monotonic %.6f s, %s %" PRIu64 "\n", (double)c->monotonic_ns / HV_NS_PER_S,
	       c->counter, c->counter_value);
}

static void print_maps(const struct agent_round *r, uint32_t pid)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_maps; i++) {
		const struct agent_map *m = &r->maps[i];
		const struct agent_file *f = &r->files[m->file];
		char id[BUILD_ID_LEN];

		if (m->pid != pid)
			continue;
		build_id_of(f, id);
		printf("agent maps   %" PRIx64 "-%" PRIx64 " %s+0x%" PRIx64 " build id %s\n",
		       m->start, m->end, f->path, m->offset, *id ? id : "not known");
		nr++;
	}
	if (!nr)
		printf("agent maps   pid %u: none reported\n", pid);
}

void stat_agent_print(const struct agent_round *r, uint32_t maps_of)
{
	print_groups(r);
	if (r->has_clock)
		print_clock(&r->clock);
	if (maps_of)
		print_maps(r, maps_of);
	if (r->is_cut)
		printf("agent maps   incomplete: the processes have too many\n");
}

/* JSON. */

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

static void add_address(json_object *o, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_object_object_add(o, key, json_object_new_string(text));
}

static json_object *groups_of(const struct agent_round *r)
{
	json_object *groups = json_object_new_array();

	for (size_t at = 0, nr; at < r->nr; at += nr) {
		json_object *group = json_object_new_object(), *pids = json_object_new_array();

		nr = group_of(r, at);
		for (size_t i = 0; i < nr; i++)
			json_object_array_add(pids, json_object_new_int64(r->tasks[at + i].pid));
		json_object_object_add(group, "cgroup",
				       json_object_new_string(r->tasks[at].cgroup));
		json_object_object_add(group, "pids", pids);
		json_object_array_add(groups, group);
	}
	return groups;
}

static json_object *clock_of(const struct agent_clock *c)
{
	json_object *o = json_object_new_object();

	add_number(o, "realtime_ns", c->realtime_ns);
	add_number(o, "monotonic_ns", c->monotonic_ns);
	json_object_object_add(o, "counter", json_object_new_string(c->counter));
	add_number(o, "counter_value", c->counter_value);
	add_number(o, "heard_ns", c->heard_ns);
	return o;
}

static json_object *maps_of_pid(const struct agent_round *r, uint32_t pid)
{
	json_object *maps = json_object_new_array();

	for (size_t i = 0; i < r->nr_maps; i++) {
		const struct agent_map *m = &r->maps[i];
		const struct agent_file *f = &r->files[m->file];
		json_object *o = m->pid == pid ? json_object_new_object() : NULL;
		char id[BUILD_ID_LEN];

		if (!o)
			continue;
		build_id_of(f, id);
		add_address(o, "start", m->start);
		add_address(o, "end", m->end);
		add_address(o, "offset", m->offset);
		json_object_object_add(o, "file", json_object_new_string(f->path));
		if (*id)
			json_object_object_add(o, "build_id", json_object_new_string(id));
		json_object_array_add(maps, o);
	}
	return maps;
}

void stat_agent_add(json_object *o, const struct agent_round *r, uint32_t maps_of)
{
	json_object_object_add(o, "agent_says", groups_of(r));
	if (r->has_clock)
		json_object_object_add(o, "agent_clock", clock_of(&r->clock));
	if (maps_of)
		json_object_object_add(o, "agent_maps", maps_of_pid(r, maps_of));
	json_object_object_add(o, "agent_is_cut", json_object_new_boolean(r->is_cut));
}
