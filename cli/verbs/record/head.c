/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/head.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/session_stat.h"

#define TEXT_BYTES_MAX	 (256u << 20)
#define EVENTS		 "events"
#define FTRACE		 "ftrace"
#define PAGE_BYTES_MAX	 (1u << 20)
#define CPUS_MAX	 4096
#define PROGRAM		 "hvtrace " HVTRACE_VERSION
#define GUEST_CLOCK	 "local"
#define HOST_CLOCK	 "host-mono"
#define HOST_CLOCK_KNOWN "mono" /* the Linux clock that it corresponds to */

/* Reads HANDLE to its end, and closes it. */
static struct hv_err *read_all(struct client *c, uint32_t handle, struct hv_text *ret)
{
	struct hv_span data = {NULL, 1};
	struct hv_err *err = NULL;

	while (!err && data.len_bytes && ret->len_bytes < TEXT_BYTES_MAX) {
		err = client_read(c, handle, 0, &data);
		if (!err && data.len_bytes)
			hv_text_add_bytes(ret, data.data, data.len_bytes);
	}
	hv_text_add(ret, "");
	hv_err_keep_first(&err, client_close_file(c, handle));
	return err;
}

static struct hv_err *read_file(struct client *c, const char *path, struct hv_text *ret)
{
	uint32_t handle;
	struct hv_err *err = client_open(c, path, O_RDONLY, &handle);

	if (!err)
		err = read_all(c, handle, ret);
	return err ? client_error(path, err) : NULL;
}

static struct hv_err *read_proc(struct client *c, const char *name, struct hv_text *ret)
{
	struct wire_frame answer;
	struct hv_err *err =
		client_call(c,
			    &(struct wire_frame){.kind = WIRE_OPEN_PROC,
						 .data = {(const uint8_t *)name, strlen(name)}},
			    &answer);

	return err ? err : read_all(c, answer.handle, ret);
}

static struct hv_err *list(struct client *c, const char *dir, char **ret)
{
	struct wire_frame answer;
	struct hv_err *err =
		client_call(c,
			    &(struct wire_frame){.kind = WIRE_LIST,
						 .data = {(const uint8_t *)dir, strlen(dir)}},
			    &answer);

	if (err)
		return err;
	if (!wire_string(answer.data, WIRE_DATA_MAX, ret))
		return hv_err_new(EPROTO, "%s: the service's answer cannot be understood", dir);
	return NULL;
}

/* EVENTS is the directory of systems. */
static struct hv_err *read_format(struct record_head *h, struct client *c, const char *events,
				  const char *system, const char *event)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s/%s/format", events, system, event);
	HV_AUTO_TEXT struct hv_text format = {0};
	struct hv_err *err = read_file(c, path, &format);
	size_t len = format.len_bytes;

	if (err)
		return err;
	h->events = hv_realloc_array(h->events, h->nr_events + 1, sizeof(*h->events));
	h->events[h->nr_events++] =
		(struct hv_export_event){hv_strdup(system), {hv_text_take(&format), len}};
	return NULL;
}

