/* Tasks of the guest, threads included, walked through the kernel's lists (hostile and moving:
 * bounded, each structure copied once). */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_task {
	struct hv_gva task;
	uint32_t pid; /* the kernel's global one: a thread's own */
	uint32_t tgid;
	char comm[16]; /* hostile, NUL-terminated */
	struct hv_gva_range stack; /* empty when the task has none (any more) */
	struct hv_gva sp; /* saved when it last slept */
};

struct hv_tasks {
	struct hv_task *list; /* owned */
	size_t nr;
};

/* The idle tasks of every CPU are included. */
struct hv_err *hv_tasks_read(struct hv_kernel *k, struct hv_tasks *ret) hv_must_use;
void hv_tasks_deinit(struct hv_tasks *t);

/* Looks for a value inside RANGE in the 8-byte words of every stack the kernel could return through:
 * task stacks, per-CPU interrupt, exception and entry stacks. *RET_FOUND counts words found,
 * *RET_WHERE (may be NULL) names the first: "task 71 (cat)", "cpu 0 irq stack". Meant for a held guest. */
struct hv_err *hv_stacks_scan(struct hv_kernel *k, struct hv_gva_range range, size_t *ret_found,
			      char **ret_where) hv_must_use;
