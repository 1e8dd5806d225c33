/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A QEMU whose guest is accessed by injection (vmm/inject/vmm.h). */
#pragma once

#include "vmm/inject/vmm.h"
#include "vmm/qemu/machine.h"

/* M is borrowed, until free() of the VMM takes it. */
struct hv_vmm hv_machine_vmm(struct hv_machine *m);
