/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accepts vsock connections from the host. vsock needs no virtio-serial port in the configuration
 * of the virtual machine. */
#pragma once

#include <stdio.h>

#define VSOCK "vsock:"

/* Parses "vsock:PORT" or "vsock:CID:PORT". *RET_FROM is CID, or VMADDR_CID_HOST without one.
 * Returns 0 if TEXT is neither. */
int vsock_parse(const char *text, unsigned *ret_from, unsigned *ret_port);
/* Returns a listening socket, or -1 and sets errno. */
int vsock_listen(unsigned port);
/* Waits for a connection from CID FROM and returns it for writing. Closes connections from other
 * CIDs, because a local program must not learn the mappings of other users' processes.
 *
 * A write fails if the client does not read for 10 seconds. Returns NULL and sets errno if
 * the listener fails. */
FILE *vsock_accept(int listener, unsigned from);
