/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the riscv64 kernel table, grouped by source file. */
#pragma once

#include "kernel/arch/kernel_arch.h"

/* reach.c */
struct hv_err *riscv64_find_reach(const struct hv_kernel_core *core,
				  struct hv_reach *ret) hv_must_use;
