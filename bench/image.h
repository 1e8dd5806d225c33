/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest made from a file with memory and registers, as written by `virsh dump --memory-only`;
 * bench/image makes such a file. Nothing executes in the guest. A process that shares its memory
 * acts as the VMM: a hold stops that process, and a keeper (vmm/inject/keeper.h) writes to it. Each
 * list of writes must pass the broker's rules (vmm/broker/rules.h). The region is above all RAM. */
#pragma once

#include "vmm/guest.h"

/* Opens the ELF core file of an x86-64 guest at PATH, with a region of REGION_BYTES. */
struct hv_err *image_open(const char *path, uint64_t region_bytes,
			  struct hv_guest **ret) hv_must_use;
/* Like image_open(), but without a VMM: this process writes. Pages it does not write are shared
 * with other processes that have opened the same file. */
struct hv_err *image_open_shared(const char *path, uint64_t region_bytes,
				 struct hv_guest **ret) hv_must_use;
