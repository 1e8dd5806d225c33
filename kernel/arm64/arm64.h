/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the table of arm64 kernels, each in the file of its name. */
#pragma once

#include "kernel/kernel_arch.h"
#include "kernel/unnamed.h"

/* stacks.c */
struct hv_err *arm64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret) hv_must_use;
struct hv_err *arm64_check_exception_stacks(const struct hv_kernel_core *core) hv_must_use;
struct hv_err *arm64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				 struct hv_cpu_stack *ret, size_t *ret_nr) hv_must_use;

/* module_areas.c: where the kernel looks for room for modules. */
struct arm64_module_areas {
	uint64_t all;	 /* the start of 2 GiB around the image; 0: none */
	uint64_t direct; /* the start of 128 MiB that are tried before them; 0: none */
};
/* ENOTSUP: the kernel does not tell. */
struct hv_err *arm64_find_module_areas(const struct hv_kernel_core *core,
				       struct arm64_module_areas *ret) hv_must_use;
/* What the pointer at AT leads to, as execmem_info of mm/execmem.c. False: it is no such pointer.
 */
bool arm64_read_execmem(const struct hv_kernel_core *core, struct hv_gva at,
			struct arm64_module_areas *ret);

/* unnamed.c */
#define ARM64_NR_UNNAMED 3
extern const struct hv_unnamed arm64_unnamed[ARM64_NR_UNNAMED];

/* level.c */
#define ARM64_BOOTED_IN_EL1 0xe11u /* BOOT_CPU_MODE_EL1, arch/arm64/include/asm/virt.h */
enum arm64_level {
	ARM64_IN_EL1,	    /* it was started there */
	ARM64_IN_EL1_ABOVE, /* it left EL2, but for the code by which it runs guests (nVHE) */
	ARM64_IN_EL2,	    /* VHE */
};
/* The level in which the kernel executes. ENOTSUP: that is not told. */
struct hv_err *arm64_find_level(const struct hv_kernel_core *core,
				enum arm64_level *ret) hv_must_use;

/* reach.c */
struct hv_err *arm64_find_reach(const struct hv_kernel_core *core,
				struct hv_reach *ret) hv_must_use;
