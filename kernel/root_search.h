/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the kernel's page tables and their format where registers do not tell them (arm64 without
 * TTBR1): it takes an address of the kernel's text of which the physical address is known, and
 * looks in the image for the table that leads from the one to the other. Leaves to others: the
 * image itself (image.h). */
#pragma once

#include "kernel/address_space.h"

/* REGS: of the NR vCPUs. They are read again while all vCPUs execute user code. *RET has the table
 * of the architecture with the guest's format. ENOENT: no vCPU was seen in the kernel, or the
 * tables are not in the image. */
struct hv_err *hv_root_search(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			      struct hv_address_space *ret) hv_must_use;
