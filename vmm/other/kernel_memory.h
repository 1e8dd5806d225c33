/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads memory of the host's kernel, by a small BPF program that this process loads and runs
 * itself. It needs CAP_SYS_ADMIN, Linux 5.10, and a kernel that is not locked down for
 * confidentiality. Nothing is written, and no event of the host is traced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HV_KERNEL_READ_MAX 2048

struct hv_kernel_memory {
	int map_fd;
	int prog_fd;
	uint8_t *value; /* mapped */
};
#define HV_KERNEL_MEMORY_NONE ((struct hv_kernel_memory){-1, -1, NULL})

/* Fails with ENOTSUP if this host's kernel does not allow it. */
struct hv_err *hv_kernel_memory_open(struct hv_kernel_memory *ret) hv_must_use;
void hv_kernel_memory_close(struct hv_kernel_memory *k);
#define HV_AUTO_KERNEL_MEMORY hv_cleanup(hv_kernel_memory_close)

/* Reads LEN (1 to HV_KERNEL_READ_MAX) bytes at address AT of the kernel. Returns false if not all of
 * them can be read. */
bool hv_kernel_read(const struct hv_kernel_memory *k, uint64_t at, void *to, size_t len_bytes);
/* Returns the address of this thread's struct task_struct, or 0. */
uint64_t hv_kernel_this_task(const struct hv_kernel_memory *k);
