/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of an ELF file that the user provides, for vmlinux.h and btf_file.h. The file is
 * untrusted; libelf checks that sections are in the file. Private to kernel/. */
#pragma once

#include <gelf.h>

#include "base/bytes.h"

/* Returns the section's bytes, borrowed from libelf; empty if they are not in the file. */
struct hv_span hv_elf_bytes(Elf_Scn *scn);
/* Copies the build id (NT_GNU_BUILD_ID) of a section of notes. Returns its length, or 0 if the
 * section has none. */
size_t hv_elf_build_id(Elf_Scn *scn, uint8_t ret[32]);
