/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work of the process that receives injected calls, per host architecture. */
#pragma once

#include <stdbool.h>

/* Fills the registers and the FPU, reads a byte from FD in a system call that blocks until there is
 * one, and returns whether all registers are unchanged. */
bool round_keeps_registers(int fd);
