/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disturbances between two instructions of a call by the task cat on an emulated CPU: interrupts
 * and other tasks, which call the other traced function, and a migration to the other vCPU.
 *
 * cat's registers are restored afterwards. Each function returns false if the CPU cannot execute
 * the code. The caller runs the call up to the instruction (world.h) and checks the records. */
#pragma once

#include "tests/lib/emulated/world.h"

typedef bool emu_disturbance(struct emu_world *w);

/* An interrupt whose handler uses the task's stack. */
emu_disturbance emu_interrupt;
/* Like emu_interrupt(), and a second interrupt arrives in the other function: two nested calls. */
emu_disturbance emu_interrupt_twice;
/* An interrupt whose handler has a separate stack and uses all of it. */
emu_disturbance emu_interrupt_elsewhere;
/* The task dd runs on this vCPU. */
emu_disturbance emu_switch_tasks;
/* The task dd runs on this vCPU, and cat continues on the other vCPU. */
emu_disturbance emu_migrate;
