/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/shadow.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/prefix.h"
#include "vmm/inject/state.h"
#include "vmm/process/maps.h"
#include "vmm/shared_memory.h"

#define PAGE	   4096ull
#define WINDOW_MAX (1ull << 30)

enum page_state {
	NONE,
	PREPARED, /* has a copy that may be outdated */
	FRESH,	  /* has an up-to-date copy with changes of this hold */
	IN_PLACE, /* the VMM maps the copy instead of the RAM's page */
};

void hv_shadow_init(struct hv_shadow *s)
{
	*s = (struct hv_shadow){.fd = -1, .ram_fd = -1, .ram_here = -1};
}

void hv_shadow_deinit(struct hv_shadow *s)
{
	hv_shared_unmap(s->host, s->len_bytes);
	hv_close_at(&s->ram_here);
	free(s->pages);
	hv_shadow_init(s);
}

uint8_t *hv_shadow_at(const struct hv_shadow *s, struct hv_gpa gpa)
{
	uint64_t off = gpa.v - s->start.v;

	if (!s->nr_in_place || off >= s->len_bytes || s->pages[off / PAGE] != IN_PLACE)
		return NULL;
	return s->host + off;
}

/* ---- the files ---- */

/* Whether S consists of whole pages of RAM that are contiguous in the VMM. They can be several
 * mappings, because each run of copies in place is a separate one. The values of S come from the
 * name of the VMM's file, which the VMM can change. */
static bool is_range(const struct hv_inject *j, const struct hv_shadow *s)
{
	uint64_t hva = 0, len_bytes = 0;

	if ((s->start.v | s->len_bytes | s->hva | s->ram_off) % PAGE != 0 || !s->len_bytes ||
	    s->len_bytes > WINDOW_MAX || s->ram_off > INT64_MAX - WINDOW_MAX)
		return false;
	for (uint64_t off = 0; off < s->len_bytes; off += len_bytes)
		if (!hv_ram_find(j->vmm.ram, hv_gpa_add(s->start, off), &hva, &len_bytes) ||
		    hva != s->hva + off)
			return false;
	return true;
}

static struct hv_err *open_here(struct hv_inject *j, struct hv_shadow *s)
{
	struct hv_vmm_file file = HV_VMM_FILE_NONE, ram = HV_VMM_FILE_NONE;
	struct hv_err *err = hv_vmm_file_take(j->vmm.process->pid, j->vmm.pidfd, s->fd, &file);
	HV_AUTO_FD int fd = file.fd;

	if (!err)
		err = hv_vmm_file_take(j->vmm.process->pid, j->vmm.pidfd, s->ram_fd, &ram);
	s->ram_here = ram.fd;
	if (err)
		return hv_err_in(err, "shadow");
	if (!is_range(j, s))
		return hv_err_new(EPROTO,
				  "shadow: the range of %" PRIu64
				  " bytes at guest physical 0x%" PRIx64
				  " does not consist of whole pages of RAM",
				  s->len_bytes, s->start.v);
	if (ftruncate(fd, (off_t)s->len_bytes) < 0)
		return hv_err_new(errno, "shadow: sizing its file: %s", strerror(errno));
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW); /* like the region's (region.c) */
	err = hv_shared_map(fd, 0, s->len_bytes, PROT_READ | PROT_WRITE, &s->host);
	if (err)
		return hv_err_in(err, "shadow");
	madvise(s->host, s->len_bytes, MADV_DONTFORK);
	s->pages = hv_alloc(s->len_bytes / PAGE);
	return NULL;
}

static const struct hv_ram_range *range_of(const struct hv_inject *j, struct hv_gpa gpa)
{
	const struct hv_ram *ram = j->vmm.ram;

	for (size_t i = 0; i < ram->nr_ranges; i++)
		if (gpa.v - ram->ranges[i].start.v < ram->ranges[i].len_bytes)
			return &ram->ranges[i];
	return NULL;
}

/* Whether pages of R can be replaced by copies. *RET_FD is the VMM's descriptor of its file. */
static bool can_shadow(struct hv_inject *j, const struct hv_ram_range *r, struct hv_piece *ret,
		       int *ret_fd)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct statfs fs;

	if (!r || !r->host)
		return false;
	err = hv_process_memory_piece(j->vmm.memory, r->hva, 1, ret);
	if (err || ret->fd < 0 || fstatfs(ret->fd, &fs) < 0 || fs.f_type == HUGETLBFS_MAGIC)
		return false;
	*ret_fd = ret->vmm_fd;
	return true;
}

struct hv_err *hv_shadow_want(struct hv_inject *j)
{
	struct hv_err *err = j->vmm.ops->pages_are_its_own(j->vmm.self);
	struct hv_piece piece;
	int fd;

