/* What the commands dump and cpudump leave to be written: the top's buffer as it was at the call,
 * of all vCPUs or of the one that called, as the kernel prints it (ftrace_dump_one). Recording ends
 * with the call, and what is read from a dump is taken out of the buffer.
 * Leaves to others: to where it is written (hv_tree_next_dump). Contract of files/dump.c. */
#pragma once

#include "tree/node.h"

/* EVENT: the call. There is one dump at a time, as in the kernel: none is begun until the one
 * before is closed. */
void hv_dump_begin(struct hv_tree *tree, enum hv_probe_command command,
		   const struct hv_event *event);
/* A dump that waits is forgotten. */
void hv_dump_drop(struct hv_tree *tree);
