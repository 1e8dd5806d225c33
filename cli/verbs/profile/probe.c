/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/text.h"

#define PROBES "kprobe_events"

static struct hv_err *write_line(struct client *c, const char *line)
{
	return client_put(c, PROBES, O_WRONLY | O_APPEND, line);
}

/* An existing definition is another profile's, and identical. */
struct hv_err *profile_probe_define(struct profile_probe *p, struct client *c, const char *event,
				    const char *line)
{
	struct hv_err *err = p->is_defined ? NULL : write_line(c, line);

	p->event = event;
	p->is_defined = p->is_defined || !err || err->code == EEXIST;
	if (!err || err->code != EEXIST)
		return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *profile_probe_remove(struct profile_probe *p, struct client *c)
{
	HV_AUTO_FREE char *line = hv_format("-:%s\n", p->event ? p->event : "");
	struct hv_err *err = p->is_defined ? write_line(c, line) : NULL;

	p->is_defined = false;
	if (!err || (err->code != EBUSY && err->code != ENOENT))
		return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *profile_explain(struct hv_err *err, char **ret_why)
{
	if (!err || client_is_gone(err))
		return err;
	free(*ret_why);
	*ret_why = hv_strdup(err->reason);
	hv_err_free(err);
	return NULL;
}
