/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginning of the region once more, in memory that no guest has: its header and its journal,
 * which the guest can write in the region at any moment. The service writes both copies and reads
 * this one, and so does who undoes its changes when it has died. Then the warden also puts what is
 * here into the region, for a later `hvtrace recover`, which has nothing else.
 * Leaves to others: what is written there (patcher/region.h). */
#pragma once

#include "vmm/guest.h"

struct hv_kept {
	int fd;	       /* of a memfd; -1: there is none */
	uint8_t *host; /* mapped, HV_REGION_KEPT_BYTES */
};
#define HV_KEPT_NONE ((struct hv_kept){.fd = -1})

/* With what REGION has there now: an earlier session may have left it. */
struct hv_err *hv_kept_make(const struct hv_region *region, struct hv_kept *ret) hv_must_use;
/* Maps the memory that another process has made. Takes FD. */
struct hv_err *hv_kept_map(int fd, struct hv_kept *ret) hv_must_use;
void hv_kept_close(struct hv_kept *k);

/* Puts what is there into REGION. Nothing happens if there is none. */
void hv_kept_put_back(const struct hv_kept *k, const struct hv_region *region);
