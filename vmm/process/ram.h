/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest RAM in the memory of a VMM's process: the ranges of guest-physical addresses that the VMM
 * gives the vCPUs as memory, and how each is read. Leaves to others: which ranges there are, the
 * memory of devices, what the RAM contains. */
#pragma once

#include "vmm/guest.h"
#include "vmm/process/process_memory.h"

struct hv_ram_range {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t hva;  /* in the VMM */
	uint8_t *host; /* NULL: not mapped here, copied by PROCESS */
	int fd;	       /* of the file, if it is mapped here; PROCESS's */
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

/* Adds the range [START, START + LEN), which is at HVA in the VMM. Its addresses in the VMM are
 * consecutive, but several mappings may make it up. */
struct hv_err *hv_ram_add(struct hv_ram *ram, struct hv_gpa start, uint64_t len_bytes,
			  uint64_t hva) hv_must_use;
void hv_ram_deinit(struct hv_ram *ram);

/* EFAULT: part of [GPA, GPA + LEN) is not RAM. */
struct hv_err *hv_ram_read(const struct hv_ram *ram, struct hv_gpa gpa, void *buf,
			   size_t len_bytes) hv_must_use;
/* The address in the VMM of GPA, and how many bytes of RAM follow there. False: no RAM. */
bool hv_ram_find(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t *ret_hva,
		 uint64_t *ret_len_bytes);
enum hv_ram_by {
	HV_RAM_BY_FILES,  /* where RAM is a file that has nothing else, by that, else by the VMM's
			     memory */
	HV_RAM_BY_MEMORY, /* all of it by the VMM's memory */
};
/* Of its ranges (vmm/guest.h). None if RAM can go. */
size_t hv_ram_files(const struct hv_ram *ram, enum hv_ram_by by, struct hv_ram_file *ret,
		    size_t max);
bool hv_ram_covers(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t len_bytes);
