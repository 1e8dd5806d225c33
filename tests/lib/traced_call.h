/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the traced function of a world in this process (bench/native.h), checks the registers, and
 * reads the records it leaves. Runs on an x86-64 host only. */
#pragma once

#include "bench/native.h"

#define TRACED_NR_SLOTS 8

extern struct world *world;		  /* of the running test */
extern const struct world_task *argument; /* the traced function's argument */
/* The code that calls the traced function, and the return address of that call. */
extern const uint8_t call_with[], call_with_return[], call_with_end[];

/* The fixture of each test: a world whose site calls the function trampoline. */
void set_up(void);
void tear_down(void);
/* Resets everything, then calls PREPARE; the site calls TRAMPOLINE. */
void set_up_trampoline(enum world_trampoline trampoline, void (*prepare)(const struct world *w));
void set_up_case(const struct world_case *c);
/* Like set_up_trampoline() with the function trampoline. */
void set_up_as(void (*prepare)(const struct world *w));
void plain(const struct world *w);

/* Calls the traced function and checks that the registers kept by the function trampoline are
 * unchanged. */
void run(void);
/* Like run(), for the registers kept by the graph's return handler. */
void run_graph(void);

/* Returns the number of records reserved on CPU. */
uint64_t head(unsigned cpu);
/* Returns the record at POSITION with its key removed. Asserts that it was written for that
 * position. */
struct hv_record record_at(unsigned cpu, uint64_t position);
unsigned kind_of(const struct hv_record *record);
uint32_t pid_of(const struct hv_record *record);
