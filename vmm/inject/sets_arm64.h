/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of a thread on an arm64 host that an injected call would change. The tests of every host
 * compile this. */
#pragma once

#include "vmm/inject/threads.h"

/* Reads at most LEN bytes of register set SET (NT_ARM_...) of a stopped thread. Returns the number
 * of bytes; 0 if the set does not exist. */
typedef size_t (*hv_get_set_fn)(const struct hv_thread *t, unsigned set, void *to, size_t len);

/* Fails with ENOTSUP if thread T has state that rt_sigreturn would not restore. */
struct hv_err *hv_arm64_check_sets(const struct hv_thread *t, hv_get_set_fn get) hv_must_use;
