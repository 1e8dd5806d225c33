/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of struct module from the modules that are loaded. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds either all members that reading modules needs to D->facts, or nothing: for example if there
 * are no modules or the first one is still loading. Uses only D->core and D->facts. */
void hv_module_members_derive(struct hv_deriving *d);

/* Copies LEN_BYTES from the start of a struct module. If its memory ends before that, the rest of
 * the copy is zero. */
struct hv_err *hv_module_copy(const struct hv_address_space *as, struct hv_gva at, uint8_t *ret,
			      size_t len_bytes) hv_must_use;
