/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAM of an hvtrace machine: allocates it, and loads the kernel. */
#include "vmm/minivm/memory.h"

#include <asm/bootparam.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/guard.h"
#include "vmm/minivm/image.h"
#include "vmm/minivm/tables.h"

/* -- RAM --------------------------------------------------------------------------------------- */

#define PAGE_BYTES UINT64_C(4096)

static int open_to_read(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct hv_err *hv_minivm_memory_init(struct hv_minivm_memory *m, uint64_t len_bytes)
{
	uint64_t host_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
	void *host = MAP_FAILED;

	*m = (struct hv_minivm_memory){0};
	if (len_bytes < HV_MINIVM_MEMORY_MIN)
		return hv_err_new(EINVAL, "%llu KiB of memory: at least %llu MiB are needed",
				  (unsigned long long)(len_bytes >> 10),
				  (unsigned long long)(HV_MINIVM_MEMORY_MIN >> 20));
	if (len_bytes > host_bytes)
		return hv_err_new(EINVAL, "%llu MiB of memory: this host has %llu MiB",
				  (unsigned long long)(len_bytes >> 20),
				  (unsigned long long)(host_bytes >> 20));
	if (len_bytes % PAGE_BYTES)
		return hv_err_new(EINVAL, "%llu bytes of memory: this is not a multiple of 4 KiB",
				  (unsigned long long)len_bytes);
	m->fd = memfd_create("hvtrace-ram", MFD_CLOEXEC);
	if (m->fd >= 0 && ftruncate(m->fd, (off_t)len_bytes) == 0)
		host = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    m->fd, 0);
	if (host == MAP_FAILED) {
		struct hv_err *err =
			hv_err_new(errno, "%llu MiB of memory: %s",
				   (unsigned long long)(len_bytes >> 20), strerror(errno));

		if (m->fd >= 0)
			close(m->fd);
		return err;
	}
	/* A forked process inherits the file, but not this mapping. */
	madvise(host, len_bytes, MADV_DONTFORK);
	m->host = host;
	m->read_fd = open_to_read(m->fd);
	m->len_bytes = len_bytes;
	m->low_bytes = len_bytes < HV_MINIVM_HOLE ? len_bytes : HV_MINIVM_HOLE;
	return NULL;
}

void hv_minivm_memory_deinit(struct hv_minivm_memory *m)
{
	if (m->host) {
		munmap(m->host, m->len_bytes);
		close(m->fd);
		if (m->read_fd >= 0)
			close(m->read_fd);
	}
	*m = (struct hv_minivm_memory){0};
}

uint8_t *hv_minivm_memory_at(const struct hv_minivm_memory *m, struct hv_gpa gpa,
			     uint64_t len_bytes)
{
	uint64_t high_bytes = m->len_bytes - m->low_bytes;
	uint64_t off = gpa.v - HV_MINIVM_HOLE_END;

	if (gpa.v < m->low_bytes)
		return len_bytes <= m->low_bytes - gpa.v ? m->host + gpa.v : NULL;
	if (gpa.v < HV_MINIVM_HOLE_END || off >= high_bytes || len_bytes > high_bytes - off)
		return NULL;
	return m->host + m->low_bytes + off;
}

struct hv_gpa hv_minivm_memory_end(const struct hv_minivm_memory *m)
{
	return m->len_bytes > m->low_bytes
		       ? hv_gpa(HV_MINIVM_HOLE_END + m->len_bytes - m->low_bytes)
		       : hv_gpa(m->low_bytes);
}

/* -- what a kernel finds in it ----------------------------------------------------------------- */

/* Source: Documentation/arch/x86/boot.rst, zero-page.rst. */

#define CMDLINE	       UINT64_C(0x20000)
#define TABLES	       UINT64_C(0xe0000)
#define LOW_END	       UINT64_C(0x9fc00) /* start of the firmware's data on a PC */
#define HIGH_START     UINT64_C(0x100000)
#define PAGE_MASK      UINT64_C(0xfff)
#define MIB	       UINT64_C(0x100000)
#define FILE_MAX_BYTES (UINT64_C(2) << 30)
#define LOADER_UNKNOWN 0xff

#define E820_RAM      1
#define E820_RESERVED 2

struct file {
	int fd;
	uint64_t len_bytes;
};

static void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
}

static struct hv_err *file_open(const char *path, struct file *ret)
{
	struct stat st;

	ret->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (ret->fd < 0 || fstat(ret->fd, &st) != 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return hv_err_new(EINVAL, "%s: not a regular file", path);
	if (!st.st_size)
		return hv_err_new(ENOEXEC, "%s: the file is empty", path);
	if ((uint64_t)st.st_size > FILE_MAX_BYTES)
		return hv_err_new(EFBIG, "%s: more than 2 GiB", path);
	ret->len_bytes = (uint64_t)st.st_size;
	return NULL;
}

static struct hv_err *file_read(const struct file *f, const char *path, uint8_t *to)
{
	for (uint64_t done = 0; done < f->len_bytes;) {
		ssize_t n = pread(f->fd, to + done, f->len_bytes - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return hv_err_new(n ? errno : EIO, "%s: %s", path,
					  n ? strerror(errno) : "became shorter");
		done += (uint64_t)n;
	}
	return NULL;
}

static unsigned long long to_mib(uint64_t len_bytes)
{
	return (len_bytes + MIB - 1) / MIB;
}

/* Copies the pieces of IMAGE, parsed from BYTES, into memory. */
static struct hv_err *load_image(struct hv_minivm_memory *m, const uint8_t *bytes,
				 const struct hv_minivm_image *image)
{
	if (!hv_minivm_memory_at(m, image->start, image->end.v - image->start.v))
		return hv_err_new(
			ENOMEM,
			"this kernel needs %llu MiB of memory to start: the machine has %llu MiB",
			to_mib(image->end.v), to_mib(m->len_bytes));
	for (size_t i = 0; i < image->nr_pieces; i++) {
		const struct hv_minivm_piece *p = &image->pieces[i];

		memcpy(hv_minivm_memory_at(m, p->gpa, p->len_bytes), bytes + p->file_off,
		       p->file_len_bytes);
	}
	return NULL;
}

static struct hv_err *load_kernel(struct hv_minivm_memory *m, const char *path,
				  struct hv_minivm_image *ret, struct boot_params *params)
{
	hv_cleanup(file_close) struct file f = {-1, 0};
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct hv_err *err = file_open(path, &f);
	size_t header_len;

