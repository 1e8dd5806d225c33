/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the victim of injected calls does, for each architecture of a host. */
#pragma once

#include <stdbool.h>

/* Fills registers and the FPU, reads a byte from FD in a system call of its own, which waits until
 * there is one, and looks whether all of them are as before. */
bool round_keeps_registers(int fd);
