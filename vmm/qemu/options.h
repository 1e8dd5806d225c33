/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's command line. Pure: text in, values out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vmm/process/process.h"

/* Returns the value of KEY in a QEMU option "type,key=value,..", where ",," is a comma, or NULL.
 * The caller frees it. IMPLIED (may be NULL) is the key of a first part without "=". */
char *hv_option_value(const char *option, const char *key, const char *implied);

/* Decodes a size as in options ("4G", "524288k"; MiB without a unit). Returns false if TEXT is not
 * a size. */
bool hv_size_parse(const char *text, uint64_t *ret);

/* Returns the path of the QMP socket on which the process listens, from its arguments, or NULL. The
 * caller frees it. Makes a relative path absolute with the process's working directory. */
char *hv_process_qmp_path(const struct hv_process *p);
