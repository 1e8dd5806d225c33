/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RUN/ID/dump: the output of the commands dump and cpudump of functions, newest last. The kernel
 * prints such dumps to its console, but the guest's console belongs to the guest's owner. The file
 * outlives the session, so that a call that happened once at night can be examined later.
 *
 * tree/files/trace.c formats a dump; serve.h calls this when the service has time. */
#pragma once

#include "cli/rundir.h"
#include "tree/tree.h"

/* Limit for one dump. A longer file is emptied when the next dump begins. */
#define DUMPS_MAX_BYTES (64u << 20)

struct service;

struct dumps {
	struct hv_file *file; /* the dump being written; NULL: none */
	const char *why;      /* the trigger of the dump */
	int fd;
	uint64_t nr;	   /* non-empty dumps since attach */
	uint64_t nr_bytes; /* size of the current dump */
	bool is_over;	   /* writing failed or reached the limit */
};
#define DUMPS_NONE                                                                                 \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Writes a piece of the current or next dump. Returns false if there was nothing to write. */
bool dumps_write(struct service *s);
/* Writes the rest, before the tree is freed. */
void dumps_finish(struct service *s);
/* Opens the file. -1 with errno on failure. Needs root's rights (host_client.h). */
int dumps_open(const struct rundir *dir);
static inline bool dumps_has_work(const struct dumps *d)
{
	return d->file != NULL;
}
