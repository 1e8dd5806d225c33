/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Valid and hostile kernel files. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/minivm/boot_files.h"
#include "vmm/minivm/image.h"

static uint8_t *file;
static size_t len;
static struct hv_minivm_image image;

static void teardown(void)
{
	free(file);
	file = NULL;
}

static void bzimage(void)
{
	file = of_bzimage();
	len = OF_LEN;
}

static void elf(void)
{
	file = of_elf();
	len = OF_ELF_LEN;
}

static struct hv_err *parse(void)
{
	return hv_minivm_image_parse((struct hv_span){file, len}, &image);
}

static void accepted(void)
{
	struct hv_err *err = parse();

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void refused(const char *why)
{
	struct hv_err *err = parse();

	ck_assert_msg(err && strstr(err->message, why), "'%s' for '%s'", err ? err->message : "",
		      why);
	ck_assert_int_eq(err->code, ENOEXEC);
	hv_err_free(err);
}

START_TEST(a_bzimage)
{
	bzimage();
	accepted();
	ck_assert_uint_eq(image.nr_pieces, 1);
	ck_assert_uint_eq(image.pieces[0].file_off, OF_CODE);
	ck_assert_uint_eq(image.pieces[0].file_len_bytes, 4096);
	ck_assert_uint_eq(image.pieces[0].gpa.v, 0x1000000);
	ck_assert_uint_eq(image.entry.v, 0x1000200);
	ck_assert_uint_eq(image.end.v, 0x1200000);
	ck_assert_uint_eq(image.initrd_end, 0x80000000);
	ck_assert_uint_eq(image.cmdline_max, 100);
	ck_assert_ptr_eq(image.setup_header.data, file + OF_SETUP);
	ck_assert_uint_eq(image.setup_header.len_bytes, 0x202 + 0x6a - OF_SETUP);
}
END_TEST

START_TEST(a_header_without_sectors_has_four)
{
	bzimage();
	of_header(file)->setup_sects = 0;
	of_header(file)->syssize = 0;
	accepted();
	ck_assert_uint_eq(image.pieces[0].file_off, 5 * 512);
}
END_TEST

START_TEST(a_kernel_has_room_for_its_code_at_least)
{
	bzimage();
	of_header(file)->init_size = 16;
	accepted();
	ck_assert_uint_eq(image.end.v, 0x1001000);
}
END_TEST

START_TEST(invalid_bzimages)
{
	bzimage();
	of_header(file)->version = 0x20b;
	refused("boot protocol 2.11: 2.12 or later is needed");
	of_header(file)->version = 0x20c;
	accepted();
	of_header(file)->xloadflags = 0;
	refused("without a 64-bit entry");
	of_header(file)->xloadflags = XLF_KERNEL_64;
	of_header(file)->setup_sects = 255;
	refused("ends before the kernel in it");
	of_header(file)->setup_sects = OF_SECTORS;
	of_header(file)->syssize = 4096 / 16;
	len--;
	accepted(); /* the size is rounded up */
	len++;
	of_header(file)->syssize = 4096 / 16 + 1;
	refused("cut off: 4096 of 4112 bytes of kernel");
	of_header(file)->syssize = 1;
	of_header(file)->pref_address = 0x1000;
	refused("at 0x1000");
	of_header(file)->pref_address = ~0ull;
	refused("it asks for 2097152 bytes at 0xffffffffffffffff, where no memory can be");
	of_header(file)->pref_address = 0x1000000;
	of_header(file)->init_size = 0xffffffff;
	refused("asks for 4294967295");
	of_header(file)->header = 0;
	refused("neither a bzImage nor an ELF");
}
END_TEST

START_TEST(an_elf_kernel)
{
	elf();
	accepted();
	ck_assert_uint_eq(image.nr_pieces, 2);
	ck_assert_uint_eq(image.pieces[1].file_off, 768);
	ck_assert_uint_eq(image.pieces[1].len_bytes, 8192);
	ck_assert_uint_eq(image.pieces[1].gpa.v, 0x1200000);
	ck_assert_uint_eq(image.start.v, 0x1000000);
	ck_assert_uint_eq(image.end.v, 0x1202000);
	ck_assert_uint_eq(image.entry.v, 0x1000200);
	ck_assert_uint_eq(image.setup_header.len_bytes, 0);
}
END_TEST

START_TEST(only_what_is_loaded_counts)
{
	elf();
	of_segment(file, 1)->p_memsz = 4096; /* a note */
	of_segment(file, 2)->p_memsz = of_segment(file, 2)->p_filesz = 0;
	accepted();
	ck_assert_uint_eq(image.nr_pieces, 1);
	ck_assert_uint_eq(image.end.v, 0x1001000);
}
END_TEST

START_TEST(segments_have_an_end)
{
	const unsigned nr = HV_MINIVM_PIECES_MAX + 1;
	Elf64_Ehdr *e;

	elf();
	file = hv_realloc_array(file, OF_ELF_LEN + nr, sizeof(Elf64_Phdr));
	len = OF_ELF_LEN + nr * sizeof(Elf64_Phdr);
	e = (Elf64_Ehdr *)(void *)file;
	e->e_phoff = OF_ELF_LEN;
	e->e_phnum = (uint16_t)nr;
	for (unsigned i = 0; i < nr; i++)
		memcpy(file + OF_ELF_LEN + i * sizeof(Elf64_Phdr), of_segment(file, 0),
		       sizeof(Elf64_Phdr));
	refused("too many segments");
	e->e_phnum--;
	accepted();
}
END_TEST

START_TEST(elf_files_that_are_not_kernels)
{
	Elf64_Ehdr *e;

	elf();
	e = (Elf64_Ehdr *)(void *)file;
	e->e_machine = EM_AARCH64;
	refused("an ELF file of another architecture (machine 183), not x86-64");
	e->e_machine = EM_X86_64;
	e->e_ident[EI_CLASS] = ELFCLASS32;
	refused("a 32-bit ELF file: an x86-64 kernel is needed");
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2MSB;
	refused("another architecture");
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_type = ET_DYN;
	refused("not linked to a fixed address");
	e->e_type = ET_EXEC;
	e->e_phentsize--;
	refused("not linked to a fixed address");
	e->e_phentsize++;
	e->e_entry = 0xfffff0;
	refused("its entry point 0xfffff0");
	e->e_phoff = ~0ull;
	refused("its program headers");
	e->e_phoff = sizeof(*e);
	e->e_phnum = 0xffff;
	refused("");
	e->e_phnum = 0;
	refused("its entry point");
	e->e_phnum = 3;
	e->e_entry = 0xffffffff81000000;
	refused("its entry point 0xffffffff81000000");
}
END_TEST

START_TEST(inconsistent_segments)
{
	elf();
	of_segment(file, 0)->p_filesz = ~0ull;
	refused("segment of");
	of_segment(file, 0)->p_filesz = 200;
	of_segment(file, 0)->p_memsz = 199;
	refused("segment of");
	of_segment(file, 0)->p_filesz = 5000;
	of_segment(file, 0)->p_memsz = 5000;
	refused("ends before the end of a segment");
	of_segment(file, 0)->p_filesz = 16;
	of_segment(file, 0)->p_offset = ~0ull;
	refused("ends before the end of a segment");
	of_segment(file, 0)->p_offset = 512;
	of_segment(file, 0)->p_paddr = 0;
	refused("at 0x0");
	of_segment(file, 0)->p_paddr = ~0ull - 4;
	refused("segment of");
	of_segment(file, 0)->p_paddr = 0x1000000;
	of_segment(file, 0)->p_memsz = 1ull << 40;
	refused("segment of");
}
END_TEST

static void refuse_cuts(size_t whole_len)
{
	uint8_t *whole = file;

	for (len = 0; len < whole_len; len += 7) {
		/* Copy exactly that length, so that ASAN detects reads beyond it. */
		file = hv_alloc(len);
		memcpy(file, whole, len);
		refused("");
		free(file);
	}
	file = whole;
}

START_TEST(every_cut_is_refused)
{
	bzimage();
	refuse_cuts(OF_LEN - 16);
	teardown();
	elf();
	refuse_cuts(OF_ELF_LEN);
}
END_TEST

START_TEST(headers_that_are_cut_off)
{
	bzimage();
	len = 0x250;
	refused("cut off: a bzImage has a longer header");
	teardown();
	elf();
	len = sizeof(Elf64_Ehdr) - 1;
	refused("cut off: an ELF file has a longer header");
}
END_TEST

START_TEST(other_architectures_are_named)
{
	bzimage();
	memset(file, 0, OF_LEN);
	refused("not a kernel: neither");
	memcpy(file, "\x1f\x8b", 2);
	refused("gzip");
	memcpy(file, "\177ELF\1\1", 6);
	refused("32-bit");
	memset(file, 0, 6);
	memcpy(file + 0x38, "ARMd", 4);
	refused("a kernel of another architecture: arm64, not x86-64");
	memcpy(file + 0x38, "RSC\5", 4);
	refused("a kernel of another architecture: riscv, not x86-64");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, a_bzimage);
	tcase_add_test(tc, a_header_without_sectors_has_four);
	tcase_add_test(tc, a_kernel_has_room_for_its_code_at_least);
	tcase_add_test(tc, invalid_bzimages);
	tcase_add_test(tc, an_elf_kernel);
	tcase_add_test(tc, only_what_is_loaded_counts);
	tcase_add_test(tc, segments_have_an_end);
	tcase_add_test(tc, elf_files_that_are_not_kernels);
	tcase_add_test(tc, inconsistent_segments);
	tcase_add_test(tc, every_cut_is_refused);
	tcase_add_test(tc, headers_that_are_cut_off);
	tcase_add_test(tc, other_architectures_are_named);
}

int main(void)
{
	return run_suite("minivm_image", add_tests);
}
