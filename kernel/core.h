/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The core kernel: what is linked into one image, modules not included. It consists of symbols and
 * types, a copy of the image, and the address space in which the kernel's variables are read.
 * Leaves to others: what the variables mean (layout.h, modules.h, sites.h, tasks.h). */
#pragma once

#include "kernel/address_space.h"
#include "kernel/btf.h"
#include "kernel/image.h"
#include "kernel/reach.h"
#include "kernel/symbols.h"

struct hv_identity;
struct hv_orc_found;
struct hv_vmlinux;

struct hv_kernel_core {
	struct hv_address_space as;
	struct hv_image image;
	struct hv_symbols symbols;
	/* Variables that SYMBOLS does not have, found without their names (unnamed.h). */
	struct hv_symbols unnamed;
	struct hv_btf *btf;	  /* owned; NULL: the kernel has none */
	struct hv_orc_found *orc; /* owned: hv_orc_form_of(); NULL: it is never looked for */
	/* Empty where it is the same in every kernel, and where no_reach tells why it is not known:
	 * hv_reach_of(). */
	struct hv_reach reach;
	struct hv_err *no_reach; /* owned; NULL: it is known */
};

/* Finds the core kernel. REGS: the registers of all vCPUs. V may be NULL; it supplies the symbols
 * and types that the image lacks, and is refused when it is of another kernel. PATH: the file of V,
 * for messages. RET_ID: which kernel was found. */
struct hv_err *hv_core_open(struct hv_guest *g, const struct hv_vcpu_regs *regs,
			    struct hv_vmlinux *v, const char *path, struct hv_kernel_core *ret,
			    struct hv_identity *ret_id) hv_must_use;
void hv_core_deinit(struct hv_kernel_core *core);
/* Frees CORE->orc, as hv_core_deinit() does. */
void hv_orc_found_free(struct hv_orc_found *f);
/* ENOTSUP if the vCPUs that translate addresses execute every page: what the region is mapped by
 * has a bit that is reserved there. A kernel that has just begun looks the same. */
struct hv_err *hv_core_check_nx(const struct hv_vcpu_regs *regs, unsigned nr) hv_must_use;

bool hv_core_symbol(const struct hv_kernel_core *core, const char *name, struct hv_gva *ret);
/* Fails with ENOENT and the name. The message mentions CONFIG_KALLSYMS_ALL when the kernel seems to
 * lack it. */
struct hv_err *hv_core_need(const struct hv_kernel_core *core, const char *name,
			    struct hv_gva *ret) hv_must_use;
/* The address of CPU's copy of a per-CPU variable. CPU is not checked. */
struct hv_err *hv_core_percpu(const struct hv_kernel_core *core, uint64_t percpu, unsigned cpu,
			      struct hv_gva *ret) hv_must_use;
