/* Is the guest still the boot that was attached to? After a reset the old boot's memory, page
 * tables and all, can stay readable as it was for minutes: only the vCPUs tell. The guest is not
 * stopped. */
#pragma once

#include "kernel/kernel.h"

enum boot_state {
	BOOT_SAME,
	BOOT_OTHER,   /* no vCPU runs on page tables that hold the attached kernel's text */
	BOOT_UNKNOWN, /* the vCPUs could not be asked */
};

enum boot_state boot_look(struct hv_kernel *k);
