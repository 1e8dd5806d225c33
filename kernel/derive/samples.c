/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/derive/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "kernel/core/fields.h"

#define COMM_BYTES 16u
#define SWAPPER	   "swapper"
#define WALKS_MAX  3
#define TASKS_MAX  200000u /* in all lists that init_task may contain */
#define FIRST_MAX  48u	   /* samples from the start of the list */
#define LAST_MAX   (HV_SAMPLES_MAX - 1 - FIRST_MAX)

void hv_samples_deinit(struct hv_samples *s)
{
	free(s->bytes);
	*s = (struct hv_samples){0};
}

uint64_t hv_sample_number(const struct hv_sample *s, uint32_t off, unsigned len_bytes)
{
	return len_bytes == 8 ? hv_copy_u64(s->copy, off) : hv_copy_u32(s->copy, off);
}

/* Returns the room for init_task, up to the next symbol. */
static uint32_t find_bytes(const struct hv_kernel_core *core, struct hv_gva init)
{
	uint64_t room = hv_symbols_room(&core->symbols, init);

	return room > HV_SAMPLE_BYTES ? HV_SAMPLE_BYTES : (uint32_t)(room & ~7ull);
}

static bool is_comm(struct hv_span copy, uint32_t off)
{
	uint8_t c = 1;
	uint32_t i = 0;

	while (i < COMM_BYTES && hv_span_u8(copy, off + i, &c) && c) {
		if (c < 0x20 || c > 0x7e)
			return false;
		i++;
	}
	return i && i < COMM_BYTES && !c;
}

static bool find_comm(struct hv_span init, uint32_t *ret)
{
	const uint8_t *at = init.data, *found = NULL;
	unsigned nr = 0;

	while ((at = memmem(at, (size_t)(init.data + init.len_bytes - at), SWAPPER,
			    strlen(SWAPPER)))) {
		found = at++;
		nr++;
	}
	if (nr != 1 || !is_comm(init, (uint32_t)(found - init.data)))
		return false;
	*ret = (uint32_t)(found - init.data);
	return true;
}

static void take(struct hv_samples *s, struct hv_gva at)
{
	struct hv_sample *sample = &s->list[s->nr];

	sample->at = at;
	sample->copy =
		(struct hv_span){s->bytes + (size_t)s->nr * s->bytes_per_task, s->bytes_per_task};
	s->nr++;
}

static struct hv_err *copy_task(const struct hv_kernel_core *core, struct hv_samples *s,
				struct hv_gva at)
{
	struct hv_err *err = hv_read(&core->as, at, s->bytes + (size_t)s->nr * s->bytes_per_task,
				     s->bytes_per_task);

	if (!err)
		take(s, at);
	return err;
}

/* Returns whether AT is the list node at OFF in a task with a valid name, and its prev is BEFORE.
 * Stores its next. */
static bool leads_to_task(const struct hv_kernel_core *core, const struct hv_samples *s,
			  uint32_t off, uint64_t at, uint64_t before, uint64_t *ret_next)
{
	uint64_t links[2] = {0};
	uint8_t comm[COMM_BYTES];
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (at % 8 || at < core->as.arch->kernel_start(core->as.levels).v)
		return false;
	err = hv_read(&core->as, hv_gva(at), links, sizeof(links));
	if (err || links[1] != before)
		return false;
	*ret_next = links[0];
	err = hv_read(&core->as, hv_gva(at - off + s->comm), comm, sizeof(comm));
	return !err && is_comm((struct hv_span){comm, sizeof(comm)}, 0);
}

/* Walks the list at OFF. Returns the number of tasks in it besides init_task; 0: it is not a list
 * of tasks that leads back. Each step takes one from *BUDGET. */
static unsigned walk(const struct hv_kernel_core *core, const struct hv_samples *s, uint32_t off,
		     unsigned *budget)
{
	uint64_t head = s->list[0].at.v + off, before = head, at = 0;
	unsigned nr = 0;

	if (!hv_span_u64(s->list[0].copy, off, &at) || at == head)
		return 0;
	for (; at != head; nr++) {
		uint64_t next;

		if (!*budget || hv_cancel_now(*budget) ||
		    !leads_to_task(core, s, off, at, before, &next))
			return 0;
		(*budget)--;
		before = at;
		at = next;
	}
	return nr;
}

