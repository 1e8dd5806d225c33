/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client's open files, of the tree and of the guest's /proc, and the directories of instances/
 * that it made for itself: the requests of wire.h for them. If a function returns an error, the
 * caller sends it as the answer. If not, the function has sent an answer, or the request waits.
 * Leaves to others: the contents of a file (tree/tree.h), when waiting requests are tried again
 * (serve.h), where a program sees the guest's /proc (mount/enter.h). */
#pragma once

#include "cli/service/state.h"

#define FILES_REQUEST(name)                                                                        \
	struct hv_err *files_##name(struct service *s, struct peer *p,                             \
				    const struct wire_frame *frame) hv_must_use

FILES_REQUEST(list);
FILES_REQUEST(look);
FILES_REQUEST(mkdir);
FILES_REQUEST(rmdir);
FILES_REQUEST(open);
FILES_REQUEST(open_proc);
FILES_REQUEST(read);
FILES_REQUEST(ready);
FILES_REQUEST(cancel);
FILES_REQUEST(write);
FILES_REQUEST(close);
FILES_REQUEST(abandon);
FILES_REQUEST(publish);

/* Tries PEER's waiting requests again, and answers those that are ready or whose time is over. */
void files_retry(struct service *s, struct peer *p, uint64_t now_ns);
/* Answers all waiting requests with WHY, which stays the caller's. NULL: with the end of the
 * file. */
void files_end_waits(struct peer *p, const struct hv_err *why);
/* PEER has gone, or the session ends. Closes its files without publishing what was written to them,
 * since the writer did not close them itself. */
void files_abandon_all(struct peer *p);

/* Returns whether PATH, which may be NULL, names a file whose readers are counted: trace_pipe or
 * trace_pipe_raw. */
bool files_is_pipe(const char *path);

/* Directories that clients made for themselves (struct made_dirs). PEER has gone: its directories
 * go now, or when nobody has their files open any more. */
void made_dirs_orphan(struct service *s, const struct peer *peer);
/* Tries again to remove those whose client has gone. The caller does this about once a second. */
void made_dirs_retry(struct service *s);
/* Forgets all, since the tree goes. */
void made_dirs_forget(struct made_dirs *m);
