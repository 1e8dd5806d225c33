/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The RAM of an hvtrace machine, and its contents when the kernel starts. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

/* -- RAM --------------------------------------------------------------------------------------- */

/* A memfd, mapped here. In the guest it is below and above a gap that ends at 4 GiB. minivm.c gives
 * it to KVM. */

#define HV_MINIVM_HOLE	     UINT64_C(0xc0000000) /* start of the gap: interrupt controllers */
#define HV_MINIVM_HOLE_END   UINT64_C(0x100000000)
#define HV_MINIVM_MEMORY_MIN (UINT64_C(64) << 20)

struct hv_minivm_memory {
	uint8_t *host; /* owned mapping: RAM below the gap, then RAM above it */
	int fd;	       /* the memfd; its offsets are those in HOST; owned if HOST is set */
	int read_fd;   /* the same file, read-only; owned; -1: none */
	uint64_t len_bytes;
	uint64_t low_bytes; /* of the RAM below the gap */
};

/* Fails with EINVAL if LEN_BYTES is too little to boot a kernel, more than this host has, or not a
 * multiple of a page. */
struct hv_err *hv_minivm_memory_init(struct hv_minivm_memory *m, uint64_t len_bytes) hv_must_use;
void hv_minivm_memory_deinit(struct hv_minivm_memory *m);

/* Returns NULL if part of [GPA, GPA + LEN) is not RAM. */
uint8_t *hv_minivm_memory_at(const struct hv_minivm_memory *m, struct hv_gpa gpa,
			     uint64_t len_bytes);
/* Returns the end of the highest RAM. */
struct hv_gpa hv_minivm_memory_end(const struct hv_minivm_memory *m);

/* -- what a kernel finds in it ----------------------------------------------------------------- */

/* Loads a kernel, its initrd and its command line into the memory of an hvtrace machine, with the
 * data that a boot loader and firmware would pass to the kernel.
 *
 *   0x00500 GDT   0x07000 boot_params   0x09000 page tables (cpu.h)   0x20000 command line
 *   0xe0000 ACPI tables   the kernel at its requested address, the initrd as high as the kernel
 *   allows
 *
 * image.h parses kernel files; cpu.h sets up vCPUs. */

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
