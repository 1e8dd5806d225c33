/* Where the kernel image is: from a vCPU's page tables and trap table to the bounds of the image
 * and of its text, and a copy of its bytes to search in. Leaves to others: symbols (kallsyms.h). */
#pragma once

#include "kernel/address_space.h"

struct hv_image {
	struct hv_gva_range all;  /* present mappings around the text, page tables' granularity */
	struct hv_gva_range text; /* the executable part that holds the trap handlers */
	struct hv_gpa gpa;	  /* of all.start: an image is one piece of physical memory */
	uint8_t *bytes;		  /* owned copy of ALL; holes read as zero */
	size_t len_bytes;
};

/* Finds the image with any of the NR vCPUs' registers. ENOENT with the reason: not in long mode
 * (firmware), not Linux, ... *RET_AS is the kernel's address space. */
struct hv_err *hv_image_find(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			     struct hv_address_space *ret_as, struct hv_image *ret) hv_must_use;
void hv_image_deinit(struct hv_image *image);

/* The copy from GVA on; empty when outside. */
struct hv_span hv_image_at(const struct hv_image *image, struct hv_gva gva);
