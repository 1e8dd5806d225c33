/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of the structures of static keys and static calls, from their tables in the
 * kernel's image and in modules. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"
#include "kernel/derive/objects.h"

/* Adds what is found to D->facts: members of static_key, jump_entry, static_key_mod,
 * static_call_key, static_call_site and static_call_mod. */
void hv_jump_members_derive(struct hv_deriving *d);

/* Adds the members of struct module that lead to these tables. D->facts must have its other members
 * if there are modules. */
void hv_jump_modules_derive(struct hv_deriving *d);

/* Finds the offset of the static key in variables with the prefix PREFIX, from the jump entries
 * that have such keys. Returns false unless all have the same offset. */
bool hv_jump_key_find(const struct hv_kernel_core *core, const char *prefix,
		      const struct hv_objects *objects, uint32_t *ret_off);
