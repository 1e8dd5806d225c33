/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Crowds: tasks that wait for each other's vCPUs. Two tasks are in one crowd if one of them waits
 * while the other one runs, and that one has to wait, too. A task that others wait for and that
 * never waits itself is no crowd: it alone is the cause.
 * Leaves to others: which waits are looked at (verdict.c). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_crowd_task;

/* Zero-initialised is empty. */
struct hv_crowds {
	struct hv_crowd_task *list; /* owned; sorted by pid after hv_crowds_join() */
	size_t nr, nr_max;
	uint32_t (*waits)[2]; /* owned: the task that waits, the task that ran */
	size_t nr_waits, nr_waits_max;
};

void hv_crowds_deinit(struct hv_crowds *c);
/* The task PID waited while BY ran. Neither is 0. */
void hv_crowds_add(struct hv_crowds *c, uint32_t pid, uint32_t by);
/* Finds the crowds. To be called once, after the last wait was added. */
void hv_crowds_join(struct hv_crowds *c);
/* Returns the crowd in which PID waits for BY, named by one of its tasks, or 0 if there is none. */
uint32_t hv_crowds_of(const struct hv_crowds *c, uint32_t pid, uint32_t by);
size_t hv_crowds_size(const struct hv_crowds *c, uint32_t crowd);
