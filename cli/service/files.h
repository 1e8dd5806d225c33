/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of wire.h for a client's open files, in the tree and in the guest's /proc, and for
 * directories of instances/ and events that belong to a connection. If a function returns an error,
 * the caller sends it as the answer. Otherwise the function has sent an answer, or the request
 * waits.
 *
 * tree/tree.h defines the contents of files, serve.h retries waiting requests, and verbs/exec.c
 * shows the guest's /proc to programs. */
#pragma once

#include "cli/service/state.h"

#define FILES_REQUEST(name)                                                                        \
	struct hv_err *files_##name(struct service *s, struct peer *p,                             \
				    const struct wire_frame *frame) hv_must_use

FILES_REQUEST(list);
FILES_REQUEST(look);
FILES_REQUEST(mkdir);
FILES_REQUEST(rmdir);
FILES_REQUEST(define);
FILES_REQUEST(open);
FILES_REQUEST(open_proc);
FILES_REQUEST(read);
FILES_REQUEST(ready);
FILES_REQUEST(cancel);
FILES_REQUEST(write);
FILES_REQUEST(close);
FILES_REQUEST(abandon);
FILES_REQUEST(publish);

/* Retries PEER's waiting requests, and answers those that are ready or timed out. */
void files_retry(struct service *s, struct peer *p, uint64_t now_ns);
/* Answers all waiting requests with WHY, which the caller keeps. NULL: with end of file. */
void files_end_waits(struct peer *p, const struct hv_err *why);
/* Call it when PEER has disconnected or the session ends. Closes its files and discards unpublished
 * writes, because the writer did not close them. */
void files_abandon_all(struct peer *p);

/* Returns whether PATH, which may be NULL, names a file whose readers are counted: trace_pipe or
 * trace_pipe_raw. */
bool files_is_pipe(const char *path);

/* Things that belong to a connection (struct made_things). PEER has disconnected: removes its
 * directories and events now, or as soon as no client uses them. */
void made_things_orphan(struct service *s, const struct peer *peer);
/* Retries the removal of things whose client has disconnected. Called about once a second. */
void made_things_retry(struct service *s);
/* Forgets all things because the tree is freed. */
void made_things_forget(struct made_things *m);
