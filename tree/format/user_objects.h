/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names addresses in user stacks by the files that their processes have mapped, for the option
 * sym-userobj (seq_print_user_ip() in kernel/trace/trace_output.c). As in the kernel, a process is
 * looked up when the line is printed: if it has ended, only addresses are shown. Its mappings are
 * kept for a tenth of a second. kernel/programs/program.h reads them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct hv_kernel;
struct hv_user_objects;

/* Borrows K. Reads nothing yet. */
struct hv_user_objects *hv_user_objects_new(struct hv_kernel *k) hv_must_use;
void hv_user_objects_free(struct hv_user_objects *o);

/* Adds "PATH[+0xOFFSET]" for ADDRESS in process TGID: OFFSET is its distance from the start of the
 * mapping. Returns false and adds nothing if no file is mapped there as code. */
bool hv_user_objects_add(struct hv_user_objects *o, struct hv_text *out, uint32_t tgid,
			 uint64_t address);
