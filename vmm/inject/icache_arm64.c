/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/icache.h"

/* CTR_EL0, which the kernel makes equal on all CPUs: fetches see writes without cleaning the data
 * cache (IDC) and without invalidating the instruction cache (DIC). */
#define CTR_IDC (1ull << 28)
#define CTR_DIC (1ull << 29)

bool hv_icache_is_coherent(void)
{
	uint64_t ctr;

	__asm__("mrs %0, ctr_el0" : "=r"(ctr));
	return ctr & CTR_IDC && ctr & CTR_DIC;
}
