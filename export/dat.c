/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace.dat file of version 7, for trace-cmd and KernelShark: the pages of each vCPU as read from
 * trace_pipe_raw, and the information needed to decode them (dat_head.h). Pages of quiet vCPUs are
 * combined. */
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "export/dat_head.h"
#include "export/export.h"
#include "export/raw_pages.h"
#include "tracer/events/host_event.h"

/* -- space for the data of each vCPU ----------------------------------------------------------- */

/* Allocates space for each vCPU's data in a trace.dat file while it is written.
 *
 * The format stores the data of a vCPU contiguously, but the data of all vCPUs arrives
 * concurrently, and its size is unknown in advance. So each vCPU has an area in the file, far from
 * the next one. The space between is a hole and uses no disk blocks. The index has the offset and
 * length of each area, so the file is always readable. At the end the holes are removed: by the
 * file system, or if it cannot, by copying the data.
 *
 *   while it is written   | head | vCPU 0 ....hole.... | vCPU 1 ....hole.... | vCPU 2
 *   at the end            | head | vCPU 0 | vCPU 1 | vCPU 2
 */

struct dat_area {
	uint64_t off; /* file offset */
	uint64_t len_bytes;
	uint64_t shown_bytes; /* visible bytes after LEN_BYTES; the next append overwrites them */
};

struct dat_file {
	const char *path; /* borrowed; for errors */
	int fd;		  /* borrowed */
	uint64_t index_off;
	uint64_t size_off;
	uint64_t buffer_off;
	uint64_t align_bytes;
	uint64_t area_bytes;	/* size of each area */
	struct dat_area *areas; /* owned */
	unsigned nr_areas;
};

#define FILE_BYTES_MAX (UINT64_C(1) << 43) /* below the limits of ext4 and xfs */
#define AREA_BYTES_MIN (UINT64_C(1) << 20)
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

/* Plans areas for NR_CPUS vCPUs after HEAD, which must be in the file already. Fails with EFBIG if
 * the file system does not support files that are large enough. */
static struct hv_err *dat_file_init(struct dat_file *p, const char *path, int fd,
				    const struct hv_export_head *head,
				    const struct hv_dat_head *dat_head)
{
	uint64_t align = find_align(fd, head->page_bytes);
	uint64_t begin = align_up(dat_head->data_off, align);
	uint64_t bytes = find_file_bytes(fd, dat_head->data_off);
	uint64_t area = bytes > begin ? (bytes - begin) / head->nr_cpus / align * align : 0;

	if (area < AREA_BYTES_MIN)
		return hv_err_new(EFBIG, "%s: files of %llu bytes are too small for %u vCPUs", path,
				  (unsigned long long)bytes, head->nr_cpus);
	*p = (struct dat_file){
		.path = path,
		.fd = fd,
		.index_off = dat_head->index_off,
		.size_off = dat_head->size_off,
		.buffer_off = dat_head->buffer_off,
		.align_bytes = align,
		.area_bytes = area,
		.areas = hv_alloc(head->nr_cpus * sizeof(*p->areas)),
		.nr_areas = head->nr_cpus,
	};
	for (unsigned i = 0; i < p->nr_areas; i++)
		p->areas[i].off = begin + i * area;
	return NULL;
}

static void dat_file_deinit(struct dat_file *p)
{
	free(p->areas);
	*p = (struct dat_file){0};
}

