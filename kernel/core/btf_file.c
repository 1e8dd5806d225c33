/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/btf_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/image/elf_sections.h"

#define BTF_BYTES_MAX	(64u << 20)
#define NOTES_BYTES_MAX (64u << 10)

static struct hv_err *too_large(uint64_t len_bytes)
{
	return hv_err_new(EFBIG, "%llu bytes of BTF are too many: at most %u MiB are read",
			  (unsigned long long)len_bytes, BTF_BYTES_MAX >> 20);
}

/* Fails if the file became shorter. */
static struct hv_err *read_all(int fd, uint8_t *bytes, size_t len_bytes)
{
	for (size_t off = 0; off < len_bytes;) {
		ssize_t n = pread(fd, bytes + off, len_bytes - off, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hv_err_new(errno, "%s", strerror(errno));
		if (!n)
			return hv_err_new(EIO, "the file was cut to %zu bytes while it was read",
					  off);
		off += (size_t)n;
	}
	return NULL;
}

static struct hv_err *read_raw(int fd, uint64_t len_bytes, struct hv_btf_file *ret)
{
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct hv_err *err;

	if (len_bytes > BTF_BYTES_MAX)
		return too_large(len_bytes);
	bytes = hv_alloc(len_bytes);
	err = read_all(fd, bytes, len_bytes);
	return err ? err : hv_btf_new((struct hv_span){bytes, len_bytes}, NULL, &ret->btf);
}

static void elf_end_at(Elf **elf)
{
	elf_end(*elf);
}

static struct hv_err *read_section(Elf_Scn *scn, const GElf_Shdr *shdr, const char *name,
				   struct hv_btf_file *ret)
{
	if (shdr->sh_type == SHT_NOTE && !ret->build_id_len_bytes &&
	    shdr->sh_size <= NOTES_BYTES_MAX)
		ret->build_id_len_bytes = hv_elf_build_id(scn, ret->build_id);
	if (!name || strcmp(name, ".BTF") != 0 || ret->btf)
		return NULL;
	if (shdr->sh_size > BTF_BYTES_MAX)
		return too_large(shdr->sh_size);
	return hv_btf_new(hv_elf_bytes(scn), NULL, &ret->btf);
}

static struct hv_err *read_elf(int fd, struct hv_btf_file *ret)
{
	hv_cleanup(elf_end_at) Elf *elf = NULL;
	struct hv_err *err = NULL;
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return hv_err_new(ENOTSUP, "libelf is older than its header");
	/* Reads instead of a mapping: the file may be truncated at any time. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) < 0)
		return hv_err_new(ENOEXEC, "not a usable ELF file: %s", elf_errmsg(-1));
	while (!err && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			return hv_err_new(ENOEXEC, "section %zu: %s", elf_ndxscn(scn),
					  elf_errmsg(-1));
		err = read_section(scn, &shdr, elf_strptr(elf, names, shdr.sh_name), ret);
	}
	if (!err && !ret->btf)
		return hv_err_new(ENOENT, "an ELF file without a section .BTF");
	return err;
}

struct hv_err *hv_btf_file_read(int fd, struct hv_btf_file *ret)
{
	struct hv_btf_file file = {0};
	char magic[SELFMAG] = "";
	struct hv_err *err;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return hv_err_new(errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return hv_err_new(EINVAL, "not a regular file");
	if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    memcmp(magic, ELFMAG, SELFMAG) == 0)
		err = read_elf(fd, &file);
	else
		err = read_raw(fd, (uint64_t)st.st_size, &file);
	if (err) {
		hv_btf_free(file.btf);
		return err;
	}
	*ret = file;
	return NULL;
}
