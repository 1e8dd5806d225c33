/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the host what cannot be learned from outside: of which cgroup, and so of which container,
 * each process is, what it has mapped, and what time it is. docs/users/agent.md has the lines.
 * Leaves to others: what is told (round.h), marks (hvtrace-mark.h). */
#pragma once

/* Writes a round to PORT, a port that the machine has for that, and another one every few seconds
 * until writing fails or, if IS_ONCE, after the first. Or PORT is "vsock:PORT" or "vsock:CID:PORT":
 * whoever connects there from the host, or from CID, is told a round. Returns the exit status. */
int serve(const char *port, int is_once);
