/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user's name for a domain: a libvirt name, id or UUID, "qmp:PATH" or "pid:N".
 * Leaves to others: which machine it names (vmm/guest.h), whether it has a service (rundir.h). */
#pragma once

#include "base/guard.h"

/* Returns what is written before SPEC in a command line so that it is not taken for an option: "--
 * ", or nothing. */
static inline const char *spec_dashes(const char *spec)
{
	return *spec == '-' ? "-- " : "";
}
/* Returns SPEC with its path, if it has one, made absolute, so that its session can be found from
 * another directory. The caller frees it. */
char *spec_absolute(const char *spec) hv_must_use;
/* Returns PATH made absolute. The caller frees it. */
char *spec_absolute_path(const char *path) hv_must_use;
