/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Short writes into the memory of a VMM whose guest is held. The helper that keeps the guest
 * stopped (inject/keeper.h) makes them and resumes the guest only afterwards. So no write is made
 * after the end of a hold, even if the service is delayed before it requests the write. The caller
 * decides what to write and when the hold ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define HV_HELD_WRITE_MAX 8 /* bytes of one write */

struct hv_held_write {
	uint64_t hva; /* in the VMM */
	uint32_t len_bytes;
	uint8_t bytes[HV_HELD_WRITE_MAX];
	bool is_text; /* the page contains text: only vCPUs and held writes change it */
};

/* A list of them; zero-initialised is empty. */
struct hv_held_writes {
	struct hv_held_write *list; /* owned */
	size_t nr;
	size_t room;
};
/* Adds a write that is not text. */
void hv_held_writes_add(struct hv_held_writes *w, uint64_t hva, const void *bytes,
			size_t len_bytes);
void hv_held_writes_deinit(struct hv_held_writes *w);
#define HV_AUTO_HELD_WRITES hv_cleanup(hv_held_writes_deinit)

/* For the helper: makes WRITES in process VMM, and checks the clock before every few of them.
 * Consecutive writes of text, ascending within a page, are made as one: the bytes between them are
 * read from the page and written with them. Fails with ETIMEDOUT if DEADLINE_NS passed before all
 * were made, or EFAULT if there is no writable memory at an address. After an error some of the
 * writes may be made. The kernel makes each write wholly or not at all, even if the helper is
 * killed. A write that crosses the end of a page is the exception: its part before that end may be
 * made alone. */
struct hv_err *hv_held_writes_make(pid_t vmm, const struct hv_held_write *writes, size_t nr,
				   uint64_t deadline_ns) hv_must_use;
