/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clock and median for the benchmarks. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts VALUES and returns their median. NR is at least 1. */
static inline double median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare_doubles);
	return nr % 2 ? values[nr / 2] : (values[nr / 2 - 1] + values[nr / 2]) / 2;
}