/* Reads the formats of tracers' events, which options of DIR change. Directories end with '/'. */
static struct hv_err *read_formats(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *events = hv_format("%s/" EVENTS, dir), *names = NULL;
	struct hv_err *err = list(c, EVENTS "/" FTRACE, &names);
	char *rest = names;

	for (char *name; !err && (name = strsep(&rest, "\n"));) {
		size_t len = strlen(name);

		if (!len || name[len - 1] != '/')
			continue;
		name[len - 1] = '\0';
		err = read_format(h, c, events, FTRACE, name);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the formats of the events in DIR's set_event, grouped by system. */
static struct hv_err *read_own_formats(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", dir);
	HV_AUTO_FREE char **names = NULL;
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = read_file(c, path, &text);
	char *rest = text.data;
	size_t nr = 0;

	for (char *name; !err && (name = strsep(&rest, "\n"));) {
		if (!strchr(name, ':'))
			continue;
		names = hv_realloc_array(names, nr + 1, sizeof(*names));
		names[nr++] = name;
	}
	if (nr)
		qsort(names, nr, sizeof(*names), compare);
	for (size_t i = 0; !err && i < nr; i++) {
		char *event = names[i], *system = strsep(&event, ":");

		err = read_format(h, c, EVENTS, system, event);
	}
	return err;
}

/* Returns the clock in brackets, by its Linux name. Default: local. */
static char *chosen(const char *clocks)
{
	const char *begin = strchr(clocks, '['), *end = begin ? strchr(begin, ']') : NULL;
	HV_AUTO_FREE char *name =
		end ? hv_format("%.*s", (int)(end - begin - 1), begin + 1) : hv_strdup("local");

	return strcmp(name, HOST_CLOCK) == 0 ? hv_strdup(HOST_CLOCK_KNOWN) : hv_take(name);
}

/* The last field of a page is its data, which reaches to the page's end. */
static struct hv_err *find_page_bytes(struct record_head *h)
{
	const char *data = strstr(h->header_page.data, " data;");
	unsigned off = 0, size = 0, bytes;

	if (data)
		sscanf(data, " data;\toffset:%u;\tsize:%u;", &off, &size);
	bytes = off + size;
	if (!bytes || bytes > PAGE_BYTES_MAX || off > 64 || (bytes & (bytes - 1)))
		return hv_err_new(EPROTO, "events/header_page: pages of %u bytes cannot be used",
				  bytes);
	h->head.page_bytes = bytes;
	return NULL;
}

static struct hv_err *count_cpus(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *path = hv_format("%s/per_cpu", dir);
	HV_AUTO_FREE char *names = NULL;
	struct hv_err *err = list(c, path, &names);
	char *rest = names;
	unsigned cpu;

	for (char *name; !err && (name = strsep(&rest, "\n"));)
		if (sscanf(name, "cpu%u/", &cpu) == 1 && cpu < CPUS_MAX && cpu >= h->head.nr_cpus)
			h->head.nr_cpus = cpu + 1;
	if (!err && !h->head.nr_cpus)
		err = hv_err_new(EPROTO, "%s: there is no vCPU", path);
	return err;
}

static struct hv_export_text borrow(const struct hv_text *t)
{
	return (struct hv_export_text){t->data, t->len_bytes};
}

/* Returns the time of day when this host's CLOCK_MONOTONIC was 0. */
static uint64_t host_epoch_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * HV_NS_PER_S + (uint64_t)now.tv_nsec - hv_now_ns();
}

struct hv_err *record_head_read_date(struct record_head *h, struct client *c)
{
	AUTO_SESSION_STAT json_object *stat = NULL;
	struct hv_err *err;

	h->head.has_date = true;
	if (h->head.clock_epoch_ns)
		return NULL;
	if (strcmp(h->clock, GUEST_CLOCK) != 0)
		return hv_err_new(ENOTSUP,
				  "--date: the clock '%s' has no time of day: choose 'local' or "
				  "'host-mono' in trace_clock",
				  h->clock);
	err = session_stat_get(c, &stat);
	if (err)
		return err;
	h->head.clock_epoch_ns = session_stat_number(stat, "guest_time.epoch_ns");
	if (!h->head.clock_epoch_ns)
		return hv_err_new(ENOTSUP, "--date: the guest's time of day is not known, since "
					   "it keeps it by another counter than its trace clock");
	return NULL;
}

static void fill_head(struct record_head *h)
{
	hv_text_add(&h->version, "");
	h->version.data[strcspn(h->version.data, "\n")] = '\0';
	h->clock = chosen(h->trace_clock.data);
	h->head.clock = h->clock;
	if (strstr(h->trace_clock.data, "[" HOST_CLOCK "]"))
		h->head.clock_epoch_ns = host_epoch_ns();
	h->head.kernel = h->version.data;
	h->head.program = PROGRAM;
	h->head.trace_clock = borrow(&h->trace_clock);
	h->head.header_page = borrow(&h->header_page);
	h->head.header_event = borrow(&h->header_event);
	h->head.kallsyms = borrow(&h->kallsyms);
	h->head.printk_formats = borrow(&h->printk_formats);
	h->head.events = h->events;
	h->head.nr_events = h->nr_events;
}

static struct hv_err *read_events(struct record_head *h, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *clock = hv_format("%s/trace_clock", dir);
	HV_AUTO_FREE char *page = hv_format("%s/events/header_page", dir);
	struct hv_err *err = read_file(c, page, &h->header_page);

	if (!err)
		err = find_page_bytes(h);
	if (!err)
		err = read_file(c, "events/header_event", &h->header_event);
	if (!err)
		err = read_file(c, clock, &h->trace_clock);
	if (!err)
		err = read_own_formats(h, c, dir);
	return err ? err : count_cpus(h, c, dir);
}

struct hv_err *record_head_read_events(struct record_head *h, struct client *c, const char *dir)
{
	struct hv_err *err = read_events(h, c, dir);

	if (!err)
		fill_head(h);
	return err;
}

struct hv_err *record_head_read(struct record_head *h, struct client *c, const char *dir)
{
	struct hv_err *err = read_file(c, "printk_formats", &h->printk_formats);

	if (!err)
		err = read_formats(h, c, dir);
	if (!err)
		err = read_events(h, c, dir);
	if (!err)
		err = read_proc(c, "version", &h->version);
	if (!err)
		err = read_proc(c, "kallsyms", &h->kallsyms);
	if (!err)
		fill_head(h);
	return err;
}

void record_head_deinit(struct record_head *h)
{
	hv_text_deinit(&h->kallsyms);
	hv_text_deinit(&h->printk_formats);
	hv_text_deinit(&h->header_page);
	hv_text_deinit(&h->header_event);
	hv_text_deinit(&h->trace_clock);
	hv_text_deinit(&h->version);
	free(h->clock);
	for (size_t i = 0; i < h->nr_events; i++) {
		free((char *)h->events[i].system);
		free((char *)h->events[i].format.text);
	}
	free(h->events);
}
