/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations of the library of which one fails. */
#pragma once

/* Lets the allocation after NR more fail. */
void failing_alloc_after(unsigned nr);
/* Returns whether it has failed. */
int failing_alloc_has_failed(void);
