/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a collector may still ask of the kernel once its sockets are open, since it parses frames of
 * others: memory, its sockets and files, and new files in its directory. No programs, processes,
 * new sockets, or memory that can be executed. Leaves to others: capabilities (unprivileged.h). */
#pragma once

#include "base/err.h"

/* DIR is the fd of the directory. The process has given up its capabilities, and has one thread. */
struct hv_err *collect_filter(int dir) hv_must_use;
