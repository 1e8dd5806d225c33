/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a report of hvtrace-agent. docs/users/agent.md describes its lines. hvtrace-agent.c
 * transports it to the host. */
#pragma once

#include <stdio.h>

/* Writes one report to PORT. Returns 0, or the errno of the failed write. */
int round_put(FILE *port);
