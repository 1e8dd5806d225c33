/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call of the traced function in a world of this process (bench/native.h), whose registers are
 * checked, and the records that it leaves. Runs on an x86-64 host only. */
#pragma once

#include "bench/native.h"

#define TRACED_NR_SLOTS 8

extern struct world *world;		  /* of the running test */
extern const struct world_task *argument; /* of the traced function */
/* The code that calls the traced function, and where in it that returns to. */
extern const uint8_t call_with[], call_with_return[], call_with_end[];

/* The fixture of each test: a world whose site calls the function stub. */
void set_up(void);
void tear_down(void);
/* Everything as at first, and as PREPARE wants it; the site calls STUB. */
void set_up_stub(enum world_stub stub, void (*prepare)(const struct world *w));
/* Likewise, of the function stub. */
void set_up_as(void (*prepare)(const struct world *w));
/* Prepares nothing. */
void plain(const struct world *w);

/* Calls the traced function and checks that what the function stub keeps is kept. */
void run(void);
/* Likewise, of the handler of a graph. */
void run_graph(void);

/* The number of records that were reserved on CPU. */
uint64_t head(unsigned cpu);
/* The record at POSITION, which must have been written for it, without its key. */
struct hv_record record_at(unsigned cpu, uint64_t position);
unsigned kind_of(const struct hv_record *record);
uint32_t pid_of(const struct hv_record *record);
