/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/host_events.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/text.h"

#define EXIT_NS	    500 /* cost of recording an exit and its entry: two tracepoints of the host */
#define OVER_MAX    2	/* checks: exits are disabled after it, when a storm of 1 s is recorded */
#define PPM	    1000000
#define EXIT_EVENT  "kvm_exit"
#define ENTRY_EVENT "kvm_entry"

static struct hv_err *put(struct client *c, const char *dir, const char *words)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", dir);

	return client_put(c, path, O_WRONLY | O_APPEND, words);
}

/* Enables all events or none. If one is missing, the caller gets the reason. */
struct hv_err *latency_host_events_begin(struct latency_host_events *h, struct client *c,
					 const char *dir, char **ret_why)
{
	HV_AUTO_TEXT struct hv_text words = {0};
	struct hv_err *err;

	*ret_why = NULL;
	for (size_t i = 0; i < hv_nr_wanted_events; i++)
		if (hv_wanted_event_is_hosts(&hv_wanted_events[i]))
			hv_text_printf(&words, "%s:%s ", hv_wanted_events[i].system,
				       hv_wanted_events[i].name);
	hv_text_add(&words, "\n");
	err = put(c, dir, words.data);
	h->is_on = h->has_exits = !err;
	if (!err || client_is_gone(err))
		return err;
	*ret_why = hv_strdup(err->reason);
	hv_err_free(err);
	hv_err_free(put(c, dir, "!" HV_WANTED_HOST ":*\n"));
	return NULL;
}

static struct hv_err *give_up(struct latency_host_events *h, struct client *c, const char *dir)
{
	struct hv_err *err = put(
		c, dir, "!" HV_WANTED_HOST ":" EXIT_EVENT " !" HV_WANTED_HOST ":" ENTRY_EVENT "\n");

	h->has_exits = false;
	return err;
}

struct hv_err *latency_host_events_look(struct latency_host_events *h, struct client *c,
					const char *dir, struct hv_latency *l, uint64_t max_ppm,
					bool *ret_gave_up)
{
	uint64_t now = hv_now_ns(), passed = now - h->looked_ns, nr;

	*ret_gave_up = false;
	if (!h->has_exits || passed < HV_NS_PER_S)
		return NULL;
	nr = hv_exits_since(&l->threads.exits);
	h->nr_over = h->looked_ns && nr * EXIT_NS > passed / PPM * max_ppm ? h->nr_over + 1 : 0;
	h->looked_ns = now;
	if (h->nr_over <= OVER_MAX)
		return NULL;
	*ret_gave_up = true;
	return give_up(h, c, dir);
}
