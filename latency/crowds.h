/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Crowds: groups of tasks that wait for each other's vCPUs.
 *
 * Two tasks belong to one crowd if one waits while the other runs, and the other also has to wait
 * at some time. A task that makes others wait but never waits itself is not part of a crowd: it
 * alone is the cause.
 *
 * verdict.c chooses the waits. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_crowd_task;

/* Zero-initialised is empty. */
struct hv_crowds {
	struct hv_crowd_task *list; /* owned; sorted by pid after hv_crowds_join() */
	size_t nr, nr_max;
	uint32_t (*waits)[2]; /* owned: pid of the waiting task, pid of the running task */
	size_t nr_waits, nr_waits_max;
};

void hv_crowds_deinit(struct hv_crowds *c);
/* Task PID waited while BY ran. Neither is 0. */
void hv_crowds_add(struct hv_crowds *c, uint32_t pid, uint32_t by);
/* Finds the crowds. Call it once, after the last hv_crowds_add(). */
void hv_crowds_join(struct hv_crowds *c);
/* Returns the pid that names the crowd in which PID waits for BY, or 0. A crowd is named after one
 * of its tasks. */
uint32_t hv_crowds_of(const struct hv_crowds *c, uint32_t pid, uint32_t by);
size_t hv_crowds_size(const struct hv_crowds *c, uint32_t crowd);
