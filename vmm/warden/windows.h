/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows: the guest's RAM, as far as a process without rights can read it by itself. RAM that is a
 * file is mapped for reading. Other RAM is read through a file that is the VMM's whole memory; the
 * sandbox's filter of system calls lets it read nothing else there (sandbox.h). What is in no
 * window is read by the warden.
 * Leaves to others: writing, which only the warden does. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "vmm/warden/channel.h"
#include "vmm/warden/wire.h"

/* A read of the VMM's memory has at most so many bytes, and begins so far before the end of RAM. */
#define HV_WINDOW_READ_BYTES 65536
/* The VMM's memory has this number or a greater one, all other files a smaller one: a filter can
 * compare numbers of 64 bits, of which the kernel takes 32. */
#define HV_WINDOW_FD_MIN     1000

struct hv_window {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t off;
	const uint8_t *host; /* where it is mapped; NULL: it is at OFF of the VMM's memory */
};

struct hv_windows {
	struct hv_window list[HV_WARDEN_RAM_MAX];
	size_t nr;
	int memory_fd; /* of the VMM, owned; -1: none */
};
#define HV_WINDOWS_NONE ((struct hv_windows){.memory_fd = -1})

/* Opens the windows that ANSWER, the one to HV_ASK_RAM, allows. What cannot be opened is left out.
 */
void hv_windows_open(struct hv_windows *w, struct hv_message *answer);
void hv_windows_close(struct hv_windows *w);

/* False: it is not in a window, or cannot be read there; BUF may have been written to. */
bool hv_windows_read(const struct hv_windows *w, struct hv_gpa gpa, void *buf, size_t len_bytes);
