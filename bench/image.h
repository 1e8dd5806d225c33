/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest made of a file: memory and registers as `virsh dump --memory-only` writes them
 * (bench/image makes such a file). Nothing runs in it. Its memory is shared with a process that
 * is the VMM: a hold stops that process, and a keeper (vmm/inject/keeper.h) writes into it. Each
 * list of writes obeys the rules of the privileged process (vmm/warden/rules.h).
 * The region is at an address above all RAM.
 * Leaves to others: what is done with the guest. */
#pragma once

#include "vmm/guest.h"

/* The ELF core file at PATH, of an x86-64 guest, with a region of REGION_BYTES. */
struct hv_err *image_open(const char *path, uint64_t region_bytes,
			  struct hv_guest **ret) hv_must_use;
/* The same without a VMM. This process writes, and what it does not write is shared with all
 * processes that have the file open so. */
struct hv_err *image_open_shared(const char *path, uint64_t region_bytes,
				 struct hv_guest **ret) hv_must_use;
