/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user's name for a domain: a libvirt name, id or UUID, "qmp:PATH" or "pid:N". vmm/guest.h finds
 * the VM, rundir.h its service. */
#pragma once

#include "base/guard.h"

/* Returns the text to put before SPEC on a command line so that it is not parsed as an option: "--
 * " or "". */
static inline const char *spec_dashes(const char *spec)
{
	return *spec == '-' ? "-- " : "";
}
/* Returns SPEC with its path, if any, made absolute, so that its session can be found from another
 * directory. The caller frees it. */
char *spec_absolute(const char *spec) hv_must_use;
/* Returns PATH made absolute. The caller frees it. */
char *spec_absolute_path(const char *path) hv_must_use;
