/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The emulated CPU of a world. Each architecture implements it in tests/lib/emulated/<arch>/cpu.c.
 * Only world.c calls these functions. A libunicorn error is a failed assertion. */
#pragma once

#include "tests/lib/emulated/world.h"

/* Returns a libunicorn engine. The caller closes it. */
void *emu_cpu_open(void);
/* Prepares the CPU. The block must be mapped. */
void emu_cpu_prepare(struct emu_world *w);
/* Sets up the state that calls of functions leave unchanged. */
void emu_cpu_set_up(struct emu_world *w);
/* Fills in the holes that only this architecture has. */
void emu_cpu_add_values(struct hv_trampoline_values *ret);

/* Return libunicorn's numbers of general register X (0..EMU_NR_REGS - 1) and of the program
 * counter. */
int emu_cpu_reg(unsigned x);
int emu_cpu_pc(void);
uint64_t emu_cpu_get_reg(struct emu_world *w, int number);
void emu_cpu_set_reg(struct emu_world *w, int number, uint64_t value);
uint64_t emu_cpu_get_flags(struct emu_world *w);
void emu_cpu_set_flags(struct emu_world *w, uint64_t flags);
uint64_t emu_cpu_get_current(struct emu_world *w);
void emu_cpu_set_current(struct emu_world *w, uint64_t task_gva);

/* Completes REGS, whose general registers already have distinct values, as at a call. */
void emu_cpu_enter(struct emu_world *w, struct emu_regs *regs);

/* Returns true if libunicorn cannot execute the instruction at PC. emu_cpu_execute() emulates that
 * instruction. */
bool emu_cpu_lacks(const struct emu_world *w, uint64_t pc);
void emu_cpu_execute(struct emu_world *w);

/* Writes the function at OFF, which calls offset TO of the trampolines and returns its second
 * argument. */
void emu_cpu_make_function(const struct emu_world *w, uint64_t off, uint64_t to);
