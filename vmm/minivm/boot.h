/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads a kernel, its initrd and its command line into the memory of an hvtrace machine, with the
 * data that a boot loader and firmware would pass to the kernel.
 *
 *   0x00500 GDT   0x07000 boot_params   0x09000 page tables (cpu.h)   0x20000 command line
 *   0xe0000 ACPI tables   the kernel at its requested address, the initrd as high as the kernel
 *   allows
 *
 * image.h parses kernel files; cpu.h sets up vCPUs. */
#pragma once

#include "vmm/minivm/memory.h"

#define HV_MINIVM_GDT	      UINT64_C(0x500)
#define HV_MINIVM_BOOT_PARAMS UINT64_C(0x7000)
#define HV_MINIVM_PAGE_TABLES UINT64_C(0x9000)

struct hv_minivm_boot {
	const char *kernel_path;
	const char *initrd_path; /* NULL: none */
	const char *append;
	unsigned nr_vcpus;
};

/* *RET_ENTRY is where vCPU 0 starts. Errors name the file. */
struct hv_err *hv_minivm_boot_load(struct hv_minivm_memory *m, const struct hv_minivm_boot *boot,
				   struct hv_gpa *ret_entry) hv_must_use;
