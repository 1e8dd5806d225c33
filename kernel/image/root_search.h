/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the kernel's page tables and their format if no register shows them (arm64 without TTBR1).
 * Takes an address in the kernel's text with a known physical address and searches the image for
 * the table that maps one to the other. image.h finds the image. */
#pragma once

#include "kernel/image/address_space.h"

/* REGS are the registers of the NR vCPUs; they are read again while all vCPUs execute user code.
 * *RET contains the architecture table with the guest's page-table format. Fails with ENOENT if no
 * vCPU was seen in the kernel or the tables are not in the image. */
struct hv_err *hv_root_search(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			      struct hv_address_space *ret) hv_must_use;
