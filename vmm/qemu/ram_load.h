/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the guest's RAM layout from QEMU's monitor. */
#pragma once

#include "vmm/process/ram.h"
#include "vmm/qemu/parser.h"

/* Queries the VMM again, and unmaps memory that is no longer RAM. On error RAM is unchanged. */
struct hv_err *hv_ram_load(struct hv_parser *p, struct hv_process_memory *process,
			   struct hv_ram *ram) hv_must_use;
