/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads ELF without libelf, which allocates and reads tables of any length that the file names. */
#include "kernel/core/btf_copy.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX	65279u /* SHN_LORESERVE - 1 */
#define NAMES_BYTES_MAX (1u << 20)
#define NOTES_BYTES_MAX (64u << 10)
#define PART_BYTES	(1u << 20)

/* Where the parts of a file are. */
struct parts {
	uint64_t btf_off, btf_len_bytes;
	struct hv_btf_copy header;
};

static struct hv_err *failed(void)
{
	return hv_err_new(errno, "%s", strerror(errno));
}

struct hv_err *hv_btf_copy_read(int fd, uint64_t off, void *ret, size_t len_bytes)
{
	for (size_t done = 0; done < len_bytes;) {
		ssize_t n = pread(fd, (uint8_t *)ret + done, len_bytes - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed();
		if (!n)
			return hv_err_new(EIO, "it ends at byte %llu",
					  (unsigned long long)(off + done));
		done += (size_t)n;
	}
	return NULL;
}

static struct hv_err *write_all(int fd, const void *bytes, size_t len_bytes)
{
	for (size_t done = 0; done < len_bytes;) {
		ssize_t n = write(fd, (const uint8_t *)bytes + done, len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hv_err_new(errno, "its copy cannot be written: %s", strerror(errno));
		done += (size_t)n;
	}
	return NULL;
}

static struct hv_err *no_elf(const char *why)
{
	return hv_err_new(ENOEXEC, "not a usable ELF file: %s", why);
}

static struct hv_err *check_bytes(uint64_t len_bytes)
{
	if (len_bytes <= HV_BTF_BYTES_MAX)
		return NULL;
	return hv_err_new(EFBIG, "%llu bytes of BTF are too many: at most %u MiB are read",
			  (unsigned long long)len_bytes, HV_BTF_BYTES_MAX >> 20);
}

/* Ensures that only BTF is copied: a symbolic link could lead to any of root's files. */
static struct hv_err *check_btf(int fd, const struct parts *p)
{
	struct {
		uint16_t magic;
		uint8_t version, flags;
		uint32_t hdr_len, type_off, type_len, str_off, str_len;
	} h = {0};
	struct hv_err *err;

	_Static_assert(sizeof(h) == 24, "struct btf_header");
	if (p->btf_len_bytes < sizeof(h))
		return hv_err_new(EINVAL, "no BTF: it has only %llu bytes",
				  (unsigned long long)p->btf_len_bytes);
	err = hv_btf_copy_read(fd, p->btf_off, &h, sizeof(h));
	if (err)
		return err;
	if (h.magic != 0xeb9f || h.version != 1)
		return hv_err_new(EINVAL, "no BTF: it begins with neither BTF's magic nor ELF's");
	if (h.hdr_len < sizeof(h) ||
	    (uint64_t)h.hdr_len + h.type_off + h.type_len > p->btf_len_bytes ||
	    (uint64_t)h.hdr_len + h.str_off + h.str_len > p->btf_len_bytes)
		return hv_err_new(EINVAL, "no BTF: its sections are not in its %llu bytes",
				  (unsigned long long)p->btf_len_bytes);
	return NULL;
}

/* Finds the build id in NOTES. */
static void find_build_id(const uint8_t *notes, size_t len_bytes, struct hv_btf_copy *ret)
{
	Elf64_Nhdr note;

	for (size_t at = 0; at + sizeof(note) <= len_bytes;) {
		uint64_t name, value, next;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		value = name + ((note.n_namesz + 3ull) & ~3ull);
		next = value + ((note.n_descsz + 3ull) & ~3ull);
		if (next > len_bytes)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz &&
		    note.n_descsz <= sizeof(ret->build_id)) {
			memcpy(ret->build_id, notes + value, note.n_descsz);
			ret->build_id_len_bytes = note.n_descsz;
			return;
		}
		at = next;
	}
}

static struct hv_err *read_notes(int fd, const Elf64_Shdr *shdr, struct hv_btf_copy *ret)
{
	HV_AUTO_FREE uint8_t *notes = NULL;
	struct hv_err *err;

	if (shdr->sh_size > NOTES_BYTES_MAX)
		return no_elf("its notes are too long");
	notes = hv_alloc(shdr->sh_size);
	err = hv_btf_copy_read(fd, shdr->sh_offset, notes, shdr->sh_size);
	if (!err)
		find_build_id(notes, shdr->sh_size, ret);
	return err;
}

static struct hv_err *find_part(int fd, const Elf64_Shdr *shdr, const char *name, struct parts *p)
{
	struct hv_err *err;

