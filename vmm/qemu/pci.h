/* PCI devices of a machine as `query-pci` tells them. */
#pragma once

#include "base/addr.h"
#include "vmm/qemu/monitor.h"

#define HV_PCI_NO_ADDRESS UINT64_MAX /* the guest has not placed it, or has switched it off */

struct hv_pci_bar {
	unsigned vendor;
	unsigned device;
	unsigned bar;
	bool is_memory; /* else ports */
	struct hv_gpa start;
	uint64_t len_bytes;
	char where[32]; /* "0:3.0": bus, slot, function */
};

struct hv_pci_bars {
	struct hv_pci_bar *bars;
	size_t nr_bars;
	bool has_bus; /* the machine has PCI at all */
};

/* Memory, and at a guest-physical address now. */
static inline bool hv_pci_bar_is_on(const struct hv_pci_bar *b)
{
	return b->is_memory && b->start.v != HV_PCI_NO_ADDRESS &&
	       b->len_bytes <= UINT64_MAX - b->start.v;
}

/* QUERY_PCI: the command's "return". Bridges included, whatever hangs behind them too. */
void hv_pci_bars_parse(struct json_object *query_pci, struct hv_pci_bars *ret);
struct hv_err *hv_pci_bars_load(struct hv_monitor *m, struct hv_pci_bars *ret) hv_must_use;
void hv_pci_bars_deinit(struct hv_pci_bars *b);
