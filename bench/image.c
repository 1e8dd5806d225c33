/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bench/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vmm/inject/keeper.h"
#include "vmm/broker/rules.h"

#define LOADS_MAX   16
#define VCPUS_MAX   256
#define REGION_STEP (UINT64_C(1) << 30)
#define CR4_LA57    (UINT64_C(1) << 12)

/* struct QEMUCPUState in QEMU's target/i386/arch_dump.c. The core file has such a note for each
 * vCPU. */
#define NOTE_NAME	"QEMU"
#define NOTE_VCPU_BYTES 440
#define NOTE_RSP	56
#define NOTE_RIP	136
#define NOTE_IDT_BASE	384
#define NOTE_CR3	416
#define NOTE_CR4	424

struct image {
	uint8_t *file;
	uint64_t file_bytes;
	Elf64_Phdr loads[LOADS_MAX];
	unsigned nr_loads;
	struct hv_vcpu_regs vcpus[VCPUS_MAX];
	unsigned nr_vcpus;
	uint8_t *region;
	uint64_t region_bytes;
	struct hv_gpa region_gpa;
	pid_t vmm;		  /* -1 or 0 if not started */
	struct hv_keeper *keeper; /* owned; NULL if this process writes */
	struct hv_rules *rules;	  /* owned; as in a broker */
};

/* Returns NULL if not all of it is RAM. */
static uint8_t *at(struct image *i, struct hv_gpa gpa, uint64_t len_bytes)
{
	if (gpa.v - i->region_gpa.v < i->region_bytes)
		return gpa.v - i->region_gpa.v + len_bytes <= i->region_bytes
			       ? i->region + (gpa.v - i->region_gpa.v)
			       : NULL;
	for (unsigned n = 0; n < i->nr_loads; n++) {
		const Elf64_Phdr *load = &i->loads[n];
		uint64_t off = gpa.v - load->p_paddr;

		if (off < load->p_filesz && len_bytes <= load->p_filesz - off)
			return i->file + load->p_offset + off;
	}
	return NULL;
}

static struct hv_err *image_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	const uint8_t *from = at(self, gpa, len);

	if (!from)
		return hv_err_new(EFAULT, "0x%llx: not RAM", (unsigned long long)gpa.v);
	memcpy(buf, from, len);
	return NULL;
}

static struct hv_err *image_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct image *i = self;
	struct hv_err *err = hv_vcpus_check_room(i->nr_vcpus, nr);

	if (!err)
		memcpy(ret, i->vcpus, nr * sizeof(*ret));
	return err;
}

static struct hv_err *image_region(void *self, struct hv_region *ret)
{
	struct image *i = self;

	*ret = (struct hv_region){i->region_gpa, i->region, i->region_bytes};
	hv_rules_set_region(i->rules, ret);
	return NULL;
}

static struct hv_err *image_prepare_hold(void *self)
{
	(void)self;
	return NULL;
}

static struct hv_err *image_prepare_text(void *self, const struct hv_gpa *gpas, size_t nr)
{
	struct image *i = self;

	(void)gpas;
	(void)nr;
	hv_rules_prepare(i->rules);
	return NULL;
}

static struct hv_err *image_hold_begin(void *self, uint64_t max_ns)
{
	struct image *i = self;
	uint64_t from_ns;
	bool all_in_run;

	if (!i->keeper)
		return NULL;
	return hv_keeper_hold(i->keeper, &i->vmm, 1, max_ns, &from_ns, &all_in_run);
}

/* The VMM maps the memory at the same address as this process. */
static struct hv_err *image_hold_write(void *self, const struct hv_hold_write *writes, size_t nr)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes all = {0};
	struct image *i = self;
	struct hv_err *err = hv_rules_check(i->rules, i->vcpus, i->nr_vcpus, writes, nr);

	if (err)
		return err;
	for (size_t n = 0; n < nr; n++) {
		uint8_t *to = at(i, writes[n].gpa, writes[n].len_bytes);

		if (!to)
			return hv_err_new(EFAULT, "0x%llx: not RAM",
					  (unsigned long long)writes[n].gpa.v);
		if (!i->keeper) {
			memcpy(to, writes[n].bytes, writes[n].len_bytes);
			continue;
		}
		hv_held_writes_add(&all, (uintptr_t)to, writes[n].bytes, writes[n].len_bytes);
		all.list[n].is_text = writes[n].is_text;
	}
	return i->keeper ? hv_keeper_write(i->keeper, &all) : NULL;
}

