/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the fake tree (fake_tree.c) for `record -o FILE`: the files that describe events, and
 * pages of events. tree/format makes the pages and formats. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* The pages of two vCPUs. On each, tasks 61 and 62 alternately call two functions. FAKE_RAW_CALLS:
 * events of function_graph, alternately a call and its return. FAKE_RAW_HOST: every second event is
 * the host's sched_waking of the host thread 61. FAKE_RAW_TASKS: every event is of a new task, from
 * 1000 on. FAKE_RAW_STEAL: returns report that the host took 600 ns. FAKE_RAW_RETVALS: the value of
 * event I is I. */
#define FAKE_RAW_CPUS	 2
#define FAKE_RAW_CALLS	 1
#define FAKE_RAW_HOST	 2
#define FAKE_RAW_STEAL	 4
#define FAKE_RAW_TASKS	 8
#define FAKE_RAW_RETVALS 16
#define FAKE_RAW_FIRST	 1000

/* Adds the contents of a file for KINDS, or the names in a directory. Returns false if PATH is
 * neither. */
bool fake_raw_text(const char *path, unsigned kinds, struct hv_text *ret);

/* Writes a page with the next events of CPU, from event FROM up to event TO - 1. KINDS as above.
 * Returns the number of events in the page, or 0 at the end. */
#define FAKE_PAGE_BYTES 4096
unsigned fake_raw_page(unsigned cpu, unsigned from, unsigned to, unsigned kinds, uint8_t *page);
