/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes what QEMU's human monitor prints of host addresses and vCPUs, and lines of
 * /proc/PID/maps. Pure: text in, values out. A line that is not understood is skipped. Checked
 * against QEMU 7.2 (monitor/misc.c hmp_gpa2hva). Leaves to others: the memory tree (memory_tree.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

/* TEXT is the output of `gpa2hva ADDR`. *RET_NAME is the name of the memory region; the caller
 * frees it. False: the VMM has no memory for that address. */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva, char **ret_name);

/* TEXT is the output of `gva2gpa ADDR`. False: the vCPU has nothing mapped there. */
bool hv_gva2gpa_parse(const char *text, struct hv_gpa *ret);

/* *AT is in the output of `info registers -a`. Copies the part of the next vCPU, without its
 * heading, to *RET, which the caller frees, and moves *AT to its end. The vCPUs' own numbers may
 * have gaps, where one was unplugged. False: there is none. */
bool hv_vcpu_text_next(const char **at, char **ret);
/* A longer part is cut off. */
#define HV_VCPU_TEXT_MAX_BYTES (256u << 10)
