#include "vmm/process_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "vmm/monitor_text.h"

struct mapping {
	struct hv_vma vma;
	uint8_t *host;
	int fd;
};

struct hv_process_memory {
	pid_t pid;
	struct mapping *mappings;
	size_t nr_mappings;
};

struct hv_process_memory *hv_process_memory_new(pid_t pid)
{
	struct hv_process_memory *pm = hv_alloc(sizeof(*pm));

	pm->pid = pid;
	return pm;
}

void hv_process_memory_free(struct hv_process_memory *pm)
{
	if (!pm)
		return;
	for (size_t i = 0; i < pm->nr_mappings; i++) {
		munmap(pm->mappings[i].host, pm->mappings[i].vma.end - pm->mappings[i].vma.start);
		close(pm->mappings[i].fd);
	}
	free(pm->mappings);
	free(pm);
}

static struct hv_err *find_vma(struct hv_process_memory *pm, uint64_t hva, struct hv_vma *ret)
{
	HV_AUTO_FREE char *line = NULL;
	struct hv_vma vma;
	size_t cap = 0;
	bool found = false;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pm->pid);
	f = fopen(path, "re");
	if (!f)
		return hv_err_new(errno, "%s: %s%s", path, strerror(errno),
				  errno == EACCES ? " (no right to ptrace it: CAP_SYS_PTRACE)"
						  : "");
	while (!found && getline(&line, &cap, f) > 0)
		found = hv_vma_parse(line, &vma) && hva >= vma.start && hva < vma.end;
	fclose(f);
	if (!found)
		return hv_err_new(EFAULT, "process %d: nothing is mapped at 0x%" PRIx64,
				  (int)pm->pid, hva);
	if (!vma.readable || !vma.writable)
		return hv_err_new(EFAULT,
				  "process %d: its memory at 0x%" PRIx64
				  " is not for reading and writing",
				  (int)pm->pid, hva);
	*ret = vma;
	return NULL;
}

/* The file behind a shared mapping, through the link of the mapping itself: deleted files and
 * memfds too, and never another file of the same name. False: none that we could map. */
static bool map_shared(struct hv_process_memory *pm, const struct hv_vma *vma, struct mapping *ret)
{
	HV_AUTO_FD int fd = -1;
	char path[96];
	void *host;

	if (!vma->shared || !vma->has_file)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pm->pid,
		 vma->start, vma->end);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	host = mmap(NULL, vma->end - vma->start, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)vma->file_off);
	if (host == MAP_FAILED)
		return false;
	/* not the guardian's, which outlives us */
	madvise(host, vma->end - vma->start, MADV_DONTFORK);
	*ret = (struct mapping){*vma, host, hv_take_fd(&fd)};
	return true;
}

static struct hv_piece piece_of(const struct mapping *m, uint64_t hva, uint64_t len_bytes)
{
	uint64_t off = hva - m->vma.start;
	uint64_t room = m->vma.end - hva;

	return (struct hv_piece){
		.hva = hva,
		.len_bytes = len_bytes < room ? len_bytes : room,
		.host = m->host + off,
		.fd = m->fd,
		.file_off = m->vma.file_off + off,
	};
}

struct hv_err *hv_process_memory_piece(struct hv_process_memory *pm, uint64_t hva,
				       uint64_t len_bytes, struct hv_piece *ret)
{
	struct mapping m;
	struct hv_vma vma = {0};
	struct hv_err *err;

	for (size_t i = 0; i < pm->nr_mappings; i++) {
		const struct mapping *at = &pm->mappings[i];

		if (hva < at->vma.start || hva >= at->vma.end)
			continue;
		*ret = piece_of(at, hva, len_bytes);
		return NULL;
	}
	err = find_vma(pm, hva, &vma);
	if (err)
		return err;
	if (map_shared(pm, &vma, &m)) {
		pm->mappings = hv_realloc_array(pm->mappings, pm->nr_mappings + 1, sizeof(m));
		pm->mappings[pm->nr_mappings++] = m;
		*ret = piece_of(&m, hva, len_bytes);
		return NULL;
	}
	*ret = (struct hv_piece){
		.hva = hva,
		.len_bytes = len_bytes < vma.end - hva ? len_bytes : vma.end - hva,
		.fd = -1,
	};
	return NULL;
}

static struct hv_err *copied(const struct hv_process_memory *pm, ssize_t done, uint64_t hva,
			     size_t len_bytes, const char *verb)
{
	if (done == (ssize_t)len_bytes)
		return NULL;
	if (done < 0 && errno != EFAULT)
		return hv_err_new(errno, "process %d: %s %zu bytes at 0x%" PRIx64 ": %s",
				  (int)pm->pid, verb, len_bytes, hva, strerror(errno));
	return hv_err_new(EFAULT, "process %d: %s %zu bytes at 0x%" PRIx64 ": only %zd",
			  (int)pm->pid, verb, len_bytes, hva, done < 0 ? 0 : done);
}

struct hv_err *hv_process_memory_read(struct hv_process_memory *pm, uint64_t hva, void *buf,
				      size_t len_bytes)
{
	struct iovec ours = {buf, len_bytes};
	struct iovec theirs = {(void *)(uintptr_t)hva, len_bytes};

	return copied(pm, process_vm_readv(pm->pid, &ours, 1, &theirs, 1, 0), hva, len_bytes,
		      "reading");
}

struct hv_err *hv_process_memory_write(struct hv_process_memory *pm, uint64_t hva, const void *buf,
				       size_t len_bytes)
{
	struct iovec ours = {(void *)(uintptr_t)buf, len_bytes};
	struct iovec theirs = {(void *)(uintptr_t)hva, len_bytes};

	return copied(pm, process_vm_writev(pm->pid, &ours, 1, &theirs, 1, 0), hva, len_bytes,
		      "writing");
}
