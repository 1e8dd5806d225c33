/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the table of arm64 kernels that unit tests call. */
#pragma once

#include "kernel/arch/kernel_arch.h"

struct hv_err *arm64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret) hv_must_use;
struct hv_err *arm64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				 struct hv_cpu_stack *ret, size_t *ret_nr) hv_must_use;

struct arm64_module_areas {
	uint64_t all;	 /* start of the 2 GiB around the image; 0: none */
	uint64_t direct; /* start of the 128 MiB that are tried first; 0: none */
};
/* Fails with ENOTSUP if the areas cannot be found. */
struct hv_err *arm64_find_module_areas(const struct hv_kernel_core *core,
				       struct arm64_module_areas *ret) hv_must_use;

#define ARM64_NR_UNNAMED 3
extern const struct hv_unnamed arm64_unnamed[ARM64_NR_UNNAMED];

#define ARM64_BOOTED_IN_EL1 0xe11u /* BOOT_CPU_MODE_EL1, arch/arm64/include/asm/virt.h */
enum arm64_level {
	ARM64_IN_EL1,	    /* started in EL1 */
	ARM64_IN_EL1_ABOVE, /* started in EL2, then left it except for running guests (nVHE) */
	ARM64_IN_EL2,	    /* VHE */
};
/* Returns the exception level in which the kernel executes. Fails with ENOTSUP if unknown. */
struct hv_err *arm64_find_level(const struct hv_kernel_core *core,
				enum arm64_level *ret) hv_must_use;

struct hv_err *arm64_find_reach(const struct hv_kernel_core *core,
				struct hv_reach *ret) hv_must_use;
