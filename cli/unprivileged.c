/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/unprivileged.h"

#include "base/capabilities.h"

struct hv_err *unprivileged_become(enum unprivileged what)
{
	return hv_capabilities_keep(what == UNPRIVILEGED_MAY_KILL ? HV_CAP(KILL) : 0);
}
