/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of a function with registers of one's choice, to see what it makes of them. x86-64. */
#pragma once

#include <stdint.h>

/* %rbx, %rcx, %rdx, %rsi, %rdi, %rbp, %r8, %r9, %r12 to %r15 */
#define REGS_CALL_NR 12

/* Calls FUNCTION with the registers IN; OUT is what they are afterwards, and then the address of
 * the stack word with the return address, and that address itself. */
void regs_call(uint64_t function, const uint64_t *in, uint64_t *out);
