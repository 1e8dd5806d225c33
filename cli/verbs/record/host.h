/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second file of `hvtrace record -o FILE.dat`, FILE-host.dat, for the host's events if the
 * instance has any. Gets the data about the host from its /proc: its kernel, the names of the VMM's
 * threads, and the vCPU threads, which QEMU names. export/dat.c decides which events go
 * there. */
#pragma once

#include "cli/client.h"
#include "cli/errand.h"
#include "cli/verbs/record/head.h"

struct record_host {
	char *path;	    /* owned; NULL: no such file */
	int fd;		    /* owned; -1: not open */
	char *kernel;	    /* owned */
	int32_t *tids;	    /* owned; vCPU threads */
	char vmm_tasks[32]; /* directory of the VMM's threads */
	struct hv_export_host host;
};

/* Returns the name of the second file: "a/b-host.dat" for "a/b.dat". The caller frees it. */
char *record_host_path(const char *path) hv_must_use;
/* Creates the file next to PATH if HEAD has formats of the host's events. E opens it. */
struct hv_err *record_host_open(struct record_host *h, struct client *c, struct errand *e,
				const char *path, const struct hv_export_head *head) hv_must_use;
/* Adds lines in the format of saved_cmdlines. */
void record_host_add_names(const struct record_host *h, struct hv_text *out);
void record_host_deinit(struct record_host *h);
