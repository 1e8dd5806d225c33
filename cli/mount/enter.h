/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A place where a program that knows tracefs finds a guest's: a mount namespace of this process, in
 * which /sys/kernel/tracing and /sys/kernel/debug/tracing are the guest's tree, and the symbols,
 * the version and the number of CPUs in /proc and /sys are the guest's. The host's own tracing is
 * not reachable in it, served or not. Nothing outside changes. Leaves to others: what runs there
 * (verbs/exec.c). */
#pragma once

#include "cli/client.h"

#define ENTER_TRACING "/sys/kernel/tracing"

/* Moves this process, and what it will start, there. RUN_DIR: for a moment a directory is made in
 * it. On error the process must end. */
struct hv_err *enter_guest(const char *run_dir, const char *spec,
			   const char *libvirt_uri) hv_must_use;