/* Writes all bytes at OFF. */
static struct hv_err *dat_write(const struct dat_file *p, uint64_t off, const void *bytes,
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

static uint64_t len_of(const struct dat_area *s)
{
	return s->len_bytes + s->shown_bytes;
}

/* The index points vCPUs without data to the first area, so that the file need not extend to their
 * areas. */
static struct hv_err *write_index(const struct dat_file *p)
{
	HV_AUTO_TEXT struct hv_text index = {0};

	for (uint32_t i = 0; i < p->nr_areas; i++) {
		const struct dat_area *s = &p->areas[i];
		uint64_t len = len_of(s), off = len ? s->off : p->areas[0].off;

		hv_text_add_bytes(&index, &i, sizeof(i));
		hv_text_add_bytes(&index, &off, sizeof(off));
		hv_text_add_bytes(&index, &len, sizeof(len));
	}
	return dat_write(p, p->index_off, index.data, index.len_bytes);
}

/* Writes the index with the lengths of all areas, including SHOWN_BYTES. The section extends to the
 * end of the file. */
static struct hv_err *dat_file_save(const struct dat_file *p)
{
	uint64_t end = p->areas[0].off, len;
	struct hv_err *err;

	for (unsigned i = 0; i < p->nr_areas; i++)
		if (len_of(&p->areas[i]))
			end = p->areas[i].off + len_of(&p->areas[i]);
	len = end - (p->size_off + sizeof(len));
	err = write_index(p);
	return err ? err : dat_write(p, p->size_off, &len, sizeof(len));
}

/* Copies the data of S down to OFF. The old data stays until all is copied, so the index is always
 * valid. */
static bool copy_down(struct dat_file *p, struct dat_area *s, uint64_t off)
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

static bool index_is_written(const struct dat_file *p)
{
	HV_AUTO_ERR struct hv_err *err = write_index(p);

	return !err;
}

static bool move_by_copy(struct dat_file *p, struct dat_area *s, uint64_t off)
{
	struct dat_area old = *s;

	if (off + s->len_bytes > s->off || !copy_down(p, s, off))
		return false;
	s->off = off;
	if (!index_is_written(p))
		return false;
	/* If this fails, the space is freed when the end of the file is truncated. */
	(void)!fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)old.off,
			 (off_t)old.len_bytes);
	return true;
}

/* Asks the file system to remove the hole between OFF and the non-empty area FROM. This moves all
 * data after the hole. */
static bool collapse(struct dat_file *p, unsigned from, uint64_t off)
{
	uint64_t gap = p->areas[from].off - off;

	if (fallocate(p->fd, FALLOC_FL_COLLAPSE_RANGE, (off_t)off, (off_t)gap) != 0)
		return false;
	for (unsigned i = from; i < p->nr_areas; i++)
		p->areas[i].off -= gap;
	return true;
}

/* Removes the hole between OFF and area I. Clears *MAY_COLLAPSE if the file system cannot do
 * that. */
static bool pull_up(struct dat_file *p, unsigned i, uint64_t off, bool *may_collapse)
{
	*may_collapse = *may_collapse && collapse(p, i, off);
	return *may_collapse ? index_is_written(p) : move_by_copy(p, &p->areas[i], off);
}

static struct hv_err *cut_end(const struct dat_file *p)
{
	uint64_t end = p->areas[0].off;

	for (unsigned i = 0; i < p->nr_areas; i++)
		if (p->areas[i].len_bytes)
			end = p->areas[i].off + p->areas[i].len_bytes;
	if (ftruncate(p->fd, (off_t)end) != 0)
		return hv_err_new(errno, "%s: %s", p->path, strerror(errno));
	return NULL;
}

/* Removes the holes and saves the index. If a hole cannot be removed, for example because the disk is
 * full, it and the later ones stay: the file is readable with them. */
static struct hv_err *dat_file_close_up(struct dat_file *p)
{
	uint64_t off = p->areas[0].off;
	bool may_collapse = true, is_moved = true;
	struct hv_err *err;

	for (unsigned i = 0; i < p->nr_areas; i++)
		p->areas[i].shown_bytes = 0;
	for (unsigned i = 0; i < p->nr_areas && is_moved; i++) {
		struct dat_area *s = &p->areas[i];

		if (!s->len_bytes)
			continue;
		if (s->off > off)
			is_moved = pull_up(p, i, off, &may_collapse);
		off = align_up(s->off + s->len_bytes, p->align_bytes);
	}
	err = dat_file_save(p);
	return err ? err : cut_end(p);
}

