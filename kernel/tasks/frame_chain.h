/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frame walk for architectures where the frame pointer is the end of a frame and exceptions create
 * no frame records (frame_chain of struct hv_kernel_arch). The guest is untrusted: the walk is
 * bounded and stays in the copy of the stack. Private to kernel/. sleeper.c copies the stack. */
#pragma once

#include "kernel/tasks/sleeper.h"

/* COPY contains the live words of a stack, from START up to the stack's end. FP is the frame
 * pointer. Looks for return addresses and interrupted addresses in WANTED's range. */
enum hv_sleeper hv_frame_chain_look(const struct hv_kernel *k, const struct hv_scan_for *wanted,
				    struct hv_span copy, struct hv_gva start, uint64_t fp);
