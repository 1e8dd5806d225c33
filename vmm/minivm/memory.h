/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The RAM of an hvtrace machine: a memfd, mapped here. In the guest it is below and above a gap
 * that ends at 4 GiB. boot.h fills it; minivm.c gives it to KVM. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

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