/* -- one file ---------------------------------------------------------------------------------- */

#define CHUNK_BYTES (256u << 10) /* of pages that are compressed together */
#define SAVE_NS	    (HV_NS_PER_S / 2)
#define LEVEL	    1

/* State of a vCPU. */
struct lane {
	struct hv_page_joiner last; /* the page being filled */
	struct hv_text chunk;	    /* complete pages to be compressed */
	uint32_t nr_chunks;
};

struct dat {
	struct hv_export base;
	enum hv_compression compression;
	struct dat_file file;
	struct lane *lanes; /* owned, one per area */
	uint64_t names_off;
	uint64_t saved_ns; /* when the file was last saved */
	char *packed;	   /* owned; buffer for a compressed chunk */
	size_t packed_bytes;
};

static struct dat *dat_of(struct hv_export *x)
{
	return (struct dat *)x;
}

static void dat_free(struct hv_export *x)
{
	struct dat *d = dat_of(x);

	for (unsigned i = 0; i < d->file.nr_areas; i++) {
		hv_page_joiner_deinit(&d->lanes[i].last);
		hv_text_deinit(&d->lanes[i].chunk);
	}
	dat_file_deinit(&d->file);
	free(d->lanes);
	free(d->packed);
	free(d);
}

/* Appends to the area. An incomplete write does not count as its data. */
static struct hv_err *append(struct dat *d, unsigned cpu, const void *bytes, size_t len_bytes)
{
	struct dat_area *s = &d->file.areas[cpu];
	struct hv_err *err;

	if (s->len_bytes + len_bytes + d->file.align_bytes > d->file.area_bytes)
		return hv_err_new(
			EFBIG, "%s: full: vCPU %u has %llu bytes, and a file has no room for more",
			d->file.path, cpu, (unsigned long long)s->len_bytes);
	err = dat_write(&d->file, s->off + s->len_bytes, bytes, len_bytes);
	if (err)
		return err;
	s->len_bytes += len_bytes;
	s->shown_bytes = 0;
	return NULL;
}

/* An area with compressed data begins with the number of its chunks. */
static struct hv_err *append_chunk(struct dat *d, unsigned cpu)
{
	struct lane *l = &d->lanes[cpu];
	size_t len = ZSTD_compress(d->packed + 8, d->packed_bytes - 8, l->chunk.data,
				   l->chunk.len_bytes, LEVEL);
	uint32_t lens[2] = {(uint32_t)len, (uint32_t)l->chunk.len_bytes};
	uint32_t nr = l->nr_chunks + 1;
	struct hv_err *err = NULL;

	if (ZSTD_isError(len))
		return hv_err_new(EIO, "%s: zstd: %s", d->file.path, ZSTD_getErrorName(len));
	memcpy(d->packed, lens, sizeof(lens));
	if (!l->nr_chunks && !d->file.areas[cpu].len_bytes)
		err = append(d, cpu, &l->nr_chunks, sizeof(l->nr_chunks));
	if (!err)
		err = append(d, cpu, d->packed, sizeof(lens) + len);
	if (!err)
		err = dat_write(&d->file, d->file.areas[cpu].off, &nr, sizeof(nr));
	if (err)
		return err;
	l->nr_chunks = nr;
	hv_text_clear(&l->chunk);
	return NULL;
}

/* Writes the page being filled, and clears it. */
static struct hv_err *put_page(struct dat *d, unsigned cpu)
{
	struct lane *l = &d->lanes[cpu];
	struct hv_err *err = NULL;

	if (!l->last.len_bytes)
		return NULL;
	if (d->compression == HV_COMPRESSION_NONE)
		err = append(d, cpu, l->last.page, l->last.page_bytes);
	else
		hv_text_add_bytes(&l->chunk, l->last.page, l->last.page_bytes);
	if (!err)
		hv_page_joiner_clear(&l->last);
	if (!err && l->chunk.len_bytes >= CHUNK_BYTES)
		err = append_chunk(d, cpu);
	return err;
}

