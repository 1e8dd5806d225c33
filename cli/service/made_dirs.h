/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of instances/ that a client had made for itself: they go when its connection ends,
 * however that happens, and their settings with them.
 * Leaves to others: the requests that make them (files.h), who has gone (clients.h). */
#pragma once

#include "cli/audit.h"
#include "tree/settings/rights.h"

struct peer;
struct service;

struct made_dir {
	char *path;		 /* owned */
	const struct peer *peer; /* borrowed; NULL: it has gone, and the directory shall go */
	struct audit_actor who;
	struct hv_rights may; /* of PEER */
};

struct made_dirs {
	struct made_dir *list; /* owned */
	size_t nr;
};

/* PATH, which is copied, was made for PEER. */
void made_dirs_add(struct made_dirs *m, const char *path, const struct peer *peer);
/* Somebody has removed PATH. */
void made_dirs_removed(struct made_dirs *m, const char *path);
/* PEER has gone: its directories go now, or when nobody has their files open any more. */
void made_dirs_orphan(struct service *s, const struct peer *peer);
/* Tries again to remove those whose client has gone. The caller does this about once a second. */
void made_dirs_retry(struct service *s);
/* Forgets all, since the tree goes. */
void made_dirs_forget(struct made_dirs *m);
