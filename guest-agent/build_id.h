/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build id of an ELF file: the contents of its note NT_GNU_BUILD_ID, by which a debugger finds
 * the file that was mapped. Files are of anybody who can run a program in the guest and may be
 * anything: all that is read is bounded. Leaves to others: which files (maps.h). */
#pragma once

#define BUILD_ID_MAX 32 /* bytes; a longer one is none */

/* Reads from FD, which is a regular file, without moving its offset. Returns the number of bytes in
 * ID. 0: it has none, or is no ELF file of this machine's byte order. */
unsigned build_id_read(int fd, unsigned char id[BUILD_ID_MAX]);
