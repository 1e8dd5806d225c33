/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of the region's header and journal in memory that the guest cannot access: in the region,
 * the guest can change them at any time. The service writes both copies and reads this one. So does
 * the process that undoes the service's changes if the service dies. Then the broker also copies
 * the contents back to the region, for a later `hvtrace recover`, which can only read the region.
 * patcher/region.h defines the contents. */
#pragma once

#include "vmm/guest.h"

struct hv_kept {
	int fd;	       /* a memfd; -1: none */
	uint8_t *host; /* mapped, HV_REGION_KEPT_BYTES */
};
#define HV_KEPT_NONE ((struct hv_kept){.fd = -1})

/* Creates the copy, with the current contents of REGION, which an earlier session may have left. */
struct hv_err *hv_kept_make(const struct hv_region *region, struct hv_kept *ret) hv_must_use;
/* Maps the memory that another process has created. Takes FD. */
struct hv_err *hv_kept_map(int fd, struct hv_kept *ret) hv_must_use;
void hv_kept_close(struct hv_kept *k);

/* Copies the contents to REGION. Does nothing if there is no copy. */
void hv_kept_put_back(const struct hv_kept *k, const struct hv_region *region);
