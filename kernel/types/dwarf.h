/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the DWARF of a vmlinux into BTF, so that no other code reads DWARF: structures, unions, enums
 * and the functions that have code, with the types that they use. Compilers repeat types in each
 * compilation unit; one definition of each name and size is kept. Read with libdw. The file is
 * untrusted: the number of steps and the sizes are limited. Private to kernel/. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HV_DWARF_TYPES_MAX 4000000u /* a distribution's kernel has some 200,000 */

/* Reads the ELF file FD, which is borrowed. Sets *RET, which the caller frees. Fails with ENOEXEC if
 * the DWARF is damaged, has no types or more than TYPES_MAX. */
struct hv_err *hv_dwarf_to_btf(int fd, size_t types_max, uint8_t **ret,
			       size_t *ret_len_bytes) hv_must_use;
