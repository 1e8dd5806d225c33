/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members of struct task_struct that tasks.c and stacks.c read. Private to kernel/. */
#pragma once

#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"

struct hv_task_layout {
	uint32_t len_bytes; /* size of the part of task_struct that is copied */
	uint32_t tasks, thread_node, signal, pid, tgid, comm, stack, sp;
	uint32_t thread_head; /* offset in struct signal_struct */
};

struct hv_err *hv_task_layout_find(const struct hv_kernel *k,
				   struct hv_task_layout *ret) hv_must_use;
struct hv_err *hv_task_read_one(const struct hv_kernel *k, const struct hv_task_layout *l,
				struct hv_gva at, struct hv_task *ret) hv_must_use;