static struct hv_err *dat_add(struct hv_export *x, unsigned cpu, struct hv_span data)
{
	struct dat *d = dat_of(x);
	struct lane *l = &d->lanes[cpu];
	struct hv_err *err;

	if (hv_page_joiner_add(&l->last, data))
		return NULL;
	err = put_page(d, cpu);
	if (!err)
		hv_page_joiner_add(&l->last, data);
	return err;
}

/* The file has room for HV_DAT_NAMES_BYTES of names. Names beyond that are dropped. */
static struct hv_err *dat_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	uint64_t len = names.len_bytes, max = HV_DAT_NAMES_BYTES - sizeof(len);
	struct dat *d = dat_of(x);
	struct hv_err *err;

	if (len > max) {
		const char *end = memrchr(names.text, '\n', max);

		len = end ? (uint64_t)(end + 1 - names.text) : 0;
	}
	err = dat_write(&d->file, d->names_off + sizeof(len), names.text, len);
	return err ? err : dat_write(&d->file, d->names_off, &len, sizeof(len));
}

/* Writes the incomplete page at its final offset, so that readers see it. */
static struct hv_err *show_last(struct dat *d, unsigned cpu)
{
	struct dat_area *s = &d->file.areas[cpu];
	struct lane *l = &d->lanes[cpu];
	struct hv_err *err;

	if (!l->last.len_bytes)
		return NULL;
	err = dat_write(&d->file, s->off + s->len_bytes, l->last.page, l->last.page_bytes);
	if (!err)
		s->shown_bytes = l->last.page_bytes;
	return err;
}

/* With compression, the file lacks the incomplete pages. */
static struct hv_err *save(struct dat *d)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < d->file.nr_areas && !err; i++) {
		if (d->compression == HV_COMPRESSION_NONE)
			err = show_last(d, i);
		else if (d->lanes[i].chunk.len_bytes)
			err = append_chunk(d, i);
	}
	hv_err_keep_first(&err, dat_file_save(&d->file));
	return err;
}

static struct hv_err *dat_turn(struct hv_export *x)
{
	struct dat *d = dat_of(x);
	uint64_t now = hv_now_ns();

	if (now - d->saved_ns < SAVE_NS)
		return NULL;
	d->saved_ns = now;
	return save(d);
}

/* Tries each step. On a full disk, data that cannot be written is dropped. */
static struct hv_err *dat_end(struct hv_export *x)
{
	struct dat *d = dat_of(x);
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < d->file.nr_areas; i++) {
		hv_err_keep_first(&err, put_page(d, i));
		if (d->lanes[i].chunk.len_bytes)
			hv_err_keep_first(&err, append_chunk(d, i));
	}
	hv_err_keep_first(&err, dat_file_close_up(&d->file));
	return err;
}

/* Allocates the space for the names and the head now, so that a full disk cannot prevent the
 * end. */
static struct hv_err *write_head(struct dat *d, struct hv_dat_head *h,
				 const struct hv_export_config *config)
{
	struct dat_file at = {.path = config->path, .fd = config->fd};
	HV_AUTO_TEXT struct hv_text buffer = {0};
	struct hv_err *err = dat_write(&at, 0, h->bytes.data, h->bytes.len_bytes);
	int code;

	if (err)
		return err;
	code = posix_fallocate(config->fd, 0, (off_t)h->data_off);
	if (code)
		return hv_err_new(code, "%s: %s", config->path, strerror(code));
	hv_dat_head_add_buffer(&buffer, d->compression);
	return dat_write(&at, h->buffer_off, buffer.data, buffer.len_bytes);
}

static void make_lanes(struct dat *d, const struct hv_export_head *head)
{
	d->lanes = hv_alloc(head->nr_cpus * sizeof(*d->lanes));
	for (unsigned i = 0; i < head->nr_cpus; i++)
		hv_page_joiner_init(&d->lanes[i].last, head->page_bytes);
	d->packed_bytes = 8 + ZSTD_compressBound(CHUNK_BYTES + head->page_bytes);
	d->packed = hv_alloc(d->packed_bytes);
}

