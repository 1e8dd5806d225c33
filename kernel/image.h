/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel image: finds its bounds and those of its text by a vCPU's page tables and trap table,
 * and copies its bytes to be searched.
 * Leaves to others: symbols (kallsyms.h). */
#pragma once

#include <stdbool.h>

#include "kernel/address_space.h"

struct hv_image {
	struct hv_gva_range all;  /* from its first page to its last */
	struct hv_gva_range text; /* the executable part with the trap handlers */
	struct hv_gpa gpa;	  /* of all.start: an image is one piece of physical memory */
	uint8_t *bytes;		  /* owned copy of ALL; what is not copied reads as zero */
	size_t len_bytes;	  /* of the copy, which may be shorter than ALL */
	/* What is mapped of ALL behind the copy, while that is only the first part. */
	struct hv_image_piece {
		size_t from_off;
		size_t end_off;
	} * rest; /* owned, ascending */
	size_t nr_rest;
};

/* Finds the image by the registers of any of the NR vCPUs. Fails with ENOENT and the reason: not in
 * 64-bit mode (firmware), not Linux, ... *RET_AS: the address space that it was found in. */
struct hv_err *hv_image_find(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			     struct hv_address_space *ret_as, struct hv_image *ret) hv_must_use;
/* The same, but may copy only the first part of the image, in which kernels have their text and
 * their symbols. Then there is a rest. */
struct hv_err *hv_image_find_first(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
				   struct hv_address_space *ret_as,
				   struct hv_image *ret) hv_must_use;
void hv_image_deinit(struct hv_image *image);

static inline bool hv_image_has_rest(const struct hv_image *image)
{
	return image->rest != NULL;
}

/* Copies the rest as far as it is before END; or all of it if END is not in the rest. What of the
 * rest is in LEFT_OUT reads as zero, if LEFT_OUT is before END. Then there is no rest any more. The
 * copy may move. */
struct hv_err *hv_image_copy_rest(struct hv_image *image, struct hv_guest *g, struct hv_gva end,
				  struct hv_gva_range left_out) hv_must_use;

/* Gives the memory of the copy from END on back to the host. The copy does not move. */
void hv_image_keep_until(struct hv_image *image, struct hv_gva end);

/* The copy from GVA on; empty when outside. */
struct hv_span hv_image_at(const struct hv_image *image, struct hv_gva gva);
