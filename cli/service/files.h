/* A client's open files of the tree, and of the guest's /proc: what wire.h's requests for them do.
 * An error that is returned is the request's answer; else the answer was given, or the request
 * waits.
 * Leaves to others: what a file says (tree/tree.h), when waiting requests are tried (clients.h). */
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

/* Tries PEER's waiting requests again; answers those that are ready or whose time is over. */
void files_retry(struct service *s, struct peer *p, uint64_t now_ns);
/* Ends them: WHY NULL is the end of the file. WHY stays the caller's. */
void files_end_waits(struct peer *p, const struct hv_err *why);
/* PEER has gone, or the session goes: its files are closed and publish nothing of what they were
 * told, since who told it did not live to close them. */
void files_abandon_all(struct peer *p);