/* Copies up to NR tasks: from the first one of the list on if LINK, the offset of a link, is 0,
 * from the last one backwards if it is 8. Returns false if the list changed. */
static bool copy_tasks(const struct hv_kernel_core *core, struct hv_samples *s, uint32_t link,
		       unsigned nr)
{
	const uint64_t head = s->list[0].at.v + s->tasks;
	uint64_t before = head, at = hv_sample_number(&s->list[0], s->tasks + link, 8);

	for (; nr && at != head; nr--) {
		HV_AUTO_ERR struct hv_err *err = copy_task(core, s, hv_gva(at - s->tasks));
		const struct hv_sample *copied = &s->list[s->nr - 1];

		if (err || hv_sample_number(copied, s->tasks + 8 - link, 8) != before ||
		    !is_comm(copied->copy, s->comm))
			return false;
		before = at;
		at = hv_sample_number(copied, s->tasks + link, 8);
	}
	return true;
}

/* A guest can make each member of init_task a list, so all lists together are limited. */
static struct hv_err *find_list_once(const struct hv_kernel_core *core, struct hv_samples *s)
{
	unsigned nr_found = 0, nr_tasks = 0, budget = TASKS_MAX, nr_first, nr_last;
	struct hv_err *err;

	for (uint32_t off = 0; off + 16 <= s->bytes_per_task; off += 8) {
		unsigned nr = walk(core, s, off, &budget);

		if (nr < 2)
			continue;
		nr_tasks = nr;
		s->tasks = off;
		nr_found++;
	}
	err = hv_cancel_check();
	if (err)
		return err;
	if (!budget)
		return hv_err_new(ENOENT,
				  "struct task_struct: lists in init_task have more than %u tasks",
				  TASKS_MAX);
	if (nr_found != 1)
		return hv_err_new(ENOENT,
				  nr_found ? "struct task_struct: %u members of init_task may be "
					     "the list of all tasks"
					   : "struct task_struct: no member of init_task leads to "
					     "all tasks",
				  nr_found);
	nr_first = nr_tasks < FIRST_MAX ? nr_tasks : FIRST_MAX;
	nr_last = nr_tasks - nr_first < LAST_MAX ? nr_tasks - nr_first : LAST_MAX;
	if (!copy_tasks(core, s, 0, nr_first) || !copy_tasks(core, s, 8, nr_last) || s->nr < 3)
		return hv_err_new(ENOENT,
				  "struct task_struct: the list of all tasks keeps changing, or a "
				  "task in it cannot be read");
	return NULL;
}

/* The list changes while the guest runs. */
static struct hv_err *find_list(const struct hv_kernel_core *core, struct hv_samples *s)
{
	struct hv_err *err = find_list_once(core, s);

	for (unsigned i = 1; i < WALKS_MAX && err && err->code == ENOENT; i++) {
		hv_err_free(err);
		s->nr = 1;
		err = find_list_once(core, s);
	}
	return err;
}

/* Fails with ENOENT if init_task cannot be read. */
static struct hv_err *copy_init_task(const struct hv_kernel_core *core, struct hv_samples *s,
				     struct hv_gva init)
{
	HV_AUTO_ERR struct hv_err *err = copy_task(core, s, init);

	return err ? hv_err_new(ENOENT, "struct task_struct: init_task: %s", err->message) : NULL;
}

struct hv_err *hv_samples_read(const struct hv_kernel_core *core, struct hv_samples *ret)
{
	hv_cleanup(hv_samples_deinit) struct hv_samples s = {0};
	struct hv_gva init;
	struct hv_err *err = hv_core_need(core, "init_task", &init);

	if (err)
		return err;
	s.bytes_per_task = find_bytes(core, init);
	s.bytes = hv_alloc((size_t)HV_SAMPLES_MAX * s.bytes_per_task + 1);
	err = copy_init_task(core, &s, init);
	if (!err && !find_comm(s.list[0].copy, &s.comm))
		err = hv_err_new(ENOENT,
				 "struct task_struct: init_task has no name \"" SWAPPER "\"");
	if (!err)
		err = find_list(core, &s);
	if (err)
		return err;
	*ret = s;
	s.bytes = NULL;
	return NULL;
}
