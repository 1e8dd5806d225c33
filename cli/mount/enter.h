/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes programs that know tracefs find a guest's: moves this process to a new mount namespace, in
 * which /sys/kernel/tracing and /sys/kernel/debug/tracing are the guest's tree, and the symbols,
 * the version and the number of CPUs in /proc and /sys are the guest's. The host's own tracing is
 * not reachable there, even if the tree's server has ended. Nothing outside the namespace changes.
 * verbs/exec.c runs the programs. */
#pragma once

#include "cli/client.h"

#define ENTER_TRACING "/sys/kernel/tracing"

/* Moves this process and its future children into the namespace. Creates a temporary directory in
 * RUN_DIR. On error the process must end. */
struct hv_err *enter_guest(const char *run_dir, const char *spec,
			   const char *libvirt_uri) hv_must_use;
