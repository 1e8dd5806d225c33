/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The emulated CPU of a world, as each architecture implements it
 * (tests/lib/emulated/<arch>/cpu.c). Only world.c calls this. An error of libunicorn is a failed
 * assertion. */
#pragma once

#include "tests/lib/emulated/world.h"

/* libunicorn's engine, which the caller closes. */
void *emu_cpu_open(void);
/* Makes the CPU ready when the block is mapped. */
void emu_cpu_prepare(struct emu_world *w);
/* Sets what W does not change when a function is called. */
void emu_cpu_set_up(struct emu_world *w);
/* Puts the holes of this architecture alone into the values. */
void emu_cpu_add_values(struct hv_stub_values *ret);

/* libunicorn's numbers of general register X (0..EMU_NR_REGS - 1) and of the program counter. */
int emu_cpu_reg(unsigned x);
int emu_cpu_pc(void);
uint64_t emu_cpu_get_reg(struct emu_world *w, int number);
void emu_cpu_set_reg(struct emu_world *w, int number, uint64_t value);
uint64_t emu_cpu_get_flags(struct emu_world *w);
void emu_cpu_set_flags(struct emu_world *w, uint64_t flags);
/* The address of the current task. */
uint64_t emu_cpu_get_current(struct emu_world *w);
void emu_cpu_set_current(struct emu_world *w, uint64_t task_gva);

/* Registers as a caller has them, whose values are already distinct. */
void emu_cpu_enter(struct emu_world *w, struct emu_regs *regs);

/* Whether libunicorn cannot execute the instruction at PC; and does it in its place. */
bool emu_cpu_lacks(const struct emu_world *w, uint64_t pc);
void emu_cpu_execute(struct emu_world *w);

/* Makes the function at OFF, which calls the stubs' byte TO and returns its second argument. */
void emu_cpu_make_function(const struct emu_world *w, uint64_t off, uint64_t to);
