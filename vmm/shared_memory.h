/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mappings of memory that another process can take away: a VMM's RAM, a region. An access raises
 * SIGBUS if the file was truncated, if it has a hole there and its file system is full, or if the
 * page has a memory failure. That must not end this process.
 *
 * hv_shared_read() returns an error in this case and leaves the mapping unchanged. On any other
 * access to these mappings, the page is replaced by a page of zeros, and hv_shared_is_lost()
 * returns true from then on. The caller decides how to proceed without the memory. A SIGBUS for
 * other memory ends the process as usual. Any thread may call hv_shared_read(); only one thread may
 * call the other functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Maps LEN_BYTES of FD at OFF, shared, with PROT of mmap(2), aligned so that the host's kernel can
 * use huge pages. The caller unmaps *RET. Pages of hugetlbfs are huge, and such a page is replaced
 * as a whole. OFF and LEN_BYTES may come from a peer: EINVAL if no file can have such a range. Fails
 * with ENOSPC if there are too many mappings, or with an error of mmap(2). */
struct hv_err *hv_shared_map(int fd, uint64_t off, uint64_t len_bytes, int prot,
			     uint8_t **ret) hv_must_use;
/* NULL is ignored. */
void hv_shared_unmap(const uint8_t *start, uint64_t len_bytes);
/* Whether pages of [START, START + LEN) were replaced. */
bool hv_shared_is_lost(const uint8_t *start, uint64_t len_bytes);

/* Copies LEN_BYTES. Fails with EFAULT if some cannot be read; TO may be partly written then. */
struct hv_err *hv_shared_read(void *to, const uint8_t *from, size_t len_bytes) hv_must_use;

struct hv_region;
/* Removes the memory of pages of R from the VMM and gives it back with its contents, so that KVM
 * flushes every vCPU's translations. Fails with ENODEV if R is not mapped. */
struct hv_err *hv_region_drop_pages(const struct hv_region *r, uint64_t off,
				    uint64_t len_bytes) hv_must_use;