static struct hv_err *image_flush(void *self, uint64_t off, uint64_t len_bytes)
{
	(void)self;
	(void)off;
	(void)len_bytes;
	return NULL;
}

static struct hv_err *image_hold_end(void *self)
{
	struct image *i = self;

	return i->keeper ? hv_keeper_release(i->keeper, NULL) : NULL;
}

static void image_free(void *self)
{
	struct image *i = self;

	hv_keeper_free(i->keeper);
	hv_rules_free(i->rules);
	if (i->vmm > 0) {
		kill(i->vmm, SIGKILL);
		waitpid(i->vmm, NULL, 0);
	}
	if (i->file)
		munmap(i->file, i->file_bytes);
	if (i->region)
		munmap(i->region, i->region_bytes);
	free(i);
}

static const struct hv_guest_ops image_ops = {
	.free = image_free,
	.read = image_read,
	.registers = image_registers,
	.region = image_region,
	.prepare_hold = image_prepare_hold,
	.prepare_text = image_prepare_text,
	.hold_begin = image_hold_begin,
	.hold_registers = image_registers,
	.hold_write = image_hold_write,
	.hold_flush_translations = image_flush,
	.hold_end = image_hold_end,
};

static uint8_t *anonymous(uint64_t len_bytes)
{
	void *at = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static uint64_t word_at(const uint8_t *bytes, unsigned off)
{
	uint64_t word;

	memcpy(&word, bytes + off, sizeof(word));
	return word;
}

static void add_vcpu(struct image *i, const uint8_t *note)
{
	if (i->nr_vcpus == VCPUS_MAX)
		return;
	i->vcpus[i->nr_vcpus++] = (struct hv_vcpu_regs){
		.ip = {word_at(note, NOTE_RIP)},
		.sp = {word_at(note, NOTE_RSP)},
		.root = word_at(note, NOTE_CR3),
		.levels = word_at(note, NOTE_CR4) & CR4_LA57 ? 5 : 4,
		.trap_table = {word_at(note, NOTE_IDT_BASE)},
	};
}

static uint64_t padded(uint64_t bytes)
{
	return (bytes + 3) & ~UINT64_C(3);
}

static void read_notes(struct image *i, const Elf64_Phdr *notes)
{
	const uint8_t *note = i->file + notes->p_offset, *end = note + notes->p_filesz;

	while ((size_t)(end - note) >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *head = (const Elf64_Nhdr *)note;
		const uint8_t *name = note + sizeof(*head), *data = name + padded(head->n_namesz);

		if (head->n_namesz == sizeof(NOTE_NAME) && memcmp(name, NOTE_NAME, 5) == 0 &&
		    head->n_descsz >= NOTE_VCPU_BYTES && data + NOTE_VCPU_BYTES <= end)
			add_vcpu(i, data);
		note = data + padded(head->n_descsz);
	}
}

/* Reads the file into anonymous memory, so that later writes cause no page faults, as in a real
 * guest's mapped memory. */
static struct hv_err *read_file(struct image *i, const char *path)
{
	struct stat st;
	uint64_t done = 0;
	ssize_t n = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	i->file_bytes = (uint64_t)st.st_size;
	i->file = anonymous(i->file_bytes);
	while (i->file && n > 0 && done < i->file_bytes) {
		n = read(fd, i->file + done, i->file_bytes - done);
		done += n > 0 ? (uint64_t)n : 0;
	}
	close(fd);
	return done == i->file_bytes ? NULL : hv_err_new(EIO, "%s: cannot read all of it", path);
}

static struct hv_err *read_headers(struct image *i, const char *path)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)i->file;
	const Elf64_Phdr *headers;
	uint64_t end = 0;

	if (i->file_bytes < sizeof(*elf) || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_type != ET_CORE || elf->e_machine != EM_X86_64 ||
	    elf->e_phoff + elf->e_phnum * sizeof(*headers) > i->file_bytes)
		return hv_err_new(EINVAL, "%s: not a core file of an x86-64 guest", path);
	headers = (const Elf64_Phdr *)(i->file + elf->e_phoff);
	for (unsigned n = 0; n < elf->e_phnum; n++) {
		const Elf64_Phdr *h = &headers[n];

		if (h->p_offset + h->p_filesz > i->file_bytes)
			return hv_err_new(EINVAL, "%s: truncated", path);
		if (h->p_type == PT_NOTE)
			read_notes(i, h);
		if (h->p_type != PT_LOAD || i->nr_loads == LOADS_MAX)
			continue;
		i->loads[i->nr_loads++] = *h;
		if (h->p_paddr + h->p_filesz > end)
			end = h->p_paddr + h->p_filesz;
	}
	if (!i->nr_vcpus)
		return hv_err_new(EINVAL, "%s: no vCPU's registers", path);
	i->region_gpa = hv_gpa((end + REGION_STEP - 1) & ~(REGION_STEP - 1));
	return NULL;
}

