/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of struct module from the modules that are loaded. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts: nothing if there are no modules, or if they do not show all that
 * is needed to read modules, such as while the first one is loaded. Needs nothing else of D but the
 * core. */
void hv_module_members_derive(struct hv_deriving *d);
