/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fake tree (fake_tree.c) has for `record -o FILE`: the files that describe events, and
 * pages of events. Pages and formats are made by the code of tree/format. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* The pages of two vCPUs. On each the tasks 61 and 62 call two functions in turn.
 * FAKE_RAW_CALLS: they are those of function_graph, a call and its return in turn.
 * FAKE_RAW_HOST: every second event is the host's sched_waking, of its own thread 61.
 * FAKE_RAW_TASKS: every event is of a new task, 1000 and on.
 * FAKE_RAW_STEAL: returns say that the host took 600 ns. */
#define FAKE_RAW_CPUS  2
#define FAKE_RAW_CALLS 1
#define FAKE_RAW_HOST  2
#define FAKE_RAW_STEAL 4
#define FAKE_RAW_TASKS 8
#define FAKE_RAW_FIRST 1000

/* Adds the contents of a file, as it is with KINDS, or the names in a directory. False: PATH is
 * neither. */
bool fake_raw_text(const char *path, unsigned kinds, struct hv_text *ret);

/* Writes a page with the next events of CPU, beginning with the event number FROM of those before
 * TO, of KINDS as above. Returns how many events it has; 0: there are none. */
#define FAKE_PAGE_BYTES 4096
unsigned fake_raw_page(unsigned cpu, unsigned from, unsigned to, unsigned kinds, uint8_t *page);