	if (shdr->sh_type == SHT_NOBITS)
		return NULL;
	/* Other notes can contain the build id of another file. */
	if ((!strcmp(name, ".notes") || !strcmp(name, ".note.gnu.build-id")) &&
	    !p->header.build_id_len_bytes)
		return read_notes(fd, shdr, &p->header);
	if (strcmp(name, ".BTF") != 0 || p->btf_off)
		return NULL;
	if (shdr->sh_flags & SHF_COMPRESSED)
		return no_elf("its section .BTF is compressed");
	err = check_bytes(shdr->sh_size);
	if (!err) {
		p->btf_off = shdr->sh_offset;
		p->btf_len_bytes = shdr->sh_size;
	}
	return err;
}

static struct hv_err *check_header(const Elf64_Ehdr *e)
{
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_ident[EI_DATA] != ELFDATA2LSB)
		return no_elf("it is not of a 64-bit little-endian machine");
	if (e->e_shentsize != sizeof(Elf64_Shdr) || !e->e_shoff)
		return no_elf("it has no table of sections");
	if (!e->e_shnum || e->e_shnum > SECTIONS_MAX || e->e_shstrndx >= e->e_shnum)
		return no_elf("it has too many sections");
	return NULL;
}

static struct hv_err *find_parts(int fd, struct parts *p)
{
	HV_AUTO_FREE Elf64_Shdr *sections = NULL;
	HV_AUTO_FREE char *names = NULL;
	Elf64_Shdr *of_names;
	Elf64_Ehdr e;
	struct hv_err *err = hv_btf_copy_read(fd, 0, &e, sizeof(e));

	if (!err)
		err = check_header(&e);
	if (err)
		return err;
	sections = hv_alloc(e.e_shnum * sizeof(*sections));
	err = hv_btf_copy_read(fd, e.e_shoff, sections, e.e_shnum * sizeof(*sections));
	if (err)
		return err;
	of_names = &sections[e.e_shstrndx];
	if (!of_names->sh_size || of_names->sh_size > NAMES_BYTES_MAX)
		return no_elf("the names of its sections are too long");
	names = hv_alloc(of_names->sh_size + 1);
	err = hv_btf_copy_read(fd, of_names->sh_offset, names, of_names->sh_size);
	p->header.machine = e.e_machine;
	for (unsigned i = 0; !err && i < e.e_shnum; i++)
		if (sections[i].sh_name < of_names->sh_size)
			err = find_part(fd, &sections[i], names + sections[i].sh_name, p);
	if (!err && !p->btf_off)
		err = hv_err_new(ENOENT, "an ELF file without a section .BTF");
	return err;
}

static struct hv_err *copy_parts(int from, const struct parts *p, int to)
{
	HV_AUTO_FREE uint8_t *part = hv_alloc(PART_BYTES);
	struct hv_err *err = write_all(to, &p->header, sizeof(p->header));

	for (uint64_t done = 0; !err && done < p->btf_len_bytes; done += PART_BYTES) {
		uint64_t left = p->btf_len_bytes - done;
		size_t n = left < PART_BYTES ? (size_t)left : PART_BYTES;

		err = hv_btf_copy_read(from, p->btf_off + done, part, n);
		if (!err)
			err = write_all(to, part, n);
	}
	return err;
}

struct hv_err *hv_btf_copy_seal(int fd)
{
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return NULL;
	return hv_err_new(errno, "its copy cannot be sealed: %s", strerror(errno));
}

struct hv_err *hv_btf_copy_make(int fd, int *ret, uint64_t *ret_bytes)
{
	struct parts p = {0};
	HV_AUTO_FD int copy = -1;
	char start[SELFMAG] = "";
	struct hv_err *err;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return failed();
	if (!S_ISREG(st.st_mode))
		return hv_err_new(EINVAL, "is not a regular file");
	memcpy(p.header.magic, HV_BTF_COPY_MAGIC, sizeof(p.header.magic));
	p.btf_len_bytes = (uint64_t)st.st_size;
	if (pread(fd, start, SELFMAG, 0) == SELFMAG && !memcmp(start, ELFMAG, SELFMAG))
		err = find_parts(fd, &p);
	else
		err = check_bytes(p.btf_len_bytes);
	if (!err)
		err = check_btf(fd, &p);
	if (err)
		return err;
	copy = memfd_create("hvtrace-btf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return hv_err_new(errno, "its copy cannot be created: %s", strerror(errno));
	err = copy_parts(fd, &p, copy);
	if (!err)
		err = hv_btf_copy_seal(copy);
	if (err)
		return err;
	*ret_bytes = sizeof(p.header) + p.btf_len_bytes;
	*ret = hv_take_fd(&copy);
	return NULL;
}
