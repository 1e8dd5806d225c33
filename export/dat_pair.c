/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.dat for record: the guest's file, and if configured a second file with the host's events,
 * like those of `trace-cmd record -A`. Readers merge both by time.
 *
 * The second file has the host's kernel, event systems and tasks, so host events are not shown with
 * names of the guest. Each file has an id. The host's file contains the id of the guest's file, and
 * the threads that run its vCPUs (dat_head.h). dat.c writes each file. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "export/formats.h"
#include "export/page_sift.h"
#include "tracer/events/host_event.h"

#define HOST_SYSTEM "host"
#define ID	    "\nID: "

struct dat_pair {
	struct hv_export base;
	struct hv_export *guest, *host; /* HOST is NULL if its events are in the guest's file */
	struct hv_page_sift sift;
	struct hv_export_event *events; /* owned, with their texts; of the host */
	size_t nr_events;
};

static struct dat_pair *pair_of(struct hv_export *x)
{
	return (struct dat_pair *)x;
}

static void pair_free(struct hv_export *x)
{
	struct dat_pair *p = pair_of(x);

	hv_export_free(p->guest);
	hv_export_free(p->host);
	hv_page_sift_deinit(&p->sift);
	for (size_t i = 0; i < p->nr_events; i++)
		free((char *)p->events[i].format.text);
	free(p->events);
	free(p);
}

static bool is_host(const struct hv_export_event *e)
{
	return strcmp(e->system, HOST_SYSTEM) == 0;
}

/* Returns the system that has the event in the host's kernel. Readers' plugins look events up by
 * system and name. */
static const char *system_of(const struct hv_export_event *e)
{
	static const char sched[] = "name: sched_";
	size_t len = sizeof(sched) - 1;

	return e->format.len_bytes > len && memcmp(e->format.text, sched, len) == 0 ? "sched"
										    : "kvm";
}

/* Returns E's format with the id used in host pages (page_sift.h). */
static struct hv_export_text renumbered(const struct hv_export_event *e)
{
	HV_AUTO_FREE char *text = hv_format("%.*s", (int)e->format.len_bytes, e->format.text);
	const char *at = strstr(text, ID), *rest = at ? at + strlen(ID) : text;
	HV_AUTO_TEXT struct hv_text out = {0};
	size_t len;
	char *end;
	unsigned long id = strtoul(rest, &end, 10);

	if (!at || !hv_host_event_is((uint32_t)id))
		return (struct hv_export_text){hv_take(text), e->format.len_bytes};
	hv_text_printf(&out, "%.*s%lu%s", (int)(rest - text), text,
		       id - HV_HOST_ID_FIRST + HV_SIFT_HOST_ID, end);
	len = out.len_bytes;
	return (struct hv_export_text){hv_text_take(&out), len};
}

/* Events must be grouped by system. */
static void add_system(struct dat_pair *p, const struct hv_export_head *head, const char *system)
{
	for (size_t i = 0; i < head->nr_events; i++)
		if (is_host(&head->events[i]) && strcmp(system_of(&head->events[i]), system) == 0)
			p->events[p->nr_events++] =
				(struct hv_export_event){system, renumbered(&head->events[i])};
}

static struct hv_err *open_host(struct dat_pair *p, const struct hv_export_config *config,
				const struct hv_export_head *head)
{
	const struct hv_export_host *h = config->host;
	const struct hv_export_config own = {
		.path = h->path,
		.fd = h->fd,
		.compression = config->compression,
	};
	struct hv_export_head its = *head;

	p->events = hv_realloc_array(NULL, head->nr_events, sizeof(*p->events));
	add_system(p, head, "kvm");
	add_system(p, head, "sched");
	its.events = p->events;
	its.nr_events = p->nr_events;
	its.kernel = h->kernel;
	its.kallsyms = its.printk_formats = (struct hv_export_text){"", 0};
	its.trace_id = h->trace_id;
	its.guest = &h->guest;
	hv_page_sift_init(&p->sift, head->page_bytes);
	return hv_export_open(&hv_export_dat_one, &own, &its, &p->host);
}

static struct hv_err *pair_open(const struct hv_export_config *config,
				const struct hv_export_head *head, struct hv_export **ret)
{
	struct dat_pair *p = hv_alloc(sizeof(*p));
	struct hv_export_head its = *head;
	struct hv_err *err;

	if (config->host)
		its.trace_id = config->host->guest.trace_id;
	err = hv_export_open(&hv_export_dat_one, config, &its, &p->guest);
	if (!err && config->host)
		err = open_host(p, config, head);
	if (err) {
		pair_free(&p->base);
		return err;
	}
	*ret = &p->base;
	return NULL;
}

static struct hv_err *pair_add(struct hv_export *x, unsigned cpu, struct hv_span data)
{
	struct dat_pair *p = pair_of(x);
	struct hv_err *err = NULL;
	enum hv_sift_side side;
	struct hv_span page;

	if (!p->host || !hv_page_sift_has_host(data) || !hv_page_sift_begin(&p->sift, data))
		return hv_export_add(p->guest, cpu, data);
	while (!err && hv_page_sift_next(&p->sift, &side, &page))
		err = hv_export_add(side == HV_SIFT_HOST ? p->host : p->guest, cpu, page);
	return err;
}

static struct hv_err *pair_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	return hv_export_name_tasks(pair_of(x)->guest, names);
}

static struct hv_err *pair_name_host(struct hv_export *x, struct hv_export_text names)
{
	struct dat_pair *p = pair_of(x);

	return p->host ? hv_export_name_tasks(p->host, names) : NULL;
}

static struct hv_err *pair_turn(struct hv_export *x)
{
	struct dat_pair *p = pair_of(x);
	struct hv_err *err = hv_export_turn(p->guest);

	if (p->host)
		hv_err_keep_first(&err, hv_export_turn(p->host));
	return err;
}

static struct hv_err *pair_end(struct hv_export *x)
{
	struct dat_pair *p = pair_of(x);
	struct hv_err *err = hv_export_end(p->guest);

	if (p->host)
		hv_err_keep_first(&err, hv_export_end(p->host));
	return err;
}

const struct hv_export_format hv_export_dat = {
	.name = "trace.dat",
	.suffix = ".dat",
	.input = HV_EXPORT_PAGES,
	.needs_seek = 1,
	.has_date = 1,
	.has_host = 1,
	.open = pair_open,
	.add = pair_add,
	.name_tasks = pair_name_tasks,
	.name_host = pair_name_host,
	.turn = pair_turn,
	.end = pair_end,
	.free = pair_free,
};
