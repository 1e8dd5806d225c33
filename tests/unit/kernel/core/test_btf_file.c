/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with BTF: raw, in an ELF file, cut, too large, and of other kinds. */
#include "kernel/core/btf_file.h"

#include <check.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernel/core/btf_copy.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/types/btf_build.h"

#define TOO_MANY ((64 << 20) + 1)

static int fd = -1;
static struct hv_text btf;

static void setup(void)
{
	fd = memfd_create("btf", MFD_CLOEXEC);
	begin();
	integer("u32", 4);
	btf = assemble();
}

static void teardown(void)
{
	close(fd);
	hv_text_deinit(&btf);
	hv_text_deinit(&types);
	hv_text_deinit(&strings);
}

static void put(const void *bytes, size_t len_bytes)
{
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, bytes, len_bytes, 0), (ssize_t)len_bytes);
}

static struct hv_err *read_copy(struct hv_btf_file *ret)
{
	HV_AUTO_FD int copy = -1;
	uint64_t copy_bytes = 0;
	struct hv_err *err = hv_btf_copy_make(fd, &copy, &copy_bytes);

	if (err)
		return err;
	ck_assert_int_eq(lseek(copy, 0, SEEK_END), (off_t)copy_bytes);
	ck_assert_int_lt(pwrite(copy, "x", 1, 0), 0);
	ck_assert_int_ne(ftruncate(copy, 0), 0);
	return hv_btf_file_read(copy, ret);
}

static void check_good(size_t build_id_len_bytes, unsigned machine)
{
	struct hv_btf_file file;
	struct hv_err *err = read_copy(&file);
	uint32_t size = 0;

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(hv_btf_size(file.btf, "u32", &size));
	ck_assert_uint_eq(size, 4);
	ck_assert_uint_eq(file.build_id_len_bytes, build_id_len_bytes);
	ck_assert_uint_eq(file.machine, machine);
	hv_btf_free(file.btf);
}

static void check_refused(int code, const char *message)
{
	struct hv_btf_file file;
	HV_AUTO_ERR struct hv_err *err = read_copy(&file);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, code);
	ck_assert_msg(strstr(err->message, message), "%s", err->message);
}

static void add_section(Elf *elf, unsigned name, unsigned type, const void *bytes, size_t len_bytes)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = elf_newdata(scn);
	GElf_Shdr shdr;

	gelf_getshdr(scn, &shdr);
	shdr.sh_name = name;
	shdr.sh_type = type;
	gelf_update_shdr(scn, &shdr);
	data->d_buf = (void *)bytes;
	data->d_size = len_bytes;
	data->d_align = 1;
	data->d_version = EV_CURRENT;
}

static void put_elf(const char *section, const char *notes)
{
	static const uint32_t note[] = {4, 4, NT_GNU_BUILD_ID, 0x00554e47, 0x44332211};
	char names[64] = "";
	GElf_Ehdr ehdr;
	Elf *elf;

	memcpy(names + 1, section, strlen(section) + 1);
	strcpy(names + 32, notes);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	ck_assert(elf && gelf_newehdr(elf, ELFCLASS64));
	gelf_getehdr(elf, &ehdr);
	ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr.e_machine = EM_X86_64;
	ehdr.e_type = ET_EXEC;
	ehdr.e_version = EV_CURRENT;
	ehdr.e_shstrndx = 3;
	gelf_update_ehdr(elf, &ehdr);
	add_section(elf, 32, SHT_NOTE, note, sizeof(note));
	add_section(elf, 1, SHT_PROGBITS, btf.data, btf.len_bytes);
	add_section(elf, 0, SHT_STRTAB, names, sizeof(names));
	ck_assert_msg(elf_update(elf, ELF_C_WRITE) > 0, "%s", elf_errmsg(-1));
	elf_end(elf);
}

START_TEST(raw_and_elf)
{
	put(btf.data, btf.len_bytes);
	check_good(0, 0);
	put_elf(".BTF", ".notes");
	check_good(4, EM_X86_64);
	put_elf(".BTF", ".note.gnu.build-id");
	check_good(4, EM_X86_64);
	put_elf(".BTF", ".note.of.another.file");
	check_good(0, EM_X86_64);
	put_elf(".BTF.ext", ".notes");
	check_refused(ENOENT, "an ELF file without a section .BTF");
}
END_TEST

START_TEST(cut_files)
{
	off_t len_bytes;

	for (size_t len = 0; len < btf.len_bytes; len++) {
		put(btf.data, len);
		check_refused(EINVAL, "BTF: ");
	}
	put_elf(".BTF", ".notes");
	len_bytes = lseek(fd, 0, SEEK_END);
	for (off_t len = len_bytes - 1; len >= 0; len--) {
		struct hv_btf_file file = {0};

		ck_assert_int_eq(ftruncate(fd, len), 0);
		/* It may succeed: the cut part may be unused. */
		hv_err_free(read_copy(&file));
		hv_btf_free(file.btf);
	}
}
END_TEST

