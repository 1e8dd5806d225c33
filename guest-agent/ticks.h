/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU counter that both guest programs and the host can read. It relates guest time to host
 * time. */
#pragma once

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#define TICKS_NAME "tsc"
static inline uint64_t ticks_now(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define TICKS_NAME "cntvct"
static inline uint64_t ticks_now(void)
{
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now) : : "memory");
	return now;
}
#else
#define TICKS_NAME "none"
static inline uint64_t ticks_now(void)
{
	return 0;
}
#endif
