/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stack contents of an arm64 kernel. */
#include "tests/lib/emulated/world.h"

uint64_t emu_chain(const struct emu_world *w, unsigned stack, uint64_t fp, unsigned first,
		   unsigned nr)
{
	(void)stack;
	for (unsigned i = 0; i < nr; i++, fp += EMU_FRAME)
		*emu_record(w, fp) = (struct emu_record){.next = fp + EMU_FRAME,
							 .caller = emu_caller(first + i)};
	*emu_record(w, fp) = (struct emu_record){0};
	emu_record(w, fp)[1] = (struct emu_record){0};
	return fp;
}

void emu_enter_interrupt(struct emu_world *w)
{
	struct emu_tasks *tasks = emu_tasks(w);
	uint64_t end = emu_chain(w, 0, emu_chain_start(0), 0, 3);

	*emu_record(w, end) =
		(struct emu_record){.next = emu_chain_start(1), .caller = emu_caller(3)};
	emu_chain(w, 1, emu_chain_start(1), 4, 5);
	tasks->irq_stack = tasks->cat.stack;
	tasks->cat.stack = tasks->dd.stack;
}
