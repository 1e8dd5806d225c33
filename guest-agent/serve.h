/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the host, by a port that the machine has for that, what cannot be learned from outside: of
 * which cgroup, and so of which container, each process is. docs/agent.md has the lines. Leaves to
 * others: marks (hvtrace-mark.h). */
#pragma once

/* Writes a round to PORT, and another one every few seconds until writing fails or, if IS_ONCE,
 * after the first. Returns the exit status. */
int serve(const char *port, int is_once);
