/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/derive/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "kernel/core/fields.h"

#define COMM_BYTES 16u
#define SWAPPER	   "swapper"
#define LISTS_MAX  64u /* members of init_task that may be the list */
#define TASKS_MAX  500000u
#define FIRST_MAX  48u /* samples from the start of the list; the rest is from its end */

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

/* Returns whether the links at OFF of the last task that was copied lead to another task, which
 * leads back. */
static bool leads_to_task(const struct hv_kernel_core *core, const struct hv_samples *s,
			  uint32_t off, uint64_t at, uint64_t before)
{
	uint64_t back = 0;
	uint8_t comm[COMM_BYTES];
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (at % 8 || at < core->as.arch->kernel_start(core->as.levels).v)
		return false;
	err = hv_read_u64(&core->as, hv_gva(at + 8), &back);
	if (!err)
		err = hv_read(&core->as, hv_gva(at - off + s->comm), comm, sizeof(comm));
	return !err && back == before && is_comm((struct hv_span){comm, sizeof(comm)}, 0);
}

/* Walks the list at OFF. Returns the number of tasks in it besides init_task; 0: it is not a list
 * of tasks that leads back. With RET, copies the first tasks and the last ones. */
static unsigned walk(const struct hv_kernel_core *core, struct hv_samples *s, uint32_t off,
		     unsigned nr_tasks)
{
	uint64_t head = s->list[0].at.v + off, before = head, at = 0;
	unsigned nr = 0;

	if (!hv_span_u64(s->list[0].copy, off, &at) || at == head)
		return 0;
	while (at != head) {
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (nr == TASKS_MAX || hv_cancel_now(nr) ||
		    !leads_to_task(core, s, off, at, before))
			return 0;
		nr++;
		if (nr_tasks && s->nr < HV_SAMPLES_MAX &&
		    (nr <= FIRST_MAX || nr + HV_SAMPLES_MAX - FIRST_MAX > nr_tasks))
			err = copy_task(core, s, hv_gva(at - off));
		before = at;
		if (!err)
			err = hv_read_u64(&core->as, hv_gva(at), &at);
		if (err)
			return 0;
	}
	return nr;
}

static struct hv_err *find_list(const struct hv_kernel_core *core, struct hv_samples *s)
{
	unsigned nr_found = 0, nr_tasks = 0;

	for (uint32_t off = 0; off + 16 <= s->bytes_per_task; off += 8) {
		unsigned nr = walk(core, s, off, 0);

		if (nr < 2)
			continue;
		nr_tasks = nr;
		s->tasks = off;
		nr_found++;
	}
	if (nr_found != 1)
		return hv_err_new(ENOENT,
				  nr_found ? "struct task_struct: %u members of init_task may be "
					     "the list of all tasks"
					   : "struct task_struct: no member of init_task leads to "
					     "all tasks",
				  nr_found);
	if (walk(core, s, s->tasks, nr_tasks) < 2 || s->nr < 3)
		return hv_err_new(ENOENT, "the list of all tasks changes too fast");
	return NULL;
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
	err = copy_task(core, &s, init);
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
