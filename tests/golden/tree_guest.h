/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest of the golden transcripts of the tree: a fake session. Lines of an .in file define the
 * guest and its events:
 *
 *   site IP NAME [MODULE|invalid]    a traceable function and symbol; replaces one at IP
 *   event WHERE IP PARENT [LOST]     a call; WHERE: CPU NS PID COMM FLAGS PREEMPT MIGRATE
 *   entry WHERE IP DEPTH [LOST]
 *   exit WHERE IP DEPTH CALL_NS OVERRUN [RETVAL|- [LOST]]
 *   stack WHERE IP [CALLER...]       CALLER 0: further callers are unknown
 *   command WHERE IP [CALLER...]     a stack recorded by a function command
 *   guests WHERE ID [TEXT]           one of the guest's own events; TEXT: its field comm; for
 *                                    raw_syscalls:* =NR ARGUMENT..., or ~NR for a 32-bit program;
 *                                    for scheduler events =WORD...
 *   behind WHERE IP [CALLER...]      the stack of the vCPU's last event without a stack
 *   called WHERE IP                  a call of a function whose commands the host executes
 *   count CPU SITE HITS TIME_NS SPREAD    profile counts of site number SITE
 *   overrun NR                       number of overwritten events
 *   comm PID COMM                    a task's name
 *   task PID TGID COMM               a task's name and thread group; before its events
 *   fork PID CHILD
 *   type ID SYSTEM EVENT [off]       a type of the guest's own events; off: cannot be enabled
 *   syscall ID NR NAME ARGUMENT...   the types of a system call: sys_enter with ID, sys_exit
 *                                    with ID + 1; raw_syscalls:* have 20 and 21
 *   scheduler                        the types for the wakeup tracers (fake_session.h)
 *   user_stacks                      the type for user stacks, and a process (fake_session.h)
 *   forks                            the types for the option event-fork (fake_session.h)
 *   notypes                          removes all types
 *   string ADDRESS TEXT              a string of printk_formats; at most four
 *   begins WHERE IP PARENT           a section begins there
 *   ends WHERE IP PARENT
 *   section WHERE IP PARENT [STOLEN_NS], WHERE IP PARENT[, WHERE IP PARENT [LOST]]...
 *                                    the kept section: its start and end, then the calls in it; a
 *                                    call may also be an `entry ...` or an `exit ...`
 *   ends_in UID NICE POLICY RT_PRIO [CALLER...]    the kept section's task and the stack at its end
 *   clock raw|host
 *   steal                            the host reports steal time to the guest
 *   lazy                             the kernel counts lazy preemption: MIGRATE may be MIGRATE:LAZY
 *   btf                              the kernel has the BTF of fake_btf.c
 *   switch 0|1                       a command in the guest switches recording */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "tests/lib/fake_session.h"

struct golden_guest {
	struct hv_session *session; /* borrowed */
	struct hv_section *section; /* the last one, borrowed */
};

/* Executes the line COMMAND ARGS and modifies ARGS. Returns false if COMMAND is unknown. */
bool golden_guest_line(struct golden_guest *g, const char *command, char *args);
/* Prints the settings that the guest received: sites, pids, recording. */
void golden_guest_show(const struct golden_guest *g, FILE *out);
