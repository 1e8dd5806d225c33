/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the VMM says that guest RAM is. Asks the monitor, so only the process without rights does
 * this (parser_run.c). Leaves to others: whether the VMM has memory there (ram.h). */
#pragma once

#include "vmm/qemu/facts.h"
#include "vmm/qemu/monitor.h"

struct hv_ram_layout {
	struct hv_vmm_range *ranges; /* owned; ascending */
	size_t nr, cap;
	uint32_t can_go; /* part of it belongs to memory devices, which can be unplugged */
};

/* E2BIG: there are more than HV_VMM_RANGES_MAX. */
struct hv_err *hv_ram_layout_load(struct hv_monitor *m, struct hv_ram_layout *ret) hv_must_use;
void hv_ram_layout_deinit(struct hv_ram_layout *l);
/* The address in the VMM of a guest-physical address. EFAULT: there is no RAM. */
struct hv_err *hv_gpa2hva(struct hv_monitor *m, struct hv_gpa gpa, uint64_t *ret_hva) hv_must_use;
