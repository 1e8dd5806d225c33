/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A round of what the agent tells: lines, which docs/users/agent.md describes. Leaves to others:
 * the way to the host (serve.h, vsock.h). */
#pragma once

#include <stdio.h>

/* Writes a round to PORT. Returns 0, or errno of the write that failed. */
int round_put(FILE *port);

/* Blanks, '%' and what cannot be seen are written as %XX. */
void round_put_escaped(FILE *port, const char *text);
