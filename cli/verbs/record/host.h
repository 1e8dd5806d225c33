/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second file of `hvtrace record -o FILE.dat`, for events of the host, if the instance has
 * some: FILE-host.dat. What is said of the host is what its /proc says: its kernel, the names of
 * the VMM's threads, and which of them run vCPUs, by the names that QEMU gives them. Leaves to
 * others: which events go there (export/dat_pair.c). */
#pragma once

#include "cli/client.h"
#include "cli/errand.h"
#include "cli/verbs/record/head.h"

struct record_host {
	char *path;	    /* owned; NULL: there is no such file */
	int fd;		    /* owned; -1: not open */
	char *kernel;	    /* owned */
	int32_t *tids;	    /* owned, of the vCPUs */
	char vmm_tasks[32]; /* the directory of the VMM's threads */
	struct hv_export_host host;
};

/* The file beside PATH: "a/b.dat" becomes "a/b-host.dat". The caller frees it. */
char *record_host_path(const char *path) hv_must_use;
/* Begins the file beside PATH, if HEAD has formats of the host's events. E opens it. */
struct hv_err *record_host_open(struct record_host *h, struct client *c, struct errand *e,
				const char *path, const struct hv_export_head *head) hv_must_use;
/* Adds lines as those of saved_cmdlines. */
void record_host_add_names(const struct record_host *h, struct hv_text *out);
void record_host_deinit(struct record_host *h);
