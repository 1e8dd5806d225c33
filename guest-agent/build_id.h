/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the build id of an ELF file, the contents of its NT_GNU_BUILD_ID note. Debuggers use it to
 * find the file that a process mapped.
 *
 * Any user of the guest can map a crafted file, so every read is bounded. The caller chooses the
 * files (round.h). */
#pragma once

#define BUILD_ID_MAX 32 /* bytes; longer build ids are ignored */

/* Reads the build id of the regular file FD without moving its offset. Returns the number of bytes
 * stored in ID, or 0 if FD has no build id or is not an ELF file in the byte order of this
 * machine. */
unsigned build_id_read(int fd, unsigned char id[BUILD_ID_MAX]);
