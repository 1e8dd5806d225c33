/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For hosts whose instruction fetches always see what was written. */
#include "vmm/inject/icache.h"

bool hv_icache_is_coherent(void)
{
	return true;
}
