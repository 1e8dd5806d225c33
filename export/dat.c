/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace.dat file of version 7, for trace-cmd and KernelShark: the pages of each vCPU as read from
 * trace_pipe_raw, and the information needed to decode them (dat_head.h). Pages of quiet vCPUs are
 * combined. dat_place.h allocates the space for the data and removes the holes. */
#include <fcntl.h>
#include <string.h>
#include <zstd.h>

#include "base/clock.h"
#include "export/dat_place.h"
#include "export/formats.h"
#include "export/page_joiner.h"

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
	struct hv_dat_place place;
	struct lane *lanes; /* owned, one per slot */
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

	for (unsigned i = 0; i < d->place.nr_slots; i++) {
		hv_page_joiner_deinit(&d->lanes[i].last);
		hv_text_deinit(&d->lanes[i].chunk);
	}
	hv_dat_place_deinit(&d->place);
	free(d->lanes);
	free(d->packed);
	free(d);
}

/* Appends to the slot. Incomplete writes do not count. */
static struct hv_err *append(struct dat *d, unsigned cpu, const void *bytes, size_t len_bytes)
{
	struct hv_dat_slot *s = &d->place.slots[cpu];
	struct hv_err *err;

	if (s->len_bytes + len_bytes + d->place.align_bytes > d->place.slot_bytes)
		return hv_err_new(
			EFBIG, "%s: full: vCPU %u has %llu bytes, and a file has no room for more",
			d->place.path, cpu, (unsigned long long)s->len_bytes);
	err = hv_dat_write(&d->place, s->off + s->len_bytes, bytes, len_bytes);
	if (err)
		return err;
	s->len_bytes += len_bytes;
	s->shown_bytes = 0;
	return NULL;
}

/* A slot with compressed data begins with the number of its chunks. */
static struct hv_err *append_chunk(struct dat *d, unsigned cpu)
{
	struct lane *l = &d->lanes[cpu];
	size_t len = ZSTD_compress(d->packed + 8, d->packed_bytes - 8, l->chunk.data,
				   l->chunk.len_bytes, LEVEL);
	uint32_t lens[2] = {(uint32_t)len, (uint32_t)l->chunk.len_bytes};
	uint32_t nr = l->nr_chunks + 1;
	struct hv_err *err = NULL;

	if (ZSTD_isError(len))
		return hv_err_new(EIO, "%s: zstd: %s", d->place.path, ZSTD_getErrorName(len));
	memcpy(d->packed, lens, sizeof(lens));
	if (!l->nr_chunks && !d->place.slots[cpu].len_bytes)
		err = append(d, cpu, &l->nr_chunks, sizeof(l->nr_chunks));
	if (!err)
		err = append(d, cpu, d->packed, sizeof(lens) + len);
	if (!err)
		err = hv_dat_write(&d->place, d->place.slots[cpu].off, &nr, sizeof(nr));
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
	err = hv_dat_write(&d->place, d->names_off + sizeof(len), names.text, len);
	return err ? err : hv_dat_write(&d->place, d->names_off, &len, sizeof(len));
}

/* Writes the incomplete page at its final offset, so that readers see it. */
static struct hv_err *show_last(struct dat *d, unsigned cpu)
{
	struct hv_dat_slot *s = &d->place.slots[cpu];
	struct lane *l = &d->lanes[cpu];
	struct hv_err *err;

	if (!l->last.len_bytes)
		return NULL;
	err = hv_dat_write(&d->place, s->off + s->len_bytes, l->last.page, l->last.page_bytes);
	if (!err)
		s->shown_bytes = l->last.page_bytes;
	return err;
}

/* With compression, the file lacks the incomplete pages. */
static struct hv_err *save(struct dat *d)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < d->place.nr_slots && !err; i++) {
		if (d->compression == HV_COMPRESSION_NONE)
			err = show_last(d, i);
		else if (d->lanes[i].chunk.len_bytes)
			err = append_chunk(d, i);
	}
	hv_err_keep_first(&err, hv_dat_place_save(&d->place));
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

	for (unsigned i = 0; i < d->place.nr_slots; i++) {
		hv_err_keep_first(&err, put_page(d, i));
		if (d->lanes[i].chunk.len_bytes)
			hv_err_keep_first(&err, append_chunk(d, i));
	}
	hv_err_keep_first(&err, hv_dat_place_close_up(&d->place));
	return err;
}

/* Allocates the space for the names and the head now, so that a full disk cannot prevent the
 * end. */
static struct hv_err *write_head(struct dat *d, struct hv_dat_head *h,
				 const struct hv_export_config *config)
{
	struct hv_dat_place at = {.path = config->path, .fd = config->fd};
	HV_AUTO_TEXT struct hv_text buffer = {0};
	struct hv_err *err = hv_dat_write(&at, 0, h->bytes.data, h->bytes.len_bytes);
	int code;

	if (err)
		return err;
	code = posix_fallocate(config->fd, 0, (off_t)h->data_off);
	if (code)
		return hv_err_new(code, "%s: %s", config->path, strerror(code));
	hv_dat_head_add_buffer(&buffer, d->compression);
	return hv_dat_write(&at, h->buffer_off, buffer.data, buffer.len_bytes);
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
		err = hv_dat_place_init(&d->place, config->path, config->fd, head, &h);
	hv_dat_head_deinit(&h);
	if (!err)
		make_lanes(d, head);
	if (!err)
		err = hv_dat_place_save(&d->place);
	if (err) {
		dat_free(&d->base);
		return err;
	}
	*ret = &d->base;
	return NULL;
}

const struct hv_export_format hv_export_dat_one = {
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
