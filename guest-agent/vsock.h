/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections from the host by vsock, which needs no port of the machine's for us. Leaves to
 * others: what is told there (round.h). */
#pragma once

#include <stdio.h>

#define VSOCK "vsock:"

/* "vsock:PORT" or "vsock:CID:PORT". *RET_FROM is CID, or the host. 0: TEXT is neither. */
int vsock_parse(const char *text, unsigned *ret_from, unsigned *ret_port);
/* Returns a socket, or -1 with errno. */
int vsock_listen(unsigned port);
/* Waits for a connection from FROM: programs of this machine may connect, too, but must not learn
 * the mappings of others. A write fails when nobody reads for a while. NULL: errno says why there
 * will be none. */
FILE *vsock_accept(int listener, unsigned from);
