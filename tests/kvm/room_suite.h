/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the suites of trampolines: a room for each case, ways to interrupt a call, and main. */
#pragma once

#include <check.h>

#include "tests/kvm/trampoline_room.h"

#define ROOM_FLAGS_ON  (ROOM_FLAG_IF | 0x41) /* with some status flags */
#define ROOM_FLAG_DF   UINT64_C(0x400)
#define ROOM_FLAGS_ALL 0x3ed5 /* IOPL, DF, IF and all status flags */

extern struct room *room; /* of the running case */

/* Gives each test of TC a room and a time limit. ADD calls it before it adds tests. */
void room_suite_init(TCase *tc);
/* Calls run_suite(). If the host lacks something that a room needs, prints it and returns 77. */
int room_suite_main(const char *name, void (*add)(TCase *tc));

/* A way to interrupt a call. */
struct trap {
	const char *name;
	bool nmi;
	uint64_t flags;	 /* of the caller */
	bool other_task; /* the handler calls as another task, as after preemption */
	bool other_cpu;	 /* the interrupted task continues on another CPU */
};

/* Interrupts the run now. Returns when the handler writes to its first port. */
void trap_springs(const struct trap *t);
/* Runs until the handler has made its call. */
void trap_has_called(void);
/* Runs to the end of the caller. */
void room_ends(void);

/* Single-steps through C and asserts that it takes at most STEPS_MAX steps, and at least a call, a
 * trampoline of three instructions, and a return. */
void room_way_is_shorter(const struct world_case *c, unsigned steps_max);
