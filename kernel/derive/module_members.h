/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of struct module from the modules that are loaded. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds either all members that reading modules needs to D->facts, or nothing: for example if there
 * are no modules or the first one is still loading. Uses only D->core and D->facts. */
void hv_module_members_derive(struct hv_deriving *d);