	if (err)
		return err;
	if (hv_process_nr_filters(j->vmm.process->pid) > (j->vmm.has_own_filter ? 1 : 0))
		return hv_err_new(ENOTSUP, "the VMM has seccomp filters that may not allow the "
					   "calls that replace pages");
	for (size_t i = 0; i < j->vmm.ram->nr_ranges; i++)
		if (can_shadow(j, &j->vmm.ram->ranges[i], &piece, &fd)) {
			j->shadow.wanted = true;
			return NULL;
		}
	return hv_err_new(ENOTSUP,
			  "the guest's RAM is private or has huge pages, so single pages of "
			  "it cannot be replaced");
}

/* Creates the range around GPA and its file, if pages there can be replaced. */
static struct hv_err *make_range(struct hv_inject *j, struct hv_gpa gpa)
{
	const struct hv_ram_range *r = range_of(j, gpa);
	struct hv_shadow *s = &j->shadow;
	struct hv_piece piece;
	uint64_t start, end;
	struct hv_err *err;
	int ram_fd;

	if (!can_shadow(j, r, &piece, &ram_fd))
		return NULL;
	start = gpa.v & ~(WINDOW_MAX - 1);
	end = start + WINDOW_MAX;
	start = start < r->start.v ? r->start.v : start;
	end = end > r->start.v + r->len_bytes ? r->start.v + r->len_bytes : end;
	start = (start + PAGE - 1) & ~(PAGE - 1);
	end &= ~(PAGE - 1);
	if (start >= end)
		return NULL;
	s->start = hv_gpa(start);
	s->len_bytes = end - start;
	s->hva = r->hva + (start - r->start.v);
	s->ram_fd = ram_fd;
	s->ram_off = piece.file_off + (start - r->start.v);
	err = hv_inject_stop(j);
	if (!err)
		err = hv_inject_go_on(j, hv_kvm_make_shadow_file(j->keeper, s, &s->fd));
	return err ? err : open_here(j, s);
}

/* ---- finding copies ---- */

/* Reads from the VMM's mappings which copies are in place. The others may be overwritten. */
static struct hv_err *find_in_place(pid_t pid, struct hv_shadow *s)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};
	struct hv_err *err = hv_maps_read(pid, &maps);

	if (err)
		return err;
	for (uint64_t page = 0; page < s->len_bytes / PAGE; page++)
		s->pages[page] = s->pages[page] == NONE ? NONE : PREPARED;
	s->nr_in_place = 0;
	for (size_t i = 0; i < maps.nr; i++) {
		const struct hv_vma *vma = &maps.list[i];

		if (!strstr(vma->name, "memfd:" HV_SHADOW_FILE) ||
		    vma->start - s->hva != vma->file_off || vma->end - s->hva > s->len_bytes)
			continue;
		for (uint64_t off = vma->file_off; off < vma->end - s->hva; off += PAGE) {
			s->pages[off / PAGE] = IN_PLACE;
			s->nr_in_place++;
		}
	}
	return NULL;
}

void hv_shadow_look_again(struct hv_inject *j, enum hv_vcpus_are vcpus)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!j->shadow.in_doubt)
		return;
	err = find_in_place(j->vmm.process->pid, &j->shadow);
	j->shadow.in_doubt = err || vcpus != HV_VCPUS_IN_RUN;
}

/* Marks the state of copies as unknown if ERR is set. Takes and returns ERR. */
static struct hv_err *doubt(struct hv_inject *j, struct hv_err *err)
{
	if (!err)
		return NULL;
	j->shadow.in_doubt = true;
	hv_shadow_look_again(j, HV_VCPUS_ANYWHERE);
	return err;
}

struct hv_err *hv_shadow_find(struct hv_inject *j)
{
	struct hv_shadow *s = &j->shadow;
	pid_t pid = j->vmm.process->pid;
	char path[64], target[PATH_MAX];
	struct dirent *entry;
	struct hv_err *err;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && s->fd < 0 && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[len < 0 ? 0 : len] = '\0';
		if (hv_shadow_parse(target, s))
			s->fd = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (s->fd < 0)
		return NULL;
	err = open_here(j, s);
	return err ? err : find_in_place(pid, s);
}

/* ---- changes ---- */

struct hv_err *hv_shadow_prepare(struct hv_inject *j, const struct hv_gpa *gpas, size_t nr)
{
	struct hv_shadow *s = &j->shadow;
	struct hv_err *err = NULL;

	if (!s->wanted)
		return NULL;
	if (s->fd < 0 && nr)
		err = make_range(j, gpas[0]);
	for (size_t i = 0; !err && s->pages && i < nr; i++) {
		uint64_t off = (gpas[i].v - s->start.v) & ~(PAGE - 1);

		if (gpas[i].v < s->start.v || off >= s->len_bytes || s->pages[off / PAGE] != NONE)
			continue;
		err = j->vmm.ops->read(j->vmm.self, hv_gpa_add(s->start, off), s->host + off, PAGE);
		s->pages[off / PAGE] = err ? NONE : PREPARED;
	}
	return err;
}

