/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The core kernel, without modules: symbols, types, a copy of the image, and the address space for
 * reading the kernel's variables. layout.h, modules.h, sites.h and tasks.h interpret the
 * variables. */
#pragma once

#include "kernel/image/address_space.h"
#include "kernel/types/btf.h"
#include "kernel/image/image.h"
#include "kernel/core/reach.h"
#include "kernel/image/symbols.h"

struct hv_identity;
struct hv_orc_found;
struct hv_vmlinux;

struct hv_kernel_core {
	struct hv_address_space as;
	struct hv_image image;
	struct hv_symbols symbols;
	/* Variables missing from SYMBOLS, found without their names (unnamed.h). */
	struct hv_symbols unnamed;
	struct hv_btf *btf;	  /* owned; NULL: the kernel has no BTF */
	struct hv_orc_found *orc; /* owned: hv_orc_form_of(); NULL: not searched */
	/* Empty if all kernels of the architecture have the same reach (use hv_reach_of()), or if
	 * it is unknown (no_reach is the reason). */
	struct hv_reach reach;
	struct hv_err *no_reach; /* owned; why `reach` is unknown, or NULL */
};

/* Finds the core kernel. REGS are the registers of all vCPUs. V supplies symbols and types that the
 * image lacks and may be NULL; the file is rejected if it belongs to another kernel. PATH is its
 * path, for messages. RET_ID identifies the kernel. */
struct hv_err *hv_core_open(struct hv_guest *g, const struct hv_vcpu_regs *regs,
			    struct hv_vmlinux *v, const char *path, struct hv_kernel_core *ret,
			    struct hv_identity *ret_id) hv_must_use;
void hv_core_deinit(struct hv_kernel_core *core);
/* Frees CORE->orc, as hv_core_deinit() does. */
void hv_orc_found_free(struct hv_orc_found *f);
/* Fails with ENOTSUP if the vCPUs with paging on have execute permission on every page, because a
 * bit in the region's page-table entries is then reserved. A kernel at the start of boot looks like
 * that too. */
struct hv_err *hv_core_check_nx(const struct hv_vcpu_regs *regs, unsigned nr) hv_must_use;

bool hv_core_symbol(const struct hv_kernel_core *core, const char *name, struct hv_gva *ret);
/* Fails with ENOENT and the name. The message mentions CONFIG_KALLSYMS_ALL if the kernel seems to
 * lack it. */
struct hv_err *hv_core_need(const struct hv_kernel_core *core, const char *name,
			    struct hv_gva *ret) hv_must_use;
/* Returns the address of CPU's copy of a per-CPU variable. Does not check CPU. */
struct hv_err *hv_core_percpu(const struct hv_kernel_core *core, uint64_t percpu, unsigned cpu,
			      struct hv_gva *ret) hv_must_use;
