/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the functions at offsets of an ELF file of 64 bits, and its build id. The file may be
 * incomplete, change during the read, and contain anything: each part is copied once and checked,
 * loops are bounded, and a function is named only if a symbol with a size contains the offset.
 * Symbols without a size are ignored. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HV_ELF_NAME_MAX	    256
#define HV_ELF_BUILD_ID_MAX 32

/* A file. READ returns false if not all of [OFF, OFF + LEN) can be read. */
struct hv_elf_file {
	bool (*read)(void *ctx, uint64_t off, void *buf, size_t len_bytes);
	void *ctx;
	uint64_t len_bytes;
};

/* An offset, and the function there. */
struct hv_elf_place {
	uint64_t off;
	uint64_t vaddr; /* its address in the file's own numbers; 0: not mapped by the file */
	uint64_t start; /* vaddr of the function */
	char *name;	/* owned, untrusted; NULL: no function is known */
};

/* Sets VADDR, START and NAME of each element of LIST. The caller has set OFF and zeroed the
 * others. */
void hv_elf_find_functions(const struct hv_elf_file *f, struct hv_elf_place *list, size_t nr);
/* Sets START and NAME of each element of LIST whose VADDR is set, from the symbols of F, which may
 * be a file with debug information for the file of LIST. Keeps names. */
void hv_elf_find_functions_at(const struct hv_elf_file *f, struct hv_elf_place *list, size_t nr);
/* Returns the length of the build id, or 0 without one. */
size_t hv_elf_build_id(const struct hv_elf_file *f, uint8_t ret[HV_ELF_BUILD_ID_MAX]);