/* Updates a copy from the RAM's page. */
static struct hv_err *freshen(struct hv_inject *j, uint64_t off)
{
	struct hv_shadow *s = &j->shadow;
	uint8_t now[PAGE];
	struct hv_err *err = j->vmm.ops->read(j->vmm.self, hv_gpa_add(s->start, off), now, PAGE);

	if (err)
		return err;
	if (memcmp(now, s->host + off, PAGE) != 0)
		memcpy(s->host + off, now, PAGE);
	s->pages[off / PAGE] = FRESH;
	return NULL;
}

static struct hv_err *add_in_place(struct hv_inject *j, struct hv_gpa gpa, const uint8_t *bytes,
				   size_t len, struct hv_held_writes *in_place)
{
	const struct hv_region *region = &j->region;
	uint64_t off = gpa.v - region->gpa.v, hva = 0, room = 0;

	if (region->host && off < region->len_bytes && len <= region->len_bytes - off)
		hva = j->region_hva + off;
	else if (!hv_ram_find(j->vmm.ram, gpa, &hva, &room) || room < len)
		return hv_err_new(EFAULT, "no RAM at guest physical 0x%" PRIx64 " (%zu bytes)",
				  gpa.v, len);
	hv_held_writes_add(in_place, hva, bytes, len);
	return NULL;
}

/* Writes to one page: to its copy if that is not in place, otherwise through the keeper. */
static struct hv_err *write_in_page(struct hv_inject *j, struct hv_gpa gpa, const uint8_t *bytes,
				    size_t len, struct hv_held_writes *in_place)
{
	struct hv_shadow *s = &j->shadow;
	uint64_t off = gpa.v - s->start.v;
	uint8_t state = s->pages && off < s->len_bytes ? s->pages[off / PAGE] : NONE;
	struct hv_err *err;

	if (state == NONE || state == IN_PLACE || (state == PREPARED && !s->wanted))
		return add_in_place(j, gpa, bytes, len, in_place);
	err = state == PREPARED ? freshen(j, off & ~(PAGE - 1)) : NULL;
	if (!err)
		memcpy(s->host + off, bytes, len);
	return err;
}

struct hv_err *hv_shadow_write(struct hv_inject *j, const struct hv_hold_write *w,
			       struct hv_held_writes *in_place)
{
	size_t room = PAGE - w->gpa.v % PAGE;
	size_t first = w->len_bytes < room ? w->len_bytes : room;
	struct hv_err *err;

	if (!j->shadow.pages)
		return add_in_place(j, w->gpa, w->bytes, w->len_bytes, in_place);
	err = write_in_page(j, w->gpa, w->bytes, first, in_place);
	if (err || first == w->len_bytes)
		return err;
	return write_in_page(j, hv_gpa_add(w->gpa, first), w->bytes + first, w->len_bytes - first,
			     in_place);
}

static struct hv_err *map_runs(struct hv_inject *j, struct hv_call *calls, size_t nr)
{
	struct hv_shadow *s = &j->shadow;
	struct hv_err *err = nr ? doubt(j, hv_keeper_calls(j->keeper, calls, nr, NULL, 0)) : NULL;

	for (size_t i = 0; !err && i < nr; i++) {
		uint64_t first = calls[i].args[5] / PAGE, pages = calls[i].args[1] / PAGE;

		if ((uint64_t)calls[i].result == calls[i].args[0]) {
			memset(s->pages + first, IN_PLACE, pages);
			s->nr_in_place += pages;
		} else {
			err = doubt(j, hv_err_new(ENOMEM, "shadow: mmap in the VMM: %s",
						  strerror((int)-calls[i].result)));
		}
	}
	return err;
}

static struct hv_err *put_in_place(struct hv_inject *j)
{
	struct hv_shadow *s = &j->shadow;
	const uint8_t *end = s->pages + s->len_bytes / PAGE, *next = s->pages;
	struct hv_call calls[HV_KEEPER_CALLS_MAX];
	struct hv_err *err = NULL;
	size_t nr = 0;

	while (!err && (next = memchr(next, FRESH, (size_t)(end - next)))) {
		uint64_t off = (uint64_t)(next - s->pages) * PAGE, len = 0;

		for (; next < end && *next == FRESH; next++)
			len += PAGE;
		calls[nr++] = (struct hv_call){
			.nr = SYS_mmap,
			.args = {s->hva + off, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				 (uint64_t)s->fd, off},
		};
		if (nr == HV_KEEPER_CALLS_MAX) {
			err = map_runs(j, calls, nr);
			nr = 0;
		}
	}
	return err ? err : map_runs(j, calls, nr);
}

