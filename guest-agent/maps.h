/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports the executable mappings of processes and the build ids of the mapped files. With them,
 * another machine can turn an address in a program into a symbol.
 *
 * round.h chooses the processes. */
#pragma once

#include <stdio.h>

struct maps_file;

/* The files of one report. Starts zeroed. */
struct maps {
	struct maps_file *files; /* owned */
	unsigned nr_files, nr_maps;
	int is_cut; /* the report omits files or mappings because of a limit */
};

void maps_deinit(struct maps *m);

/* Writes the mappings of process PID to PORT, and each file before its first mapping. Writes
 * nothing for a process that has exited or that this process may not inspect. */
void maps_put(struct maps *m, FILE *port, const char *pid);