	if (err)
		return err;
	bytes = hv_alloc(f.len_bytes);
	err = file_read(&f, path, bytes);
	if (err)
		return err;
	err = hv_minivm_image_parse((struct hv_span){bytes, f.len_bytes}, ret);
	if (!err)
		err = load_image(m, bytes, ret);
	if (err)
		return hv_err_in(err, "%s", path);
	header_len = ret->setup_header.len_bytes;
	if (header_len > sizeof(params->hdr))
		header_len = sizeof(params->hdr);
	if (header_len)
		memcpy(&params->hdr, ret->setup_header.data, header_len);
	ret->setup_header = (struct hv_span){0};
	return NULL;
}

static struct hv_err *load_initrd(struct hv_minivm_memory *m, const char *path,
				  const struct hv_minivm_image *image, struct boot_params *params)
{
	hv_cleanup(file_close) struct file f = {-1, 0};
	uint64_t end = m->low_bytes < image->initrd_end ? m->low_bytes : image->initrd_end;
	struct hv_err *err = file_open(path, &f);
	uint64_t start;

	if (err)
		return err;
	if (end < image->end.v || f.len_bytes > end - image->end.v)
		return hv_err_new(
			ENOMEM,
			"%s: an initrd of %llu MiB does not fit: the machine has %llu MiB "
			"of memory, and the kernel uses the first %llu",
			path, to_mib(f.len_bytes), to_mib(m->len_bytes), to_mib(image->end.v));
	start = (end - f.len_bytes) & ~PAGE_MASK;
	if (start < image->end.v)
		start = image->end.v;
	params->hdr.ramdisk_image = (uint32_t)start;
	params->hdr.ramdisk_size = (uint32_t)f.len_bytes;
	return file_read(&f, path, hv_minivm_memory_at(m, hv_gpa(start), f.len_bytes));
}

static struct hv_err *put_cmdline(struct hv_minivm_memory *m, const char *append,
				  const struct hv_minivm_image *image, struct boot_params *params)
{
	size_t len = strlen(append);

	if (len > image->cmdline_max || len >= TABLES - CMDLINE)
		return hv_err_new(E2BIG, "the command line has %zu bytes: this kernel accepts %u",
				  len, image->cmdline_max);
	memcpy(hv_minivm_memory_at(m, hv_gpa(CMDLINE), len + 1), append, len + 1);
	params->hdr.cmd_line_ptr = (uint32_t)CMDLINE;
	return NULL;
}

static void add_e820(struct boot_params *params, uint64_t start, uint64_t end, uint32_t type)
{
	struct boot_e820_entry *e = &params->e820_table[params->e820_entries];

	if (end <= start)
		return;
	e->addr = start;
	e->size = end - start;
	e->type = type;
	params->e820_entries++;
}

static void describe_memory(const struct hv_minivm_memory *m, struct boot_params *params)
{
	add_e820(params, 0, LOW_END, E820_RAM);
	add_e820(params, LOW_END, HIGH_START, E820_RESERVED);
	add_e820(params, HIGH_START, m->low_bytes, E820_RAM);
	if (m->len_bytes > m->low_bytes)
		add_e820(params, HV_MINIVM_HOLE_END, hv_minivm_memory_end(m).v, E820_RAM);
}

/* Fills in the boot loader's fields of the header. The others contain the kernel's values. */
static void describe_loader(const struct hv_minivm_image *image, struct boot_params *params)
{
	params->hdr.boot_flag = 0xaa55;
	memcpy(&params->hdr.header, "HdrS", 4);
	params->hdr.type_of_loader = LOADER_UNKNOWN;
	params->hdr.code32_start = (uint32_t)image->start.v;
	params->hdr.vid_mode = 0xffff; /* normal */
	params->acpi_rsdp_addr = TABLES;
}

struct hv_err *hv_minivm_boot_load(struct hv_minivm_memory *m, const struct hv_minivm_boot *boot,
				   struct hv_gpa *ret_entry)
{
	HV_AUTO_FREE struct boot_params *params = hv_alloc(sizeof(*params));
	struct hv_minivm_image image;
	struct hv_err *err = load_kernel(m, boot->kernel_path, &image, params);

	if (!err)
		err = put_cmdline(m, boot->append, &image, params);
	if (!err && boot->initrd_path)
		err = load_initrd(m, boot->initrd_path, &image, params);
	if (err)
		return err;
	describe_loader(&image, params);
	describe_memory(m, params);
	hv_minivm_tables(hv_minivm_memory_at(m, hv_gpa(TABLES), HV_MINIVM_TABLES_MAX),
			 hv_gpa(TABLES), boot->nr_vcpus);
	memcpy(hv_minivm_memory_at(m, hv_gpa(HV_MINIVM_BOOT_PARAMS), sizeof(*params)), params,
	       sizeof(*params));
	*ret_entry = image.entry;
	return NULL;
}