struct hv_err *hv_shadow_put_in_place(struct hv_inject *j, struct hv_err *err)
{
	if (!j->shadow.pages)
		return err;
	return err ? doubt(j, err) : put_in_place(j);
}

/* ---- undoing ---- */

struct setting { /* flags and madvise() settings that the VMM made for the RAM's memory */
	int map_flags;
	int advice[4];
	unsigned nr_advices;
};

/* Reads the settings from a remaining mapping of the RAM (proc(5), VmFlags). */
static void load_setting(const struct hv_inject *j, struct setting *ret)
{
	static const struct {
		const char *flag;
		int advice;
	} known[] = {{" dc", MADV_DONTFORK},
		     {" dd", MADV_DONTDUMP},
		     {" hg", MADV_HUGEPAGE},
		     {" nh", MADV_NOHUGEPAGE}};
	const struct hv_shadow *s = &j->shadow;
	HV_AUTO_FREE char *line = NULL;
	bool ours = false, found = false;
	size_t cap = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)j->vmm.process->pid);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &cap, f) > 0) {
		struct hv_vma vma;

		if (hv_vma_parse(line, &vma))
			ours = vma.start < s->hva + s->len_bytes && vma.end > s->hva &&
			       !strstr(line, "memfd:" HV_SHADOW_FILE);
		found = ours && hv_starts_with(line, "VmFlags:");
	}
	if (f)
		fclose(f);
	*ret = (struct setting){0};
	for (size_t i = 0; found && i < HV_ARRAY_LEN(known); i++)
		if (strstr(line, known[i].flag))
			ret->advice[ret->nr_advices++] = known[i].advice;
	if (found && strstr(line, " nr"))
		ret->map_flags = MAP_NORESERVE;
}

/* Copies the guest's changes from the copies to the RAM's file. Nothing else differs, because the
 * sites were restored before. */
static struct hv_err *carry_over(const struct hv_shadow *s, uint64_t *ret_first, uint64_t *ret_last)
{
	uint8_t old[PAGE];

	*ret_first = UINT64_MAX;
	*ret_last = 0;
	for (uint64_t page = 0; page < s->len_bytes / PAGE; page++) {
		off_t at = (off_t)(s->ram_off + page * PAGE);
		const uint8_t *now = s->host + page * PAGE;

		if (s->pages[page] != IN_PLACE)
			continue;
		*ret_first = page < *ret_first ? page : *ret_first;
		*ret_last = page;
		if (pread(s->ram_here, old, PAGE, at) != (ssize_t)PAGE)
			return hv_err_new(EIO, "shadow: cannot read the file of the guest's RAM");
		if (memcmp(old, now, PAGE) != 0 &&
		    pwrite(s->ram_here, now, PAGE, at) != (ssize_t)PAGE)
			return hv_err_new(EIO, "shadow: cannot write the file of the guest's RAM");
	}
	return NULL;
}

static struct hv_err *put_back_held(struct hv_inject *j, const struct setting *was)
{
	struct hv_shadow *s = &j->shadow;
	struct hv_call calls[5];
	uint64_t first = 0, last = 0;
	struct hv_err *err =
		s->in_doubt ? hv_err_new(EBUSY, "shadow: an injected call may not have ended yet")
			    : carry_over(s, &first, &last);
	uint64_t hva, len;

	if (err || first > last)
		return err;
	hva = s->hva + first * PAGE;
	len = (last + 1 - first) * PAGE;
	calls[0] = (struct hv_call){
		.nr = SYS_mmap,
		.args = {hva, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | was->map_flags,
			 (uint64_t)s->ram_fd, s->ram_off + first * PAGE},
	};
	for (unsigned i = 0; i < was->nr_advices; i++)
		calls[1 + i] = (struct hv_call){.nr = SYS_madvise,
						.args = {hva, len, (uint64_t)was->advice[i]}};
	err = doubt(j, hv_keeper_calls(j->keeper, calls, 1 + was->nr_advices, NULL, 0));
	if (!err && (uint64_t)calls[0].result != hva)
		err = hv_err_new(ENOMEM, "shadow: mmap in the VMM: %s",
				 strerror((int)-calls[0].result));
	return err;
}

struct hv_err *hv_shadow_put_back(struct hv_inject *j)
{
	struct hv_shadow *s = &j->shadow;
	struct setting was;
	struct hv_err *err;

	if (!s->nr_in_place && !s->in_doubt)
		return NULL;
	load_setting(j, &was);
	err = hv_inject_stop(j);
	if (!err)
		err = hv_inject_go_on(j, put_back_held(j, &was));
	if (err)
		return err;
	memset(s->pages, NONE, s->len_bytes / PAGE);
	s->nr_in_place = 0;
	madvise(s->host, s->len_bytes, MADV_REMOVE);
	return NULL;
}
