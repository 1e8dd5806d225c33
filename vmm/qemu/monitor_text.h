/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the human monitor's output about host addresses and vCPUs, and lines of /proc/PID/maps.
 * Pure: text in, values out. Unknown lines are skipped. Checked against QEMU 7.2 (monitor/misc.c
 * hmp_gpa2hva). memory_tree.h decodes the memory tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "vmm/qemu/monitor.h"

/* TEXT is the output of `gpa2hva ADDR`. *RET_NAME is the name of the memory region; the caller
 * frees it. Returns false if the VMM has no memory at that address. */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva, char **ret_name);

/* TEXT is the output of `gva2gpa ADDR`. Returns false if the vCPU has nothing mapped there. */
bool hv_gva2gpa_parse(const char *text, struct hv_gpa *ret);

/* *AT points into the output of `info registers -a`. Copies the part of the next vCPU, without its
 * heading, to *RET, which the caller frees, and advances *AT to its end. vCPU numbers can have gaps
 * after an unplug. Returns false at the end. */
bool hv_vcpu_text_next(const char **at, char **ret);
/* Longer parts are truncated. */
#define HV_VCPU_TEXT_MAX_BYTES (256u << 10)

/* -- PCI devices ------------------------------------------------------------------------------- */

/* The BARs of a guest's PCI devices, from QMP's `query-pci`. */

#define HV_PCI_NO_ADDRESS UINT64_MAX /* the guest has not assigned or has disabled it */

#define HV_PCI_BARS_MAX 4096

struct hv_pci_bar {
	unsigned vendor;
	unsigned device;
	unsigned bar;
	bool is_memory; /* false: I/O ports */
	struct hv_gpa start;
	uint64_t len_bytes;
	char where[32]; /* "0:3.0": bus, slot, function */
};

struct hv_pci_bars {
	struct hv_pci_bar *bars;
	size_t nr_bars, cap_bars;
	bool has_bus;  /* the guest has a PCI bus */
	bool too_many; /* there are more than HV_PCI_BARS_MAX, which are skipped */
};

/* Whether it is memory that currently has a guest-physical address. */
static inline bool hv_pci_bar_is_on(const struct hv_pci_bar *b)
{
	return b->is_memory && b->start.v != HV_PCI_NO_ADDRESS &&
	       b->len_bytes <= UINT64_MAX - b->start.v;
}

/* QUERY_PCI is the "return" of the command. Includes bridges and the devices on their buses. */
void hv_pci_bars_parse(struct json_object *query_pci, struct hv_pci_bars *ret);
struct hv_err *hv_pci_bars_load(struct hv_monitor *m, struct hv_pci_bars *ret) hv_must_use;
void hv_pci_bars_deinit(struct hv_pci_bars *b);