/* Lengths in the headers are limited before anything is read or allocated. */
START_TEST(hostile_tables)
{
	const off_t huge = (off_t)1 << 40;
	Elf64_Shdr sections[4];
	Elf64_Ehdr e;

	put_elf(".BTF", ".notes");
	ck_assert_int_eq(pread(fd, &e, sizeof(e), 0), sizeof(e));
	ck_assert_int_eq(pread(fd, sections, sizeof(sections), (off_t)e.e_shoff), sizeof(sections));
	ck_assert_int_eq(ftruncate(fd, huge), 0); /* a sparse file */
	check_good(4, EM_X86_64);
	for (unsigned i = 1; i < 4; i++) {
		static const char *const why[] = {"", "its notes are too long",
						  "bytes of BTF are too many",
						  "the names of its sections are too long"};
		const Elf64_Xword len_bytes = sections[i].sh_size;

		sections[i].sh_size = (Elf64_Xword)huge - 4096;
		ck_assert_int_eq(pwrite(fd, sections, sizeof(sections), (off_t)e.e_shoff),
				 sizeof(sections));
		check_refused(i == 2 ? EFBIG : ENOEXEC, why[i]);
		sections[i].sh_size = len_bytes;
	}
	sections[2].sh_flags |= SHF_COMPRESSED;
	ck_assert_int_eq(pwrite(fd, sections, sizeof(sections), (off_t)e.e_shoff),
			 sizeof(sections));
	check_refused(ENOEXEC, "not a usable ELF file: its section .BTF is compressed");
	e.e_shnum = 0; /* the number is in section 0 */
	ck_assert_int_eq(pwrite(fd, &e, sizeof(e), 0), sizeof(e));
	check_refused(ENOEXEC, "it has too many sections");
	e.e_shentsize = 1;
	ck_assert_int_eq(pwrite(fd, &e, sizeof(e), 0), sizeof(e));
	check_refused(ENOEXEC, "not a usable ELF file: it has no table of sections");
	e.e_ident[EI_DATA] = ELFDATA2MSB;
	ck_assert_int_eq(pwrite(fd, &e, sizeof(e), 0), sizeof(e));
	check_refused(ENOEXEC, "it is not of a 64-bit little-endian machine");
}
END_TEST

/* The unprivileged process does not trust a copy either. */
START_TEST(no_copies)
{
	struct hv_btf_file file;
	struct hv_btf_copy header = {HV_BTF_COPY_MAGIC, 0, 33, {0}};
	struct hv_err *err;

	put("short", 5);
	err = hv_btf_file_read(fd, &file);
	ck_assert_str_eq(err->message, "no copy of a BTF file: 5 bytes");
	hv_err_free(err);
	put(&header, sizeof(header));
	err = hv_btf_file_read(fd, &file);
	ck_assert_str_eq(err->message, "no copy of a BTF file");
	hv_err_free(err);
}
END_TEST

START_TEST(other_files)
{
	int ends[2];
	int kept = fd;

	put("6.1.0 is no BTF\n", 16);
	check_refused(EINVAL, "no BTF: it has only 16 bytes");
	put("root:x:0:0:root:/root:/bin/bash\n", 32);
	check_refused(EINVAL, "no BTF: it begins with neither BTF's magic nor ELF's");
	put(btf.data, btf.len_bytes);
	ck_assert_int_eq(pwrite(fd, "\2", 1, 2), 1); /* its version */
	check_refused(EINVAL, "no BTF: it begins with neither BTF's magic nor ELF's");
	put(btf.data, btf.len_bytes - 1);
	check_refused(EINVAL, "no BTF: its sections are not in its ");
	put(btf.data, btf.len_bytes);
	ck_assert_int_eq(ftruncate(fd, TOO_MANY), 0);
	check_refused(EFBIG, "67108865 bytes of BTF are too many: at most 64 MiB are read");
	put("\177ELF", 4);
	check_refused(EIO, "it ends at byte 4");
	ck_assert_int_eq(pipe(ends), 0);
	fd = ends[0];
	check_refused(EINVAL, "is not a regular file");
	close(ends[0]);
	close(ends[1]);
	fd = open("/", O_RDONLY | O_CLOEXEC);
	check_refused(EINVAL, "is not a regular file");
	close(fd);
	fd = kept;
}
END_TEST

/* Reads a copy while the limit RESOURCE of this process is MAX. */
static void check_limited(enum __rlimit_resource resource, rlim_t max, int code,
			  const char *message)
{
	struct rlimit before, limit;

	ck_assert_int_eq(getrlimit(resource, &before), 0);
	limit = (struct rlimit){max, before.rlim_max};
	ck_assert_int_eq(setrlimit(resource, &limit), 0);
	check_refused(code, message);
	ck_assert_int_eq(setrlimit(resource, &before), 0);
}

START_TEST(copies_that_the_host_refuses)
{
	FILE *writable = tmpfile();

	put(btf.data, btf.len_bytes);
	check_limited(RLIMIT_NOFILE, 0, EMFILE, "its copy cannot be created: Too many open files");
	signal(SIGXFSZ, SIG_IGN);
	check_limited(RLIMIT_FSIZE, 8, EFBIG, "its copy cannot be written: File too large");
	signal(SIGXFSZ, SIG_DFL);
	ck_assert_ptr_nonnull(writable);
	expect_error(hv_btf_copy_seal(fileno(writable)), EINVAL,
		     "its copy cannot be sealed: Invalid argument");
	fclose(writable);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, raw_and_elf);
	tcase_add_test(tc, cut_files);
	tcase_add_test(tc, hostile_tables);
	tcase_add_test(tc, no_copies);
	tcase_add_test(tc, copies_that_the_host_refuses);
	tcase_add_test(tc, other_files);
}

int main(void)
{
	return run_suite("btf_file", add_tests);
}
