/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest-agent/build_id.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS_MAX 128
#define NOTES_BYTES  8192 /* read at most this much of a note segment */
#define OWNER	     "GNU"

/* The fields of a 32-bit or 64-bit program header that this file needs. */
struct segment {
	uint32_t type;
	uint64_t offset, len_bytes, align_bytes;
};

/* The location of the program header table. */
struct table {
	int is_64;
	uint64_t offset;
	unsigned nr, entry_bytes;
};

static int read_all(int fd, void *to, size_t len, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, len, (off_t)offset) == (ssize_t)len;
}

static int is_elf(const unsigned char *ident)
{
	const uint16_t one = 1;
	int is_little = *(const unsigned char *)&one == 1;

	return memcmp(ident, ELFMAG, SELFMAG) == 0 &&
	       ident[EI_DATA] == (is_little ? ELFDATA2LSB : ELFDATA2MSB);
}

static int read_table(int fd, struct table *ret)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr h32;
		Elf64_Ehdr h64;
	} head = {0};

	if (!read_all(fd, head.ident, sizeof(head.ident), 0) || !is_elf(head.ident))
		return 0;
	ret->is_64 = head.ident[EI_CLASS] == ELFCLASS64;
	if (!read_all(fd, &head, ret->is_64 ? sizeof(head.h64) : sizeof(head.h32), 0))
		return 0;
	ret->offset = ret->is_64 ? head.h64.e_phoff : head.h32.e_phoff;
	ret->nr = ret->is_64 ? head.h64.e_phnum : head.h32.e_phnum;
	ret->entry_bytes = ret->is_64 ? head.h64.e_phentsize : head.h32.e_phentsize;
	return ret->nr <= SEGMENTS_MAX &&
	       ret->entry_bytes == (ret->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
}

static int read_segment(int fd, const struct table *t, unsigned i, struct segment *ret)
{
	union {
		Elf32_Phdr p32;
		Elf64_Phdr p64;
	} p;

	if (t->offset > INT64_MAX ||
	    !read_all(fd, &p, t->entry_bytes, t->offset + (uint64_t)i * t->entry_bytes))
		return 0;
	if (t->is_64)
		*ret = (struct segment){p.p64.p_type, p.p64.p_offset, p.p64.p_filesz,
					p.p64.p_align};
	else
		*ret = (struct segment){p.p32.p_type, p.p32.p_offset, p.p32.p_filesz,
					p.p32.p_align};
	return 1;
}

static size_t aligned(size_t at, size_t align)
{
	return (at + align - 1) / align * align;
}

/* Returns the length of the build id in NOTES, or 0. A note consists of a header, the owner's name
 * and the contents; each of the three starts at a multiple of ALIGN. */
static unsigned find_note(const unsigned char *notes, size_t len, size_t align,
			  unsigned char id[BUILD_ID_MAX])
{
	Elf64_Nhdr n; /* 32-bit files use the same layout */

	for (size_t at = 0; at < len && len - at >= sizeof(n);) {
		size_t name = at + sizeof(n), desc;

		memcpy(&n, notes + at, sizeof(n));
		if (n.n_namesz > len - name)
			return 0;
		desc = aligned(name + n.n_namesz, align);
		if (desc > len || n.n_descsz > len - desc)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == sizeof(OWNER) &&
		    memcmp(notes + name, OWNER, sizeof(OWNER)) == 0) {
			if (n.n_descsz > BUILD_ID_MAX)
				return 0;
			memcpy(id, notes + desc, n.n_descsz);
			return n.n_descsz;
		}
		at = aligned(desc + n.n_descsz, align);
	}
	return 0;
}

unsigned build_id_read(int fd, unsigned char id[BUILD_ID_MAX])
{
	unsigned char notes[NOTES_BYTES];
	struct table table;
	struct segment s;
	unsigned nr = 0;

	if (!read_table(fd, &table))
		return 0;
	for (unsigned i = 0; !nr && i < table.nr && read_segment(fd, &table, i, &s); i++) {
		size_t len = s.len_bytes < sizeof(notes) ? (size_t)s.len_bytes : sizeof(notes);

		if (s.type == PT_NOTE && read_all(fd, notes, len, s.offset))
			nr = find_note(notes, len, s.align_bytes == 8 ? 8 : 4, id);
	}
	return nr;
}
