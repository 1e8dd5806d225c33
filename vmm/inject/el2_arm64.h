/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether an arm64 guest has EL2. The tests of every host compile this. */
#pragma once

#include "vmm/inject/kvm.h"

/* In a hold: fails with ENOTSUP if the guest has EL2. Its EL1 registers do not show which of its
 * kernels a vCPU executes, and on which stack. */
struct hv_err *hv_arm64_check_el2(const struct hv_kvm *k, struct hv_keeper *keeper) hv_must_use;
