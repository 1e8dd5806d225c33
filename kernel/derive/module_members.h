/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of struct module from the modules that are loaded. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds either all members that reading modules needs to D->facts, or nothing: for example if there
 * are no modules or the first one is still loading. Uses only D->core and D->facts. */
void hv_module_members_derive(struct hv_deriving *d);

#define HV_LOADED_BYTES 2048u /* of each struct module */

/* A copy of a loaded module. */
struct hv_loaded {
	struct hv_gva at;
	uint8_t bytes[HV_LOADED_BYTES]; /* zero after the end of the module's memory */
};

struct hv_loaded_modules {
	struct hv_loaded *list; /* owned */
	unsigned nr;
};

/* Copies the first modules of the guest's list. Returns false if there are none, or if it is not a
 * list of modules, such as while it changes. */
bool hv_loaded_read(const struct hv_kernel_core *core, struct hv_loaded_modules *ret);
void hv_loaded_deinit(struct hv_loaded_modules *m);

/* The numbers at OFF; 0 if outside of the copy. */
uint64_t hv_loaded_u64(const struct hv_loaded *m, uint32_t off);
uint32_t hv_loaded_u32(const struct hv_loaded *m, uint32_t off);
