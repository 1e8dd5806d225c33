/* What a user calls a domain: a libvirt name, id or UUID, "qmp:PATH" or "pid:N".
 * Leaves to others: what it names (vmm/guest.h), whether a service has it (rundir.h). */
#pragma once

#include "base/guard.h"

/* SPEC with its path, if it has one, made absolute, so that its session is found again. The caller
 * frees. */
char *spec_absolute(const char *spec) hv_must_use;
/* PATH made absolute. The caller frees. */
char *spec_absolute_path(const char *path) hv_must_use;
