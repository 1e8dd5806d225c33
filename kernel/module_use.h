/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By how many a module is used: the count that keeps it from being removed (try_module_get() and
 * try_stop_module() in kernel/module/). It is read from live memory and hostile.
 * Leaves to others: which modules there are (modules.h), changing the count
 * (tracer/module_claims.h). */
#pragma once

#include "kernel/modules.h"

struct hv_module_use {
	bool can_go; /* false: no module of this kernel can be removed, and the rest is not known */
	uint32_t state, live; /* offset in struct module, and the value while it is in use */
	uint32_t node;	      /* offset of its struct list_head */
	uint32_t next, prev;  /* offsets in that */
	uint32_t count;	      /* offset of the count; 1: nobody uses it, 0: it goes */
};

/* ENOENT: the kernel's modules are of a form that is not known. */
struct hv_err *hv_module_use_find(const struct hv_kernel_core *core,
				  struct hv_module_use *ret) hv_must_use;

struct hv_err *hv_module_use_read(const struct hv_kernel_core *core, const struct hv_module_use *u,
				  struct hv_gva module, uint32_t *ret) hv_must_use;

/* *RET: the struct module at MODULE is on the kernel's list and in use. In a hold, this and its
 * count say that it is not being removed. */
struct hv_err *hv_module_is_live(const struct hv_kernel_core *core, const struct hv_module_use *u,
				 struct hv_gva module, bool *ret) hv_must_use;
