/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks whether this host's KVM can run a kernel at all. A KVM without VMX and SVM emulates the
 * guest's instructions: it needs hours to boot Linux, or fails at an instruction that it cannot
 * emulate. */
#pragma once

#include "base/err.h"

/* Executes a loop of half a million instructions in a temporary virtual machine, which takes less
 * than a second. KVM_FD is an open /dev/kvm. Fails with ENOTSUP if it is too slow or cannot execute
 * the loop. */
struct hv_err *hv_minivm_trial(int kvm_fd) hv_must_use;
