/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may come between two instructions of a call of the task cat, in the world of a stub on an
 * emulated CPU: interrupts and other tasks, each of which calls the other traced function, and a
 * move to the other vCPU. Afterwards cat's registers are as before. False: the CPU cannot. Leaves
 * to others: running the call up to there (world.h), what must be recorded. */
#pragma once

#include "tests/lib/emulated/world.h"

typedef bool emu_disturbance(struct emu_world *w);

/* An interrupt whose handler stays on the stack. */
emu_disturbance emu_interrupt;
/* Likewise, and it is itself interrupted in the other function: two calls at once. */
emu_disturbance emu_interrupt_twice;
/* An interrupt whose handler has a stack of its own, and uses all of it. */
emu_disturbance emu_interrupt_elsewhere;
/* The task dd runs on this vCPU. */
emu_disturbance emu_switch_tasks;
/* Likewise, and cat goes on on the other vCPU. */
emu_disturbance emu_migrate;
