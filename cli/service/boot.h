/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks whether the guest still runs the boot to which the session attached. After a reset, the
 * memory of the old boot with its page tables can stay readable for minutes, so only the vCPUs can
 * tell. The guest is not stopped. */
#pragma once

#include "kernel/kernel.h"

enum boot_state {
	BOOT_SAME,
	BOOT_OTHER,   /* no vCPU uses page tables that lead to the attached kernel's text */
	BOOT_UNKNOWN, /* the registers of the vCPUs could not be read */
};

enum boot_state boot_look(struct hv_kernel *k);
