/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary search. */
#pragma once

/* Returns the first number I below NR for which IS_BEFORE is false, or NR. IS_BEFORE is an
 * expression with I; it must be true up to some number and false from there on. For example, the
 * number of elements of a sorted list that are at most KEY:
 *
 *	HV_BISECT(i, nr, list[i] <= KEY)
 *
 * The result has the type of NR, which is evaluated once. */
#define HV_BISECT(i, nr, is_before)                                                                \
	__extension__({                                                                            \
		__auto_type bisect_high_ = (nr);                                                   \
		__typeof__(bisect_high_) bisect_low_ = 0;                                          \
                                                                                                   \
		while (bisect_low_ < bisect_high_) {                                               \
			__typeof__(bisect_high_) i =                                               \
				bisect_low_ + (bisect_high_ - bisect_low_) / 2;                    \
                                                                                                   \
			if (is_before)                                                             \
				bisect_low_ = i + 1;                                               \
			else                                                                       \
				bisect_high_ = i;                                                  \
		}                                                                                  \
		bisect_low_;                                                                       \
	})
