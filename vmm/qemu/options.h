/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's command line. Pure: text in, values out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vmm/process/process.h"

/* The value of KEY in a QEMU option "type,key=value,..", where ",," is a comma. The caller frees
 * it; NULL: none. IMPLIED (may be NULL) is the key of a first part without "=". */
char *hv_option_value(const char *option, const char *key, const char *implied);

/* Decodes a size as options have it ("4G", "524288k"; MiB without a unit). False: TEXT is not a
 * size. */
bool hv_size_parse(const char *text, uint64_t *ret);

/* The path of the QMP socket in the arguments, on which the process listens. The caller frees it;
 * NULL: none. A relative path is made absolute by the process's working directory. */
char *hv_process_qmp_path(const struct hv_process *p);
