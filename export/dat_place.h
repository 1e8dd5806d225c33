/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates space for each vCPU's data in a trace.dat file while it is written.
 *
 * The format stores the data of a vCPU contiguously, but the data of all vCPUs arrives
 * concurrently, and its size is unknown in advance. So each vCPU has a slot in the file, far from
 * the next one. The space between is a hole and uses no disk blocks. The index has the offset and
 * length of each slot, so the file is always readable. At the end the holes are removed: by the
 * file system, or if it cannot, by copying the data.
 *
 *   while it is written   | head | vCPU 0 ....hole.... | vCPU 1 ....hole.... | vCPU 2
 *   at the end            | head | vCPU 0 | vCPU 1 | vCPU 2
 *
 * dat.c writes the head and the data. */
#pragma once

#include "base/err.h"
#include "export/dat_head.h"

struct hv_dat_slot {
	uint64_t off; /* file offset */
	uint64_t len_bytes;
	uint64_t shown_bytes; /* visible bytes after these; the next append overwrites them */
};

struct hv_dat_place {
	const char *path; /* borrowed; for errors */
	int fd;		  /* borrowed */
	uint64_t index_off;
	uint64_t size_off;
	uint64_t buffer_off;
	uint64_t align_bytes;
	uint64_t slot_bytes;	   /* size of each slot */
	struct hv_dat_slot *slots; /* owned */
	unsigned nr_slots;
};

/* Plans slots for NR_CPUS vCPUs after HEAD, which must be in the file already. Fails with EFBIG if
 * the file system does not support files that are large enough. */
struct hv_err *hv_dat_place_init(struct hv_dat_place *p, const char *path, int fd,
				 const struct hv_export_head *head,
				 const struct hv_dat_head *dat_head) hv_must_use;
void hv_dat_place_deinit(struct hv_dat_place *p);

/* Writes all bytes at OFF. */
struct hv_err *hv_dat_write(const struct hv_dat_place *p, uint64_t off, const void *bytes,
			    size_t len_bytes) hv_must_use;
/* Writes the index with the lengths of all slots, including SHOWN_BYTES. */
struct hv_err *hv_dat_place_save(const struct hv_dat_place *p) hv_must_use;
/* Removes the holes and saves the index. If that fails, for example because the disk is full, the
 * file keeps its holes. */
struct hv_err *hv_dat_place_close_up(struct hv_dat_place *p) hv_must_use;
