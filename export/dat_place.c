/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/dat_place.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (UINT64_C(1) << 43) /* below the limits of ext4 and xfs */
#define SLOT_BYTES_MIN (UINT64_C(1) << 20)
#define ALIGN_MAX      (UINT64_C(1) << 20)

static uint64_t align_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* Returns the maximum file size that the file system and the process's limits allow. */
static uint64_t find_file_bytes(int fd, uint64_t now_bytes)
{
	uint64_t bytes = FILE_BYTES_MAX;

	while (bytes > now_bytes && ftruncate(fd, (off_t)bytes) != 0)
		bytes /= 2;
	if (ftruncate(fd, (off_t)now_bytes) != 0)
		return 0;
	return bytes;
}

/* Holes begin and end at file system blocks. */
static uint64_t find_align(int fd, size_t page_bytes)
{
	uint64_t block = 0;
	struct stat st;

	if (fstat(fd, &st) == 0)
		block = (uint64_t)st.st_blksize;
	if (block > ALIGN_MAX || block % page_bytes)
		return page_bytes;
	return block;
}

struct hv_err *hv_dat_place_init(struct hv_dat_place *p, const char *path, int fd,
				 const struct hv_export_head *head,
				 const struct hv_dat_head *dat_head)
{
	uint64_t align = find_align(fd, head->page_bytes);
	uint64_t begin = align_up(dat_head->data_off, align);
	uint64_t bytes = find_file_bytes(fd, dat_head->data_off);
	uint64_t slot = bytes > begin ? (bytes - begin) / head->nr_cpus / align * align : 0;

	if (slot < SLOT_BYTES_MIN)
		return hv_err_new(EFBIG, "%s: files of %llu bytes are too small for %u vCPUs", path,
				  (unsigned long long)bytes, head->nr_cpus);
	*p = (struct hv_dat_place){
		.path = path,
		.fd = fd,
		.index_off = dat_head->index_off,
		.size_off = dat_head->size_off,
		.buffer_off = dat_head->buffer_off,
		.align_bytes = align,
		.slot_bytes = slot,
		.slots = hv_alloc(head->nr_cpus * sizeof(*p->slots)),
		.nr_slots = head->nr_cpus,
	};
	for (unsigned i = 0; i < p->nr_slots; i++)
		p->slots[i].off = begin + i * slot;
	return NULL;
}

void hv_dat_place_deinit(struct hv_dat_place *p)
{
	free(p->slots);
	*p = (struct hv_dat_place){0};
}

struct hv_err *hv_dat_write(const struct hv_dat_place *p, uint64_t off, const void *bytes,
			    size_t len_bytes)
{
	for (size_t done = 0; done < len_bytes;) {
		ssize_t n = pwrite(p->fd, (const char *)bytes + done, len_bytes - done,
				   (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hv_err_new(errno, "%s: %s", p->path, strerror(errno));
		done += (size_t)n;
	}
	return NULL;
}

static uint64_t len_of(const struct hv_dat_slot *s)
{
	return s->len_bytes + s->shown_bytes;
}

/* The index points vCPUs without data to the first slot, so that the file need not extend to their
 * slots. */
static struct hv_err *write_index(const struct hv_dat_place *p)
{
	HV_AUTO_TEXT struct hv_text index = {0};

	for (uint32_t i = 0; i < p->nr_slots; i++) {
		const struct hv_dat_slot *s = &p->slots[i];
		uint64_t len = len_of(s), off = len ? s->off : p->slots[0].off;

		hv_text_add_bytes(&index, &i, sizeof(i));
		hv_text_add_bytes(&index, &off, sizeof(off));
		hv_text_add_bytes(&index, &len, sizeof(len));
	}
	return hv_dat_write(p, p->index_off, index.data, index.len_bytes);
}

/* The section extends to the end of the file. */
struct hv_err *hv_dat_place_save(const struct hv_dat_place *p)
{
	uint64_t end = p->slots[0].off, len;
	struct hv_err *err;

	for (unsigned i = 0; i < p->nr_slots; i++)
		if (len_of(&p->slots[i]))
			end = p->slots[i].off + len_of(&p->slots[i]);
	len = end - (p->size_off + sizeof(len));
	err = write_index(p);
	return err ? err : hv_dat_write(p, p->size_off, &len, sizeof(len));
}

/* Copies the data of S down to OFF. The old data stays until all is copied, so the index is always
 * valid. */
static bool copy_down(struct hv_dat_place *p, struct hv_dat_slot *s, uint64_t off)
{
	off_t from = (off_t)s->off, to = (off_t)off;
	uint64_t left = s->len_bytes, gap = s->off - off;

	while (left) {
		size_t len = (size_t)(left < gap ? left : gap);
		ssize_t n = copy_file_range(p->fd, &from, p->fd, &to, len, 0);

		if (n <= 0)
			return false;
		left -= (uint64_t)n;
	}
	return true;
}

static struct hv_err *move_by_copy(struct hv_dat_place *p, struct hv_dat_slot *s, uint64_t off)
{
	struct hv_dat_slot old = *s;
	struct hv_err *err;

	if (off + s->len_bytes > s->off || !copy_down(p, s, off))
		return hv_err_new(ENOSPC, "%s: cannot remove gaps", p->path);
	s->off = off;
	err = write_index(p);
	/* If this fails, the space is freed when the end of the file is truncated. */
	if (!err)
		(void)!fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)old.off,
				 (off_t)old.len_bytes);
	return err;
}

/* Asks the file system to remove the hole between OFF and the non-empty slot FROM. This moves all
 * data after the hole. */
static bool collapse(struct hv_dat_place *p, unsigned from, uint64_t off)
{
	uint64_t gap = p->slots[from].off - off;

	if (fallocate(p->fd, FALLOC_FL_COLLAPSE_RANGE, (off_t)off, (off_t)gap) != 0)
		return false;
	for (unsigned i = from; i < p->nr_slots; i++)
		p->slots[i].off -= gap;
	return true;
}

/* Removes the hole between OFF and slot I. Clears *MAY_COLLAPSE if the file system cannot do
 * that. */
static struct hv_err *pull_up(struct hv_dat_place *p, unsigned i, uint64_t off, bool *may_collapse)
{
	*may_collapse = *may_collapse && collapse(p, i, off);
	return *may_collapse ? write_index(p) : move_by_copy(p, &p->slots[i], off);
}

static struct hv_err *cut_end(const struct hv_dat_place *p)
{
	uint64_t end = p->slots[0].off;

	for (unsigned i = 0; i < p->nr_slots; i++)
		if (p->slots[i].len_bytes)
			end = p->slots[i].off + p->slots[i].len_bytes;
	if (ftruncate(p->fd, (off_t)end) != 0)
		return hv_err_new(errno, "%s: %s", p->path, strerror(errno));
	return NULL;
}

struct hv_err *hv_dat_place_close_up(struct hv_dat_place *p)
{
	uint64_t off = p->slots[0].off;
	struct hv_err *err = NULL;
	bool may_collapse = true;

	for (unsigned i = 0; i < p->nr_slots && !err; i++) {
		struct hv_dat_slot *s = &p->slots[i];

		s->shown_bytes = 0;
		if (!s->len_bytes)
			continue;
		if (s->off > off)
			err = pull_up(p, i, off, &may_collapse);
		off = align_up(s->off + s->len_bytes, p->align_bytes);
	}
	/* The file is also readable with its holes. */
	hv_err_free(err);
	err = hv_dat_place_save(p);
	return err ? err : cut_end(p);
}
