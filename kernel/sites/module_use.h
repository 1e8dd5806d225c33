/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The use count of a module, which prevents its removal (try_module_get() and try_stop_module() in
 * kernel/module/). Read from live, untrusted guest memory. modules.h lists modules;
 * tracer/module_claims.h changes the count. */
#pragma once

#include "kernel/sites/modules.h"

struct hv_module_use {
	bool can_go; /* false: this kernel cannot remove modules, and the other fields are unset */
	uint32_t state,
		live;  /* offset of the state in struct module, and its value in a live module */
	uint32_t node; /* offset of its struct list_head */
	uint32_t next, prev; /* offsets in the list_head */
	uint32_t count;	     /* offset of the count; 1: unused, 0: being removed */
};

/* Fails with ENOENT if the layout of the kernel's modules is unknown. */
struct hv_err *hv_module_use_find(const struct hv_kernel_core *core,
				  struct hv_module_use *ret) hv_must_use;

struct hv_err *hv_module_use_read(const struct hv_kernel_core *core, const struct hv_module_use *u,
				  struct hv_gva module, uint32_t *ret) hv_must_use;

/* Sets *RET to whether the struct module at MODULE is on the kernel's list and live. In a hold, a
 * live module with a nonzero count is not being removed. */
struct hv_err *hv_module_is_live(const struct hv_kernel_core *core, const struct hv_module_use *u,
				 struct hv_gva module, bool *ret) hv_must_use;
