/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether this host's KVM can run a kernel at all. A KVM without VMX and SVM executes the
 * instructions of a guest by emulation: it needs hours to boot Linux, or fails at an instruction
 * that it cannot emulate. Leaves to others: the machine itself (minivm.h). */
#pragma once

#include "base/err.h"

/* Executes a loop of half a million instructions in a machine of its own, which takes less than a
 * second. KVM_FD is an open /dev/kvm. ENOTSUP: it is too slow or cannot execute the loop. */
struct hv_err *hv_minivm_trial(int kvm_fd) hv_must_use;
