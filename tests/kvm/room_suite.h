/* What the suites of stubs in a machine share: a room for each case, how a call is interrupted,
 * main. */
#pragma once

#include <check.h>

#include "tests/kvm/stub_room.h"

#define ROOM_FLAGS_ON  (ROOM_FLAG_IF | 0x41) /* with some status flags */
#define ROOM_FLAGS_ALL 0x3ed5		     /* IOPL, DF, IF and all status flags */

extern struct room *room; /* the case's own */

/* Gives each test of TC a room, and time. ADD below calls it first. */
void room_suite_init(TCase *tc);
/* run_suite(), or 77 where the host lacks what a room needs; what it lacks is printed. */
int room_suite_main(const char *name, void (*add)(TCase *tc));

/* How a call is interrupted. */
struct trap {
	const char *name;
	bool nmi;
	uint64_t flags;	 /* of the caller */
	bool other_task; /* the handler's call is another task's, as after preemption */
	bool other_cpu;	 /* and the interrupted one goes on elsewhere */
};

/* From where the machine is to the port that the handler writes to first. */
void trap_springs(const struct trap *t);
/* To where the handler has made its call. */
void trap_has_called(void);
/* To the end of the caller. */
void room_ends(void);

/* The whole of C, single-stepped: at least a call, a stub of three and a return. */
void room_way_is_shorter(const struct world_case *c, unsigned steps_max);
