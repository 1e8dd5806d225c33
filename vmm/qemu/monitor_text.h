/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the human monitor's output about host addresses and vCPUs, and lines of /proc/PID/maps.
 * Pure: text in, values out. Unknown lines are skipped. Checked against QEMU 7.2 (monitor/misc.c
 * hmp_gpa2hva). memory_tree.h decodes the memory tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

/* TEXT is the output of `gpa2hva ADDR`. *RET_NAME is the name of the memory region; the caller
 * frees it. Returns false if the VMM has no memory at that address. */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva, char **ret_name);

/* TEXT is the output of `gva2gpa ADDR`. Returns false if the vCPU has nothing mapped there. */
bool hv_gva2gpa_parse(const char *text, struct hv_gpa *ret);

/* *AT points into the output of `info registers -a`. Copies the part of the next vCPU, without its
 * heading, to *RET, which the caller frees, and advances *AT to its end. vCPU numbers can have gaps
 * after an unplug. Returns false at the end. */
bool hv_vcpu_text_next(const char **at, char **ret);
/* Longer parts are truncated. */
#define HV_VCPU_TEXT_MAX_BYTES (256u << 10)