/* Starts the VMM, a process that maps all memory and waits. */
static struct hv_err *start_vmm(struct image *i)
{
	char ready;
	struct hv_process vmm = {0};
	struct hv_err *err;
	int said[2];

	if (pipe2(said, O_CLOEXEC) < 0)
		return hv_err_new(errno, "pipe: %s", strerror(errno));
	i->vmm = fork();
	if (i->vmm == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (madvise(i->file, i->file_bytes, MADV_POPULATE_WRITE) < 0 ||
		    madvise(i->region, i->region_bytes, MADV_POPULATE_WRITE) < 0 ||
		    write(said[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(said[1]);
	if (i->vmm < 0 || read(said[0], &ready, 1) != 1) {
		close(said[0]);
		return hv_err_new(EIO, "the process with the guest's memory did not start");
	}
	close(said[0]);
	err = hv_process_open(i->vmm, &vmm);
	if (!err)
		err = hv_keeper_start(&vmm, pidfd_open(i->vmm, 0), NULL, &i->keeper);
	hv_process_close(&vmm);
	return err;
}

static struct hv_err *map_file(struct image *i, const char *path)
{
	struct stat st;
	void *at = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	close(fd);
	i->file = at;
	i->file_bytes = (uint64_t)st.st_size;
	return NULL;
}

static struct hv_err *no_vmm(struct image *i)
{
	(void)i;
	return NULL;
}

struct way {
	struct hv_err *(*take_file)(struct image *i, const char *path);
	struct hv_err *(*start_vmm)(struct image *i);
};

static struct hv_err *open_by(const struct way *way, const char *path, uint64_t region_bytes,
			      struct hv_guest **ret)
{
	struct image *i = hv_alloc(sizeof(*i));
	struct hv_guest_info info = {.name = path, .arch = &hv_arch_x86_64};
	struct hv_err *err = way->take_file(i, path);

	if (!err)
		err = read_headers(i, path);
	i->region_bytes = region_bytes;
	i->region = anonymous(region_bytes);
	if (!err && !i->region)
		err = hv_err_new(errno, "region: %s", strerror(errno));
	if (!err)
		err = way->start_vmm(i);
	if (err) {
		image_free(i);
		return err;
	}
	for (unsigned n = 0; n < i->nr_loads; n++)
		info.ram_bytes += i->loads[n].p_filesz;
	info.nr_vcpus = i->nr_vcpus;
	*ret = hv_guest_new(&image_ops, i, &info);
	i->rules = hv_rules_new(*ret, HV_ADOPTS_NOTHING);
	return NULL;
}

struct hv_err *image_open(const char *path, uint64_t region_bytes, struct hv_guest **ret)
{
	static const struct way way = {read_file, start_vmm};

	return open_by(&way, path, region_bytes, ret);
}

struct hv_err *image_open_shared(const char *path, uint64_t region_bytes, struct hv_guest **ret)
{
	static const struct way way = {map_file, no_vmm};

	return open_by(&way, path, region_bytes, ret);
}
