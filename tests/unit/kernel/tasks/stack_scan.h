/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scans the stacks of a fake kernel. The scan must succeed. For tests of its results. */
#pragma once

#include <check.h>

#include "kernel/tasks/tasks.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"

/* Returns the number of words that match WANTED. *WHERE describes the first one; NULL if no word
 * matches. Frees the previous *WHERE. */
static inline size_t stack_scan(struct ft *t, const struct hv_scan_for *wanted,
				const struct hv_vcpu_regs regs[FK_NR_CPUS], char **where)
{
	size_t nr = 12345;
	struct hv_err *err;

	free(*where);
	*where = NULL;
	err = hv_stacks_scan(&t->f.k, wanted, regs, FK_NR_CPUS, &nr, where);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert((nr == 0) == (*where == NULL));
	return nr;
}
