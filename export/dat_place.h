/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the data of each vCPU is in a trace.dat file that is being written.
 *
 * In the file the data of a vCPU is in one piece, but the data of all vCPUs comes at the same time,
 * and nobody knows how much of it there will be. So while the file is written each vCPU has a slot
 * of its own, far apart from the next. What is between them is a hole of the file and takes no
 * room on the disk. The index says where the slots are and how much is in them, so the file can be
 * read at any time. At the end the holes are taken out: the file system removes them, or, where it
 * cannot, the data is copied.
 *
 *   while it is written   | head | vCPU 0 ....hole.... | vCPU 1 ....hole.... | vCPU 2
 *   at the end            | head | vCPU 0 | vCPU 1 | vCPU 2
 *
 * Leaves to others: the head, what is written (dat.c). */
#pragma once

#include "base/err.h"
#include "export/dat_head.h"

struct hv_dat_slot {
	uint64_t off; /* in the file */
	uint64_t len_bytes;
	uint64_t shown_bytes; /* written after these, and overwritten by what is appended next */
};

struct hv_dat_place {
	const char *path; /* borrowed; for errors */
	int fd;		  /* borrowed */
	uint64_t index_off;
	uint64_t size_off;
	uint64_t buffer_off;
	uint64_t align_bytes;
	uint64_t slot_bytes;	   /* room of each */
	struct hv_dat_slot *slots; /* owned */
	unsigned nr_slots;
};

/* Plans slots for NR_CPUS vCPUs behind HEAD, whose bytes are written. EFBIG: the file system has no
 * files that are large enough. */
struct hv_err *hv_dat_place_init(struct hv_dat_place *p, const char *path, int fd,
				 const struct hv_export_head *head,
				 const struct hv_dat_head *dat_head) hv_must_use;
void hv_dat_place_deinit(struct hv_dat_place *p);

/* Writes all bytes at OFF. */
struct hv_err *hv_dat_write(const struct hv_dat_place *p, uint64_t off, const void *bytes,
			    size_t len_bytes) hv_must_use;
/* Writes the lengths of all slots, with what is shown. */
struct hv_err *hv_dat_place_save(const struct hv_dat_place *p) hv_must_use;
/* Takes out the holes, and saves. If that is impossible, for example because the disk is full, the
 * file keeps its holes. */
struct hv_err *hv_dat_place_close_up(struct hv_dat_place *p) hv_must_use;
