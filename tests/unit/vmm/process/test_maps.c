/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process, from real and invented lines of /proc/PID/maps. */
#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guard.h"
#include "tests/lib/run_suite.h"
#include "vmm/process/maps.h"

START_TEST(lines)
{
	struct hv_vma vma;

	ck_assert(hv_vma_parse("7ff5e3fff000-7ff603fff000 rw-s 00001000 00:01 1039    "
			       "/memfd:memory-backend-memfd (deleted)",
			       &vma));
	ck_assert_uint_eq(vma.start, 0x7ff5e3fff000);
	ck_assert_uint_eq(vma.end, 0x7ff603fff000);
	ck_assert_uint_eq(vma.file_off, 0x1000);
	ck_assert(vma.readable && vma.writable && vma.shared && vma.has_file);
	ck_assert(!vma.executable);
	ck_assert_uint_eq(vma.dev, 1);
	ck_assert_uint_eq(vma.inode, 1039);
	ck_assert_str_eq(vma.name, "/memfd:memory-backend-memfd (deleted)");
	ck_assert(hv_vma_parse("7f3d2bc00000-7f3dabc00000 r-xp 00000000 00:00 0 ", &vma));
	ck_assert(!vma.shared && !vma.has_file && vma.executable);
	ck_assert_str_eq(vma.name, "");
	ck_assert(!hv_vma_parse("7ff603fff000-7ff5e3fff000 rw-s 00000000 00:01 1039", &vma));
	ck_assert(!hv_vma_parse("", &vma));
}
END_TEST

static struct hv_err *read_text(const char *text, struct hv_maps *ret)
{
	HV_AUTO_FD int fd = memfd_create("maps", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return hv_maps_read_fd(fd, "made up", ret);
}

static void check_vma(const struct hv_vma *vma, uint64_t start, uint64_t end, const char *name)
{
	ck_assert_uint_eq(vma->start, start);
	ck_assert_uint_eq(vma->end, end);
	ck_assert_str_eq(vma->name, name);
}

START_TEST(a_later_line_replaces_earlier_ones)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};

	/* The second line is joined with the third and reported again, then the fourth replaces its
	 * end. */
	ck_assert_ptr_null(read_text("1000-2000 rw-p 00000000 00:00 0 \n"
				     "3000-5000 rw-s 00000000 00:01 7 /a b\n"
				     "5000-6000 rw-s 00002000 00:01 7 /a b\n"
				     "no mapping\n"
				     "3000-9000 rw-s 00000000 00:01 7 /a b\n"
				     "8000-a000 r--s 00000000 00:01 8 /c\n"
				     "a000-b000 r--s 00000000 00:01 8",
				     &maps));
	ck_assert_uint_eq(maps.nr, 4);
	check_vma(&maps.list[0], 0x1000, 0x2000, "");
	check_vma(&maps.list[1], 0x3000, 0x8000, "/a b");
	check_vma(&maps.list[2], 0x8000, 0xa000, "/c");
	check_vma(&maps.list[3], 0xa000, 0xb000, "");
}
END_TEST

START_TEST(none)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};

	ck_assert_ptr_null(read_text("", &maps));
	ck_assert_uint_eq(maps.nr, 0);
}
END_TEST

START_TEST(more_than_there_can_be)
{
	HV_AUTO_FD int fd = memfd_create("maps", MFD_CLOEXEC);
	HV_AUTO_MAPS struct hv_maps maps = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	ck_assert_int_eq(ftruncate(fd, HV_MAPS_MAX_BYTES + 1), 0);
	err = hv_maps_read_fd(fd, "made up", &maps);
	ck_assert(err && err->code == EFBIG && strstr(err->message, "made up"));
	ck_assert_ptr_null(maps.list);
}
END_TEST

#define NR 1000u

/* More than the kernel returns per read. */
START_TEST(of_this_process)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, NR * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HV_AUTO_MAPS struct hv_maps maps = {0};
	size_t nr = 0;
	bool has_vdso = false;

	ck_assert(at != MAP_FAILED);
	for (size_t i = 1; i < NR; i += 2)
		ck_assert_int_eq(mprotect(at + i * page, page, PROT_NONE), 0);
	ck_assert_ptr_null(hv_maps_read(getpid(), &maps));
	for (size_t i = 0; i < maps.nr; i++) {
		const struct hv_vma *vma = &maps.list[i];

		ck_assert(!i || vma[-1].end <= vma->start);
		has_vdso |= vma->executable && !strcmp(vma->name, "[vdso]");
		if (vma->start < (uintptr_t)at || vma->end > (uintptr_t)(at + NR * page))
			continue;
		ck_assert_uint_eq(vma->readable, (vma->start - (uintptr_t)at) / page % 2 == 0);
		nr++;
	}
	ck_assert(nr >= NR - 2); /* the first and the last may be joined with their neighbours */
	ck_assert(has_vdso);
	munmap(at, NR * page);
}
END_TEST

START_TEST(maps_of_a_missing_process)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};
	HV_AUTO_ERR struct hv_err *err = hv_maps_read(0x7fffffff, &maps);

	ck_assert(err && err->code == ENOENT && strstr(err->message, "/proc/2147483647/maps"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, lines);
	tcase_add_test(tc, a_later_line_replaces_earlier_ones);
	tcase_add_test(tc, none);
	tcase_add_test(tc, more_than_there_can_be);
	tcase_add_test(tc, of_this_process);
	tcase_add_test(tc, maps_of_a_missing_process);
}

int main(void)
{
	return run_suite("maps", add_tests);
}
