/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which RAM a guest has, as QEMU's monitor says. */
#pragma once

#include "vmm/process/ram.h"
#include "vmm/qemu/parser.h"

/* Asks the VMM again, and unmaps what is no longer RAM. On error RAM is unchanged. */
struct hv_err *hv_ram_load(struct hv_parser *p, struct hv_process_memory *process,
			   struct hv_ram *ram) hv_must_use;
