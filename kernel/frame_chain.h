/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a stack, on an architecture whose frame pointer is the end of a frame and whose
 * exceptions make no frame records (frame_chain of struct hv_kernel_arch). The guest is hostile:
 * the walk is bounded and stays in the copy of the stack.
 * Private to kernel/. Leaves to others: copying the stack (sleeper.c). */
#pragma once

#include "kernel/sleeper.h"

/* COPY: the live words of a stack, the first one of which is at START, up to the stack's end. FP:
 * the frame pointer. Looks for what was interrupted in WANTED's range, and for return addresses
 * there. */
enum hv_sleeper hv_frame_chain_look(const struct hv_kernel *k, const struct hv_scan_for *wanted,
				    struct hv_span copy, struct hv_gva start, uint64_t fp);
