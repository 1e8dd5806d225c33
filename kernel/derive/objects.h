/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables of the guest's kernel that have the same type and the same prefix in their names, such
 * as __tracepoint_sched_switch and __tracepoint_sys_enter. Finds members by comparing the words of
 * all objects with the addresses of other variables. Private to kernel/. */
#pragma once

#include "kernel/core/core.h"

#define HV_OBJECT_BYTES 192u /* limit of the part of an object that is copied */

struct hv_object {
	struct hv_gva at;
	const char *name; /* without the prefix; borrowed from the symbols */
	uint8_t bytes[HV_OBJECT_BYTES];
};

struct hv_objects {
	struct hv_object *list; /* owned */
	size_t nr;
	uint32_t len_bytes; /* of each copy: the object, and padding up to the next symbol */
};

/* Copies variables with the prefix PREFIX. If PARTNER is not NULL, there must also be a symbol with
 * the prefix PARTNER and the same name. Skips variables shorter than LEN_BYTES: three quarters of
 * them have at least so much room before the next symbol. */
void hv_objects_read(const struct hv_kernel_core *core, const char *prefix, const char *partner,
		     struct hv_objects *ret);
void hv_objects_deinit(struct hv_objects *o);

uint64_t hv_object_u64(const struct hv_object *o, uint32_t off);
uint32_t hv_object_u32(const struct hv_object *o, uint32_t off);

/* Returns whether the member of O can have VALUE. */
typedef bool (*hv_object_fn)(void *ctx, const struct hv_object *o, uint64_t value);

#define HV_OBJECTS_MIN 4u /* with fewer objects nothing is found */

/* Finds the offset where nearly all objects have a value that FN accepts. Offsets are multiples of
 * LEN_BYTES, which is 4 or 8. Returns false if there are none or several. */
bool hv_objects_find(const struct hv_objects *o, uint32_t len_bytes, hv_object_fn fn, void *ctx,
		     uint32_t *ret_off);
/* Finds the offset of pointers to the variables with the prefix PREFIX and the names of the
 * objects. Objects without such a variable are not considered. */
bool hv_objects_find_pointers(const struct hv_kernel_core *core, const struct hv_objects *o,
			      const char *prefix, uint32_t *ret_off);

/* Returns the address of the symbol PREFIX + NAME, or 0. */
uint64_t hv_symbol_of(const struct hv_kernel_core *core, const char *prefix, const char *name);
