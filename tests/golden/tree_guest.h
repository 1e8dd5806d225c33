/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest of the golden transcripts of the tree, which is a session without one. Lines of an .in
 * say what it is and what happens in it:
 *
 *   site IP NAME [MODULE|invalid]    a traceable function (and symbol), in place of one at IP
 *   event WHERE IP PARENT [LOST]     a call; WHERE: CPU NS PID COMM FLAGS PREEMPT MIGRATE
 *   entry WHERE IP DEPTH [LOST]
 *   exit WHERE IP DEPTH CALL_NS OVERRUN [RETVAL|- [LOST]]
 *   stack WHERE IP [CALLER...]       a CALLER of 0: those beyond are unknown
 *   command WHERE IP [CALLER...]     a stack that a command asked for
 *   guests WHERE ID [TEXT]           one of the guest's own events; TEXT: its field comm, or =NR
 *                                    ARGUMENT... of raw_syscalls:*, ~NR of a 32-bit program,
 *                                    =WORD... of the scheduler's
 *   behind WHERE IP [CALLER...]      the stack of the last event there that has none yet
 *   called WHERE IP                  a call of a function whose commands the host obeys
 *   count CPU SITE HITS TIME_NS SPREAD    calls of the SITEth site, for the profile
 *   overrun NR                       events that were overwritten
 *   comm PID COMM                    a task's name
 *   task PID TGID COMM               likewise, with its thread group; before its events
 *   fork PID CHILD
 *   type ID SYSTEM EVENT [off]       a type of the guest's own events; off: cannot be switched on
 *   syscall ID NR NAME ARGUMENT...   the types of a system call: ID its sys_enter, ID + 1 its
 *                                    sys_exit; raw_syscalls:* have 20 and 21
 *   scheduler                        the types that tracers of wakeups need (fake_session.h)
 *   forks                            the types that event-fork needs (fake_session.h)
 *   notypes                          the guest has no types any more
 *   string ADDRESS TEXT              a string of printk_formats; at most four
 *   begins WHERE IP PARENT           a section begins there
 *   ends WHERE IP PARENT
 *   section WHERE IP PARENT [STOLEN_NS], WHERE IP PARENT[, WHERE IP PARENT [LOST]]...
 *                                    the one that is kept: its two ends, and the calls in it, each
 *                                    of which may also be an `entry ...` or an `exit ...`
 *   ends_in UID NICE POLICY RT_PRIO [CALLER...]    that section: its task, the stack at its end
 *   clock raw|host
 *   steal                            the host tells the guest its steal time
 *   lazy                             the kernel counts lazy preemption: MIGRATE may be MIGRATE:LAZY
 *   btf                              the kernel has BTF, of fake_btf.c
 *   switch 0|1                       a command in the guest switches recording */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "tests/lib/fake_session.h"

struct golden_guest {
	struct hv_session *session; /* the caller's */
	struct hv_section *section; /* the last one; borrowed */
};

/* Does what the line COMMAND ARGS says, which it changes. False: it is none of these. */
bool golden_guest_line(struct golden_guest *g, const char *command, char *args);
/* What the guest was made to be: sites, pids, recording. */
void golden_guest_show(const struct golden_guest *g, FILE *out);
