/* Guest RAM: the ranges QEMU shows the vCPUs as memory, and how each is reached.
 * Leaves to others: devices' memory (region.h), what the RAM holds. */
#pragma once

#include "vmm/qemu/monitor.h"
#include "vmm/qemu/monitor_text.h"
#include "vmm/qemu/process_memory.h"

struct hv_ram_range {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t hva;  /* in the VMM */
	uint8_t *host; /* NULL: not shared, copied through PROCESS */
};

struct hv_ram {
	struct hv_process_memory *process; /* borrowed */
	struct hv_ram_range *ranges;	   /* ascending */
	size_t nr_ranges;
	uint64_t len_bytes;
	uint64_t mapped_bytes;
	bool can_go; /* part of it is on memory devices, which are unplugged */
};

/* Asks anew, and gives back what is no RAM any more. On error RAM is as it was. */
struct hv_err *hv_ram_load(struct hv_monitor *m, struct hv_process_memory *process,
			   struct hv_ram *ram) hv_must_use;
void hv_ram_deinit(struct hv_ram *ram);

/* EFAULT: part of [GPA, GPA + LEN) is not RAM. */
struct hv_err *hv_ram_read(const struct hv_ram *ram, struct hv_gpa gpa, void *buf,
			   size_t len_bytes) hv_must_use;
struct hv_err *hv_ram_write(const struct hv_ram *ram, struct hv_gpa gpa, const void *buf,
			    size_t len_bytes) hv_must_use;
/* At most 8 bytes of a guest that stands. Whatever kills us, they are the old or the new ones. */
struct hv_err *hv_ram_write_text(const struct hv_ram *ram, struct hv_gpa gpa, const void *bytes,
				 size_t len_bytes) hv_must_use;
bool hv_ram_covers(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t len_bytes);

/* Host address of one guest-physical address in the VMM. EFAULT: no RAM there. */
struct hv_err *hv_gpa2hva(struct hv_monitor *m, struct hv_gpa gpa, uint64_t *ret_hva) hv_must_use;
