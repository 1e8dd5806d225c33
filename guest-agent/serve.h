/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Implements `hvtrace-agent serve`: reports to the host the cgroup and the mappings of each process
 * and the guest's time, which the host cannot learn from outside. docs/users/agent.md describes the
 * format. Marks (hvtrace-mark.h) are independent of it. */
#pragma once

/* Sends reports to PORT until writing fails.
 *
 * A virtio-serial port receives one report every two seconds, or only one if IS_ONCE. With
 * "vsock:PORT" or "vsock:CID:PORT", serve() listens on that vsock port and sends one report to each
 * client that connects from the host or from CID; IS_ONCE ends after the first client.
 *
 * Returns the exit status of the program. */
int serve(const char *port, int is_once);
