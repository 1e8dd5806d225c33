/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes one allocation of the library fail. */
#pragma once

/* After NR more allocations, the next one fails. */
void failing_alloc_after(unsigned nr);
/* Returns whether it has failed. */
int failing_alloc_has_failed(void);
