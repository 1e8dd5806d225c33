/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of guest RAM as reported by the VMM. Queries the monitor, so only the unprivileged
 * process does this (parser_run.c). ram.h checks that the VMM has memory there. */
#pragma once

#include "vmm/qemu/facts.h"
#include "vmm/qemu/monitor.h"

struct hv_ram_layout {
	struct hv_vmm_range *ranges; /* owned; ascending */
	size_t nr, cap;
	uint32_t can_go; /* part of it belongs to memory devices, which can be unplugged */
};

/* Fails with E2BIG if there are more than HV_VMM_RANGES_MAX. */
struct hv_err *hv_ram_layout_load(struct hv_monitor *m, struct hv_ram_layout *ret) hv_must_use;
void hv_ram_layout_deinit(struct hv_ram_layout *l);
/* Returns the VMM's address of a guest-physical address. Fails with EFAULT if there is no RAM. */
struct hv_err *hv_gpa2hva(struct hv_monitor *m, struct hv_gpa gpa, uint64_t *ret_hva) hv_must_use;
