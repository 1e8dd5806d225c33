/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes a kernel file for an hvtrace machine: the parts to load, their addresses and the entry
 * point. The file is a bzImage, which is started at its 64-bit entry point, or an ELF vmlinux.
 * Pure; the file is untrusted. Source: Documentation/arch/x86/boot.rst. memory.h loads it. */
#pragma once

#include "base/addr.h"
#include "base/bytes.h"
#include "base/err.h"

#define HV_MINIVM_PIECES_MAX 16

struct hv_minivm_piece {
	uint64_t file_off;
	uint64_t file_len_bytes; /* inside the file */
	uint64_t len_bytes;	 /* in memory, where the rest is zero */
	struct hv_gpa gpa;
};

struct hv_minivm_image {
	struct hv_minivm_piece pieces[HV_MINIVM_PIECES_MAX];
	size_t nr_pieces;
	struct hv_gpa start; /* start to end: the memory that the kernel uses before it reads the
				memory map */
	struct hv_gpa end;
	struct hv_gpa entry; /* entered in 64-bit mode, identity mapped */
	uint64_t initrd_end; /* an initrd must end below it */
	uint32_t cmdline_max;
	struct hv_span setup_header; /* of a bzImage, from its offset 0x1f1; else empty */
};

/* Fails with ENOEXEC if it is not a kernel, is for another architecture, or is truncated; the
 * message has the reason. */
struct hv_err *hv_minivm_image_parse(struct hv_span file, struct hv_minivm_image *ret) hv_must_use;
