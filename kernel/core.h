/* The core kernel is what was linked into one image; modules are not part of it. This is its
 * symbols and types, the bytes of its image, and the address space in which its variables are read.
 * Leaves to others: what the variables mean (layout.h, modules.h, sites.h, tasks.h). */
#pragma once

#include "kernel/address_space.h"
#include "kernel/btf.h"
#include "kernel/image.h"
#include "kernel/symbols.h"

struct hv_identity;
struct hv_vmlinux;

struct hv_kernel_core {
	struct hv_address_space as;
	struct hv_image image;
	struct hv_symbols symbols;
	struct hv_btf *btf; /* owned; NULL: the kernel has none */
};

/* Finds the core kernel. REGS: the registers of all vCPUs. V may be NULL; it supplies the symbols
 * and types that the image lacks, and is refused when it is of another kernel. PATH: the file of V,
 * for messages. RET_ID: which kernel was found. */
struct hv_err *hv_core_open(struct hv_guest *g, const struct hv_vcpu_regs *regs,
			    struct hv_vmlinux *v, const char *path, struct hv_kernel_core *ret,
			    struct hv_identity *ret_id) hv_must_use;
void hv_core_deinit(struct hv_kernel_core *core);

bool hv_core_symbol(const struct hv_kernel_core *core, const char *name, struct hv_gva *ret);
/* ENOENT with the name, and CONFIG_KALLSYMS_ALL where the kernel seems to lack it. */
struct hv_err *hv_core_need(const struct hv_kernel_core *core, const char *name,
			    struct hv_gva *ret) hv_must_use;
/* Address of CPU's copy of a per-CPU variable. CPU is not checked. */
struct hv_err *hv_core_percpu(const struct hv_kernel_core *core, uint64_t percpu, unsigned cpu,
			      struct hv_gva *ret) hv_must_use;
