/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons not to inject calls on an arm64 host. The tests of every host compile this. */
#pragma once

#include "vmm/inject/kvm.h"
#include "vmm/inject/threads.h"

/* Reads at most LEN bytes of register set SET (NT_ARM_...) of a stopped thread. Returns the number
 * of bytes; 0 if the set does not exist. */
typedef size_t (*hv_get_set_fn)(const struct hv_thread *t, unsigned set, void *to, size_t len);

/* Fails with ENOTSUP if thread T has state that rt_sigreturn would not restore. */
struct hv_err *hv_arm64_check_sets(const struct hv_thread *t, hv_get_set_fn get) hv_must_use;
/* In a hold: fails with ENOTSUP if the guest has EL2. Its EL1 registers do not show which of its
 * kernels a vCPU executes, and on which stack. */
struct hv_err *hv_arm64_check_el2(const struct hv_kvm *k, struct hv_keeper *keeper) hv_must_use;
