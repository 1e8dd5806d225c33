/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For hosts where instruction fetches always see writes. */
#include "vmm/inject/icache.h"

bool hv_icache_is_coherent(void)
{
	return true;
}
