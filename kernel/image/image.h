/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel image: finds the bounds of the image and of its text from a vCPU's page tables and
 * trap table, and copies its bytes for searching. kallsyms.h reads symbols. */
#pragma once

#include <stdbool.h>

#include "kernel/image/address_space.h"

struct hv_image {
	struct hv_gva_range all;  /* first page to last page */
	struct hv_gva_range text; /* the executable part with the trap handlers */
	struct hv_gpa gpa;	  /* of all.start; the image is physically contiguous */
	uint8_t *bytes;		  /* owned copy of ALL; bytes that were not copied are zero */
	size_t len_bytes;	  /* of the copy; may be shorter than ALL */
	/* Mapped parts of ALL after the end of the copy, if only the first part was copied. */
	struct hv_image_piece {
		size_t from_off;
		size_t end_off;
	} * rest; /* owned, ascending */
	size_t nr_rest;
	struct hv_image_pages *pages; /* owned (release.h); NULL: no page is ever released */
};

/* Finds the image from the registers of any of the NR vCPUs. Fails with ENOENT and the reason, for
 * example that the guest is not in 64-bit mode (firmware) or not Linux. *RET_AS is the address
 * space in which it was found. */
struct hv_err *hv_image_find(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			     struct hv_address_space *ret_as, struct hv_image *ret) hv_must_use;
/* Like hv_image_find(), but may copy only the first part of the image, which normally contains text
 * and symbols. Then hv_image_has_rest() is true. */
struct hv_err *hv_image_find_first(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
				   struct hv_address_space *ret_as,
				   struct hv_image *ret) hv_must_use;
void hv_image_deinit(struct hv_image *image);

static inline bool hv_image_has_rest(const struct hv_image *image)
{
	return image->rest != NULL;
}

/* Copies the rest up to END, or all of it if END is not in the rest, and drops the list of the
 * rest. If EXCLUDED is before END, that part of the rest reads as zero. The copy may move. */
struct hv_err *hv_image_copy_rest(struct hv_image *image, struct hv_guest *g, struct hv_gva end,
				  struct hv_gva_range excluded) hv_must_use;

/* Releases the memory of the copy from END on. The copy does not move. */
void hv_image_keep_until(struct hv_image *image, struct hv_gva end);

/* Returns at most MAX_BYTES of the copy from GVA on; empty if GVA is outside, or if released pages
 * cannot be read again. The memory is valid until the next call of hv_image_release_some(), unless
 * it is held (release.h). */
struct hv_span hv_image_part(const struct hv_image *image, struct hv_gva gva, size_t max_bytes);
/* Like hv_image_part(), up to the end of the copy. Slow if pages are released. */
struct hv_span hv_image_at(const struct hv_image *image, struct hv_gva gva);

/* Finds the kernel's page tables and their format if no register shows them (arm64 without TTBR1).
 * Takes an address in the kernel's text with a known physical address and searches the image for
 * the table that maps one to the other.
 *
 * REGS are the registers of the NR vCPUs; they are read again while all vCPUs execute user code.
 * *RET contains the architecture table with the guest's page-table format. Fails with ENOENT if no
 * vCPU was seen in the kernel or the tables are not in the image. */
struct hv_err *hv_root_search(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			      struct hv_address_space *ret) hv_must_use;
