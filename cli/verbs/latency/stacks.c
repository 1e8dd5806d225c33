/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/stacks.h"

#include <fcntl.h>

#include "base/text.h"

static struct hv_err *put(struct client *c, const char *dir, const struct hv_wanted_event *w,
			  const char *before)
{
	HV_AUTO_FREE char *path = hv_format("%s/events/%s/%s/trigger", dir, w->system, w->name);
	HV_AUTO_FREE char *text = hv_format("%s%s\n", before, w->stack);

	return client_put(c, path, O_WRONLY, text);
}

/* Missing events are not reported here but by find_events() in latency.c. */
struct hv_err *latency_stacks_begin(struct latency_stacks *s, struct client *c, const char *dir,
				    char **ret_why)
{
	HV_AUTO_ERR struct hv_err *why = NULL;

	*ret_why = NULL;
	for (size_t i = 0; i < hv_nr_wanted_events; i++) {
		const struct hv_wanted_event *w = &hv_wanted_events[i];
		struct hv_err *err = w->stack ? put(c, dir, w, "") : NULL;

		if (client_is_gone(err))
			return err;
		if (w->stack && !err)
			s->kinds |= UINT32_C(1) << w->kind;
		if (err && err->code == ENOENT)
			hv_err_free(err);
		else
			hv_err_keep_first(&why, err);
	}
	if (!s->kinds && why)
		*ret_why = hv_strdup(why->reason);
	return NULL;
}

void latency_stacks_tell(const struct latency_stacks *s, struct hv_latency *l)
{
	for (unsigned kind = 0; kind < HV_NR_MOMENTS; kind++)
		if (s->kinds & UINT32_C(1) << kind)
			hv_latency_begin_stacks(l, kind);
}

struct hv_err *latency_stacks_end(struct latency_stacks *s, struct client *c, const char *dir,
				  struct hv_latency *l)
{
	for (size_t i = 0; i < hv_nr_wanted_events; i++) {
		const struct hv_wanted_event *w = &hv_wanted_events[i];
		struct hv_err *err = w->stack ? put(c, dir, w, "!") : NULL;

		if (client_is_gone(err))
			return err;
		hv_err_free(err);
	}
	s->kinds = 0;
	hv_latency_end_stacks(l);
	return NULL;
}
