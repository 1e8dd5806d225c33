/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of CPUs as masks of bits, and lists of CPUs as the kernel reads them (bitmap_parselist):
 * "0-3,8", "0-7:2/4" (of each four CPUs the first two), "N" for the last CPU, "all". Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t hv_cpumask_words(unsigned nr_cpus)
{
	return (nr_cpus + 63) / 64;
}

static inline bool hv_cpumask_has(const uint64_t *mask, uint64_t cpu)
{
	return mask[cpu / 64] >> cpu % 64 & 1;
}

/* Parses LIST, a list of CPUs below NR_CPUS, into a mask of hv_cpumask_words(NR_CPUS) words, which
 * the caller frees. Returns NULL if LIST is malformed or names a CPU that does not exist. */
uint64_t *hv_cpulist_parse(const char *list, unsigned nr_cpus);
