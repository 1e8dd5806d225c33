/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/made_dirs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/service/files.h"

void made_dirs_add(struct made_dirs *m, const char *path, const struct peer *peer)
{
	m->list = hv_realloc_array(m->list, m->nr + 1, sizeof(*m->list));
	m->list[m->nr++] = (struct made_dir){
		hv_strdup(path), peer, peer->who, {peer->may.may, "its client", "hvtrace.conf"}};
}

static void drop(struct made_dirs *m, size_t index)
{
	free(m->list[index].path);
	m->list[index] = m->list[--m->nr];
}

void made_dirs_removed(struct made_dirs *m, const char *path)
{
	for (size_t i = m->nr; i-- > 0;)
		if (strcmp(m->list[i].path, path) == 0)
			drop(m, i);
}

/* An error that lasts is logged once, when the client goes. */
static void remove_dirs(struct service *s, bool first)
{
	struct made_dirs *m = &s->made;

	for (size_t i = m->nr; i-- > 0;) {
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (m->list[i].peer)
			continue;
		err = files_remove_dir(s, &m->list[i].who, &m->list[i].may, m->list[i].path);
		if (err && first)
			audit_log(&s->audit, "its client has gone: %s", err->message);
		if (!err || err->code == ENOENT)
			drop(m, i);
	}
}

void made_dirs_orphan(struct service *s, const struct peer *peer)
{
	bool any = false;

	for (size_t i = 0; i < s->made.nr; i++) {
		if (s->made.list[i].peer != peer)
			continue;
		s->made.list[i].peer = NULL;
		any = true;
	}
	if (any)
		remove_dirs(s, true);
}

void made_dirs_retry(struct service *s)
{
	remove_dirs(s, false);
}

void made_dirs_forget(struct made_dirs *m)
{
	while (m->nr)
		drop(m, 0);
	free(m->list);
	*m = (struct made_dirs){0};
}
