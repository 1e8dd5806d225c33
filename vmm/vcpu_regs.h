/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Validates vCPU registers from another process, which may be hostile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns whether NR struct hv_vcpu_regs have valid booleans, enums and numbers of page-table
 * levels. REGS may contain any bytes. */
bool hv_vcpu_regs_are_sane(const void *regs, size_t nr);
