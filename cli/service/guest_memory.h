/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers requests for the memory of the guest's kernel and for its types. Memory is read through
 * the kernel's page tables from the guest's RAM, as the service itself reads it: the guest does not
 * notice, nothing is written, and no device is touched. Clients need root or the right `memory` for
 * it, and the right `read` for types. */
#pragma once

#include "cli/service/state.h"

/* WIRE_MEMORY: data: an address (u64), arg: bytes wanted. The answer has the bytes up to the first
 * one that cannot be read. EFAULT: the first one cannot be read. */
struct hv_err *guest_memory_read(struct service *s, struct peer *p,
				 const struct wire_frame *frame) hv_must_use;
/* WIRE_PERCPU: data: an address of a per-CPU variable (u64), arg: a CPU. The answer has the address
 * of that CPU's copy (u64). */
struct hv_err *guest_memory_percpu(struct service *s, struct peer *p,
				   const struct wire_frame *frame) hv_must_use;

/* Appends the text of the type NAME (kernel/types/type_text.h). */
struct hv_err *guest_type_text(const struct hv_kernel *k, const char *name,
			       struct hv_text *ret) hv_must_use;
