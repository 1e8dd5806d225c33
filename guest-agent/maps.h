/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of processes, and the build ids of the files that are mapped: by them an
 * address in a program can be named on another machine. Leaves to others: which processes
 * (round.h). */
#pragma once

#include <stdio.h>

struct maps_file;

/* The files that were told in a round. Zero-initialised is none. */
struct maps {
	struct maps_file *files; /* owned */
	unsigned nr_files, nr_maps;
	int is_cut; /* there are more files or mappings than can be told */
};

void maps_deinit(struct maps *m);

/* Tells the mappings of process PID, and each file before its first mapping. A process that has
 * ended meanwhile, or whose mappings we may not see, has none. */
void maps_put(struct maps *m, FILE *port, const char *pid);
