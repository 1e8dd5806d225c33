/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls a function with given registers and returns the registers after it. x86-64. */
#pragma once

#include <stdint.h>

/* %rbx, %rcx, %rdx, %rsi, %rdi, %rbp, %r8, %r9, %r12 to %r15 */
#define REGS_CALL_NR 12

/* Calls FUNCTION with the registers IN. OUT receives the registers afterwards, then the address of
 * the stack word with the return address, and the return address itself. */
void regs_call(uint64_t function, const uint64_t *in, uint64_t *out);
