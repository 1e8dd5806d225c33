/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RUN/ID/dump: what the commands dump and cpudump of functions have written, the newest last. The
 * kernel prints dumps to its console, but the guest's console belongs to its owner. The file
 * outlives the session, so that a function that was called once, at night, can be looked up later.
 * Leaves to others: the text of a dump (tree/files/dump.h), when there is time to write
 * (serve.h). */
#pragma once

#include "cli/rundir.h"
#include "tree/tree.h"

/* The limit of one dump. A file that is longer is emptied when the next dump begins. */
#define DUMPS_MAX_BYTES (64u << 20)

struct service;

struct dumps {
	struct hv_file *file; /* the dump that is being written; NULL: none */
	const char *why;      /* what asked for it */
	int fd;
	uint64_t nr;	   /* dumps since attach of which something was written */
	uint64_t nr_bytes; /* of the dump that is being written */
	bool is_over;	   /* it cannot be written, or has reached the limit */
};
#define DUMPS_NONE                                                                                 \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Writes a piece of the current or next dump. False: there was nothing to write. */
bool dumps_write(struct service *s);
/* Writes all that is left, before the tree ends. */
void dumps_finish(struct service *s);
/* Opens the file. -1: errno says why. Needs root's rights (doors.h). */
int dumps_open(const struct rundir *dir);
static inline bool dumps_has_work(const struct dumps *d)
{
	return d->file != NULL;
}
