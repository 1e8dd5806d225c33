/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to machines for the rest of the library. */
#pragma once

#include "lib/hvtrace/hvtrace.h"
#include "lib/session_info.h"

/* Returns NULL if MACHINE is NULL. */
const struct rundir_info *machine_info(const struct hvt_machine *machine);