static struct hv_err *dat_open(const struct hv_export_config *config,
			       const struct hv_export_head *head, struct hv_export **ret)
{
	struct dat *d = hv_alloc(sizeof(*d));
	struct hv_dat_head h;
	struct hv_err *err;

	d->compression = config->compression;
	hv_dat_head_init(&h, head, config->compression);
	d->names_off = h.names_off;
	err = write_head(d, &h, config);
	if (!err)
		err = dat_file_init(&d->file, config->path, config->fd, head, &h);
	hv_dat_head_deinit(&h);
	if (!err)
		make_lanes(d, head);
	if (!err)
		err = dat_file_save(&d->file);
	if (err) {
		dat_free(&d->base);
		return err;
	}
	*ret = &d->base;
	return NULL;
}

static const struct hv_export_format dat_one = {
	.name = "trace.dat",
	.suffix = ".dat",
	.input = HV_EXPORT_PAGES,
	.needs_seek = 1,
	.has_date = 1,
	.open = dat_open,
	.add = dat_add,
	.name_tasks = dat_name_tasks,
	.turn = dat_turn,
	.end = dat_end,
	.free = dat_free,
};

/* -- two files --------------------------------------------------------------------------------- */

/* trace.dat for record: the guest's file, and if configured a second file with the host's events,
 * like those of `trace-cmd record -A`. Readers merge both by time.
 *
 * The second file has the host's kernel, event systems and tasks, so host events are not shown with
 * names of the guest. Each file has an id. The host's file contains the id of the guest's file, and
 * the threads that run its vCPUs (dat_head.h). */

#define HOST_SYSTEM "host"
#define ID	    "\nID: "

struct dat_pair {
	struct hv_export base;
	struct hv_export *guest, *host; /* HOST is NULL if its events are in the guest's file */
	struct hv_page_sift sift;
	struct hv_export_event *events; /* owned, with their texts; of the host */
	size_t nr_events;
};

static struct dat_pair *pair_of(struct hv_export *x)
{
	return (struct dat_pair *)x;
}

static void pair_free(struct hv_export *x)
{
	struct dat_pair *p = pair_of(x);

	hv_export_free(p->guest);
	hv_export_free(p->host);
	hv_page_sift_deinit(&p->sift);
	for (size_t i = 0; i < p->nr_events; i++)
		free((char *)p->events[i].format.text);
	free(p->events);
	free(p);
}

static bool is_host(const struct hv_export_event *e)
{
	return strcmp(e->system, HOST_SYSTEM) == 0;
}

/* Returns the system that has the event in the host's kernel. Readers' plugins look events up by
 * system and name. */
static const char *system_of(const struct hv_export_event *e)
{
	static const char sched[] = "name: sched_";
	size_t len = sizeof(sched) - 1;

	return e->format.len_bytes > len && memcmp(e->format.text, sched, len) == 0 ? "sched"
										    : "kvm";
}

/* Returns E's format with the id used in host pages (raw_pages.h). */
static struct hv_export_text renumbered(const struct hv_export_event *e)
{
	HV_AUTO_FREE char *text = hv_format("%.*s", (int)e->format.len_bytes, e->format.text);
	const char *at = strstr(text, ID), *rest = at ? at + strlen(ID) : text;
	HV_AUTO_TEXT struct hv_text out = {0};
	size_t len;
	char *end;
	unsigned long id = strtoul(rest, &end, 10);

	if (!at || !hv_host_event_is((uint32_t)id))
		return (struct hv_export_text){hv_take(text), e->format.len_bytes};
	hv_text_printf(&out, "%.*s%lu%s", (int)(rest - text), text,
		       id - HV_HOST_ID_FIRST + HV_SIFT_HOST_ID, end);
	len = out.len_bytes;
	return (struct hv_export_text){hv_text_take(&out), len};
}

