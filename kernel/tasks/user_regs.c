/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tasks/user_regs.h"

#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"

#define FREE_MAX   32 /* maximum number of free bytes after the registers */
#define WORD	   8
#define NR_PLACES  (FREE_MAX / WORD + 1)
#define REGS_MAX   512
#define TASKS_SEEN 1024

/* Counts, for each number of free words, the stacks that have registers there. */
static void look_at(const struct hv_kernel *k, const struct hv_task *task,
		    size_t counts[static NR_PLACES])
{
	uint32_t regs_bytes = k->core.as.arch->user_regs_bytes;
	uint8_t bytes[REGS_MAX + FREE_MAX];
	uint32_t len = regs_bytes + FREE_MAX;
	struct hv_err *err;

	if (task->stack.end.v - task->stack.start.v < len)
		return;
	err = hv_read(&k->core.as, hv_gva(task->stack.end.v - len), bytes, len);
	for (unsigned i = 0; !err && i < NR_PLACES; i++)
		counts[i] += k->core.as.arch->are_user_regs(
			(struct hv_span){bytes + FREE_MAX - i * WORD, regs_bytes});
	hv_err_free(err);
}

/* A program controls the words below its registers, but no words after them. So the place nearest
 * to the end that any stack shows is the right one. */
struct hv_err *hv_user_regs_find(struct hv_kernel *k, uint32_t *ret_off)
{
	uint32_t regs_bytes = k->core.as.arch->user_regs_bytes;
	size_t counts[NR_PLACES] = {0};
	struct hv_tasks tasks;
	struct hv_err *err;

	*ret_off = 0;
	if (!regs_bytes || regs_bytes > REGS_MAX)
		return NULL;
	err = hv_tasks_read(k, &tasks);
	if (err)
		return err;
	for (size_t i = 0; i < tasks.nr && i < TASKS_SEEN; i++)
		look_at(k, &tasks.list[i], counts);
	hv_tasks_deinit(&tasks);
	for (unsigned i = 0; i < NR_PLACES; i++) {
		if (!counts[i])
			continue;
		*ret_off = k->layout.stack_bytes - regs_bytes - i * WORD;
		return NULL;
	}
	return NULL;
}
