/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/minivm/image.h"

#include <asm/bootparam.h>
#include <elf.h>
#include <string.h>

#define SETUP_OFF	0x1f1u
#define JUMP_END	0x202u /* end of the jump over the header; its last byte is the distance */
#define VERSION_MIN	0x020c /* since Linux 3.8; the first with xloadflags */
#define ENTRY_64_OFF	0x200
#define ADDRESS_MAX	(UINT64_C(1) << 46)
#define IMAGE_MAX_BYTES (UINT64_C(1) << 30)
#define CMDLINE_ELF_MAX 2047 /* COMMAND_LINE_SIZE of x86 */
#define INITRD_ELF_END	UINT64_C(0x80000000)

static struct hv_err *no_kernel(const char *why)
{
	return hv_err_new(ENOEXEC, "%s", why);
}

static bool has_magic(struct hv_span file, uint64_t off, const char *magic, size_t len)
{
	return hv_span_has(file, off, len) && !memcmp(file.data + off, magic, len);
}

static struct hv_err *parse_bzimage(struct hv_span file, struct hv_minivm_image *ret)
{
	struct setup_header h = {0};
	uint64_t off, len;
	size_t header_len;

	if (file.len_bytes < SETUP_OFF + sizeof(h) + UINT8_MAX)
		return no_kernel("cut off: a bzImage has a longer header");
	memcpy(&h, file.data + SETUP_OFF, sizeof(h));
	header_len = JUMP_END + file.data[JUMP_END - 1] - SETUP_OFF;
	if (h.version < VERSION_MIN)
		return hv_err_new(ENOEXEC, "boot protocol %u.%02u: 2.12 or later is needed",
				  h.version >> 8, h.version & 0xff);
	if (!(h.xloadflags & XLF_KERNEL_64))
		return no_kernel("a kernel without a 64-bit entry point, as of 32-bit x86");
	off = ((h.setup_sects ? h.setup_sects : 4) + UINT64_C(1)) * 512;
	if (off >= file.len_bytes)
		return no_kernel("cut off: the file ends before the kernel in it");
	len = file.len_bytes - off;
	if (h.syssize * UINT64_C(16) > len + 15)
		return hv_err_new(ENOEXEC, "cut off: %llu of %llu bytes of kernel",
				  (unsigned long long)len, h.syssize * 16ull);
	if (h.pref_address < 0x100000 || h.pref_address > ADDRESS_MAX ||
	    h.init_size > IMAGE_MAX_BYTES || len > IMAGE_MAX_BYTES)
		return hv_err_new(ENOEXEC, "it asks for %u bytes at 0x%llx, where no memory can be",
				  h.init_size, (unsigned long long)h.pref_address);
	*ret = (struct hv_minivm_image){
		.pieces = {{off, len, len, hv_gpa(h.pref_address)}},
		.nr_pieces = 1,
		.start = hv_gpa(h.pref_address),
		.end = hv_gpa(h.pref_address + (h.init_size > len ? h.init_size : len)),
		.entry = hv_gpa(h.pref_address + ENTRY_64_OFF),
		.initrd_end = h.initrd_addr_max + UINT64_C(1),
		.cmdline_max = h.cmdline_size,
		.setup_header = {file.data + SETUP_OFF, header_len},
	};
	return NULL;
}

static struct hv_err *add_segment(struct hv_span file, const Elf64_Phdr *p,
				  struct hv_minivm_image *image)
{
	if (p->p_type != PT_LOAD || !p->p_memsz)
		return NULL;
	if (image->nr_pieces == HV_MINIVM_PIECES_MAX)
		return no_kernel("an ELF file with too many segments");
	if (p->p_filesz > p->p_memsz || p->p_paddr < 0x100000 || p->p_paddr > ADDRESS_MAX ||
	    p->p_memsz > IMAGE_MAX_BYTES)
		return hv_err_new(ENOEXEC,
				  "an ELF file with a segment of 0x%llx bytes at 0x%llx, where no "
				  "memory can be",
				  (unsigned long long)p->p_memsz, (unsigned long long)p->p_paddr);
	if (!hv_span_has(file, p->p_offset, p->p_filesz))
		return no_kernel("cut off: the file ends before the end of a segment");
	image->pieces[image->nr_pieces++] =
		(struct hv_minivm_piece){p->p_offset, p->p_filesz, p->p_memsz, hv_gpa(p->p_paddr)};
	if (p->p_paddr < image->start.v)
		image->start = hv_gpa(p->p_paddr);
	if (p->p_paddr + p->p_memsz > image->end.v)
		image->end = hv_gpa(p->p_paddr + p->p_memsz);
	return NULL;
}

static struct hv_err *parse_elf(struct hv_span file, struct hv_minivm_image *ret)
{
	struct hv_minivm_image image = {
		.start = hv_gpa(UINT64_MAX),
		.initrd_end = INITRD_ELF_END,
		.cmdline_max = CMDLINE_ELF_MAX,
	};
	struct hv_err *err = NULL;
	Elf64_Ehdr e;
	Elf64_Phdr p;

	if (file.len_bytes < sizeof(e))
		return no_kernel("cut off: an ELF file has a longer header");
	memcpy(&e, file.data, sizeof(e));
	if (e.e_ident[EI_CLASS] == ELFCLASS32)
		return no_kernel("a 32-bit ELF file: an x86-64 kernel is needed");
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
	    e.e_machine != EM_X86_64)
		return hv_err_new(ENOEXEC,
				  "an ELF file of another architecture (machine %u), not x86-64",
				  e.e_machine);
	if (e.e_type != ET_EXEC || e.e_phentsize != sizeof(p))
		return no_kernel(
			"an ELF file, but not a kernel: it is not linked to a fixed address");
	for (unsigned i = 0; !err && i < e.e_phnum; i++) {
		if (!hv_span_has(file, e.e_phoff, (i + UINT64_C(1)) * sizeof(p)))
			return no_kernel(
				"cut off: the file ends before the end of its program headers");
		memcpy(&p, file.data + e.e_phoff + i * sizeof(p), sizeof(p));
		err = add_segment(file, &p, &image);
	}
	if (err)
		return err;
	image.entry = hv_gpa(e.e_entry);
	if (e.e_entry < image.start.v || e.e_entry >= image.end.v)
		return hv_err_new(
			ENOEXEC,
			"an ELF file, but not a kernel: its entry point 0x%llx is not in it",
			(unsigned long long)e.e_entry);
	*ret = image;
	return NULL;
}

struct hv_err *hv_minivm_image_parse(struct hv_span file, struct hv_minivm_image *ret)
{
	if (has_magic(file, 0, ELFMAG, SELFMAG))
		return parse_elf(file, ret);
	if (has_magic(file, 0x202, "HdrS", 4) && has_magic(file, 0x1fe, "\x55\xaa", 2))
		return parse_bzimage(file, ret);
	if (has_magic(file, 0, "\x1f\x8b", 2))
		return no_kernel("not a kernel: neither a bzImage nor an ELF vmlinux, but "
				 "compressed by gzip");
	if (has_magic(file, 0x38, "ARMd", 4))
		return no_kernel("a kernel of another architecture: arm64, not x86-64");
	if (has_magic(file, 0x38, "RSC\5", 4))
		return no_kernel("a kernel of another architecture: riscv, not x86-64");
	return no_kernel("not a kernel: neither a bzImage nor an ELF vmlinux");
}
