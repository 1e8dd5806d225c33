/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/trail.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "cli/service/state.h"

#define SETTING_LEN_MAX 64 /* limit for a setting in the log */

struct trail_step trail_begin(const struct service *s)
{
	struct trail_step step = {.began_ns = hv_now_ns()};

	hv_session_stat(s->session, &step.before);
	return step;
}

/* Returns the start of FILE in the directory of PATH, its lines joined with blanks. */
static char *setting_beside(struct service *s, const char *path, const char *file)
{
	const char *slash = strrchr(path, '/');
	HV_AUTO_FREE char *beside =
		hv_format("%.*s%s", (int)(slash ? slash + 1 - path : 0), path, file);
	char text[SETTING_LEN_MAX] = "";
	struct hv_file *opened;
	size_t len = 0;
	struct hv_err *err = hv_tree_open(s->tree, &hv_root_rights, beside, O_RDONLY, &opened);

	if (!err) {
		err = hv_file_read(opened, text, sizeof(text) - 1, &len);
		hv_file_abandon(opened);
	}
	text[err ? 0 : len] = '\0';
	hv_err_free(err);
	for (size_t i = 0; text[i]; i++)
		if (text[i] == '\n')
			text[i] = text[i + 1] ? ' ' : '\0';
	return hv_strdup(text);
}

static bool is_one_of(const char *path, const char *const *names)
{
	const char *slash = strrchr(path, '/');

	while (*names && strcmp(slash ? slash + 1 : path, *names) != 0)
		names++;
	return *names;
}

static bool always_told(const char *path, enum trail_write write)
{
	static const char *const tracers[] = {"current_tracer", "function_profile_enabled",
					      "set_event", NULL};
	static const char *const filters[] = {
		"set_ftrace_filter",
		"set_ftrace_notrace",
		"set_graph_function",
		"set_graph_notrace",
		"set_ftrace_pid",
		"set_ftrace_notrace_pid",
		NULL,
	};

	if (write == TRAIL_WRITTEN)
		return is_one_of(path, tracers);
	return write == TRAIL_PUBLISHED && is_one_of(path, filters);
}

static void add_settings(struct service *s, const char *path, struct audit_entry *e)
{
	HV_AUTO_FREE char *tracer = setting_beside(s, path, "current_tracer");
	HV_AUTO_FREE char *filter = setting_beside(s, path, "set_ftrace_filter");

	audit_text(e, "file", path);
	audit_text(e, "tracer", tracer);
	audit_text(e, "filter", filter);
}

void trail_change(struct service *s, const struct audit_actor *who, const char *path,
		  const struct trail_step *step, enum trail_write write)
{
	const struct hv_session_stat *before = &step->before;
	struct hv_session_stat now;
	struct audit_entry e;

	hv_session_stat(s->session, &now);
	if (now.nr_patched == before->nr_patched && now.nr_holds == before->nr_holds &&
	    !always_told(path, write))
		return;
	e = audit_begin(&s->audit, who, "change");
	add_settings(s, path, &e);
	audit_number(&e, "patched_before", before->nr_patched);
	audit_number(&e, "patched", now.nr_patched);
	audit_number(&e, "refused", now.nr_refused);
	audit_number(&e, "bytes", now.bytes_changed - before->bytes_changed);
	audit_number(&e, "holds", now.nr_holds - before->nr_holds);
	audit_number(&e, "held_us", (now.hold_total_ns - before->hold_total_ns) / 1000);
	audit_number(&e, "took_us", (hv_now_ns() - step->began_ns) / 1000);
	audit_end(&e);
}

void trail_holds(struct service *s, const struct audit_actor *who)
{
	struct audit_actor self;
	struct audit_entry e;
	uint64_t last_ns = 0;
	uint64_t nr = s->session ? hv_session_long_holds(s->session, &last_ns) : 0;

	if (nr == s->nr_long_holds)
		return;
	if (!who)
		self = audit_actor_self();
	e = audit_begin(&s->audit, who ? who : &self, "hold");
	audit_number(&e, "count", nr - s->nr_long_holds);
	audit_number(&e, "last_us", last_ns / 1000);
	audit_end(&e);
	s->nr_long_holds = nr;
}