/* Events must be grouped by system. */
static void add_system(struct dat_pair *p, const struct hv_export_head *head, const char *system)
{
	for (size_t i = 0; i < head->nr_events; i++)
		if (is_host(&head->events[i]) && strcmp(system_of(&head->events[i]), system) == 0)
			p->events[p->nr_events++] =
				(struct hv_export_event){system, renumbered(&head->events[i])};
}

static struct hv_err *open_host(struct dat_pair *p, const struct hv_export_config *config,
				const struct hv_export_head *head)
{
	const struct hv_export_host *h = config->host;
	const struct hv_export_config own = {
		.path = h->path,
		.fd = h->fd,
		.compression = config->compression,
	};
	struct hv_export_head its = *head;

	p->events = hv_realloc_array(NULL, head->nr_events, sizeof(*p->events));
	add_system(p, head, "kvm");
	add_system(p, head, "sched");
	its.events = p->events;
	its.nr_events = p->nr_events;
	its.kernel = h->kernel;
	its.kallsyms = its.printk_formats = (struct hv_export_text){"", 0};
	its.trace_id = h->trace_id;
	its.guest = &h->guest;
	hv_page_sift_init(&p->sift, head->page_bytes);
	return hv_export_open(&dat_one, &own, &its, &p->host);
}

static struct hv_err *pair_open(const struct hv_export_config *config,
				const struct hv_export_head *head, struct hv_export **ret)
{
	struct dat_pair *p = hv_alloc(sizeof(*p));
	struct hv_export_head its = *head;
	struct hv_err *err;

	if (config->host)
		its.trace_id = config->host->guest.trace_id;
	err = hv_export_open(&dat_one, config, &its, &p->guest);
	if (!err && config->host)
		err = open_host(p, config, head);
	if (err) {
		pair_free(&p->base);
		return err;
	}
	*ret = &p->base;
	return NULL;
}

static struct hv_err *pair_add(struct hv_export *x, unsigned cpu, struct hv_span data)
{
	struct dat_pair *p = pair_of(x);
	struct hv_err *err = NULL;
	enum hv_sift_side side;
	struct hv_span page;

	if (!p->host || !hv_page_sift_has_host(data) || !hv_page_sift_begin(&p->sift, data))
		return hv_export_add(p->guest, cpu, data);
	while (!err && hv_page_sift_next(&p->sift, &side, &page))
		err = hv_export_add(side == HV_SIFT_HOST ? p->host : p->guest, cpu, page);
	return err;
}

static struct hv_err *pair_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	return hv_export_name_tasks(pair_of(x)->guest, names);
}

static struct hv_err *pair_name_host(struct hv_export *x, struct hv_export_text names)
{
	struct dat_pair *p = pair_of(x);

	return p->host ? hv_export_name_tasks(p->host, names) : NULL;
}

static struct hv_err *pair_turn(struct hv_export *x)
{
	struct dat_pair *p = pair_of(x);
	struct hv_err *err = hv_export_turn(p->guest);

	if (p->host)
		hv_err_keep_first(&err, hv_export_turn(p->host));
	return err;
}

static struct hv_err *pair_end(struct hv_export *x)
{
	struct dat_pair *p = pair_of(x);
	struct hv_err *err = hv_export_end(p->guest);

	if (p->host)
		hv_err_keep_first(&err, hv_export_end(p->host));
	return err;
}

const struct hv_export_format hv_export_dat = {
	.name = "trace.dat",
	.suffix = ".dat",
	.input = HV_EXPORT_PAGES,
	.needs_seek = 1,
	.has_date = 1,
	.has_host = 1,
	.open = pair_open,
	.add = pair_add,
	.name_tasks = pair_name_tasks,
	.name_host = pair_name_host,
	.turn = pair_turn,
	.end = pair_end,
	.free = pair_free,
};
