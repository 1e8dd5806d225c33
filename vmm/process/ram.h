/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest RAM in the memory of a VMM's process: the guest-physical ranges that are memory for the
 * vCPUs, and how to read them. Excludes device memory. The caller supplies the ranges. */
#pragma once

#include "vmm/guest.h"
#include "vmm/process/process_memory.h"

struct hv_ram_range {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t hva;  /* in the VMM */
	uint8_t *host; /* NULL: not mapped here, copied through PROCESS */
	int fd;	       /* the file, if it is mapped here; owned by PROCESS */
	uint64_t file_off;
};

struct hv_ram {
	struct hv_process_memory *process; /* borrowed */
	struct hv_ram_range *ranges;	   /* ascending */
	size_t nr_ranges;
	uint64_t len_bytes;
	uint64_t mapped_bytes;
	bool can_go; /* part of it belongs to memory devices, which can be unplugged */
};

/* Adds the range [START, START + LEN), which is at HVA in the VMM. It is contiguous in the VMM but
 * may consist of several mappings. */
struct hv_err *hv_ram_add(struct hv_ram *ram, struct hv_gpa start, uint64_t len_bytes,
			  uint64_t hva) hv_must_use;
void hv_ram_deinit(struct hv_ram *ram);

/* Fails with EFAULT if part of [GPA, GPA + LEN) is not RAM. */
struct hv_err *hv_ram_read(const struct hv_ram *ram, struct hv_gpa gpa, void *buf,
			   size_t len_bytes) hv_must_use;
/* Returns the address of GPA in the VMM, and the number of RAM bytes that follow. Returns false if
 * GPA is not RAM. */
bool hv_ram_find(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t *ret_hva,
		 uint64_t *ret_len_bytes);
enum hv_ram_by {
	HV_RAM_BY_FILES,  /* through the RAM's file if it contains nothing else, otherwise through
			     the VMM's memory */
	HV_RAM_BY_MEMORY, /* always through the VMM's memory */
};
/* Returns files for its ranges (vmm/guest.h). Returns none if RAM can be unplugged. */
size_t hv_ram_files(const struct hv_ram *ram, enum hv_ram_by by, struct hv_ram_file *ret,
		    size_t max);
bool hv_ram_covers(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t len_bytes);
