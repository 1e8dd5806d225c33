/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/ram.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bisect.h"
#include "vmm/shared_memory.h"

/* Limit for the part of a RAM file that firmware hides from the guest: the memory under the VGA
 * window and SMRAM, 16 MiB on q35 unless an option sets another size. */
#define HIDDEN_MAX_BYTES (64ull << 20)

struct hv_err *hv_ram_add(struct hv_ram *ram, struct hv_gpa start, uint64_t len_bytes, uint64_t hva)
{
	struct hv_err *err = NULL;

	for (uint64_t off = 0; !err && off < len_bytes;) {
		struct hv_piece piece;

		err = hv_process_memory_piece(ram->process, hva + off, len_bytes - off, &piece);
		if (err)
			break;
		ram->ranges =
			hv_realloc_array(ram->ranges, ram->nr_ranges + 1, sizeof(*ram->ranges));
		ram->ranges[ram->nr_ranges++] = (struct hv_ram_range){
			.start = hv_gpa_add(start, off),
			.len_bytes = piece.len_bytes,
			.hva = piece.hva,
			.host = piece.host,
			.fd = piece.fd,
			.file_off = piece.file_off,
		};
		ram->len_bytes += piece.len_bytes;
		ram->mapped_bytes += piece.host ? piece.len_bytes : 0;
		off += piece.len_bytes;
	}
	return hv_err_in(err, "RAM at guest physical 0x%" PRIx64, start.v);
}

void hv_ram_deinit(struct hv_ram *ram)
{
	free(ram->ranges);
	*ram = (struct hv_ram){.process = ram->process};
}

static const struct hv_ram_range *find(const struct hv_ram *ram, struct hv_gpa gpa)
{
	const struct hv_ram_range *r = ram->ranges;
	size_t nr = HV_BISECT(i, ram->nr_ranges, r[i].start.v <= gpa.v);

	return nr && gpa.v - r[nr - 1].start.v < r[nr - 1].len_bytes ? &r[nr - 1] : NULL;
}

static size_t room_in(const struct hv_ram_range *r, struct hv_gpa gpa, size_t len_bytes)
{
	uint64_t room = r->len_bytes - (gpa.v - r->start.v);

	return len_bytes < room ? len_bytes : (size_t)room;
}

bool hv_ram_covers(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t len_bytes)
{
	while (len_bytes) {
		const struct hv_ram_range *r = find(ram, gpa);
		size_t part;

		if (!r)
			return false;
		part = room_in(r, gpa, len_bytes);
		gpa = hv_gpa_add(gpa, part);
		len_bytes -= part;
	}
	return true;
}

static struct hv_err *no_ram(struct hv_gpa gpa, size_t len_bytes)
{
	return hv_err_new(EFAULT, "no RAM at guest physical 0x%" PRIx64 " (%zu bytes)", gpa.v,
			  len_bytes);
}

struct hv_err *hv_ram_read(const struct hv_ram *ram, struct hv_gpa gpa, void *buf, size_t len_bytes)
{
	uint8_t *to = buf;

	while (len_bytes) {
		const struct hv_ram_range *r = find(ram, gpa);
		struct hv_err *err;
		uint64_t off;
		size_t part;

		if (!r)
			return no_ram(gpa, len_bytes);
		off = gpa.v - r->start.v;
		part = room_in(r, gpa, len_bytes);
		err = r->host ? hv_shared_read(to, r->host + off, part)
			      : hv_process_memory_read(ram->process, r->hva + off, to, part);
		if (err)
			return hv_err_in(err, "RAM at guest physical 0x%" PRIx64, gpa.v);
		to += part;
		len_bytes -= part;
		gpa = hv_gpa_add(gpa, part);
	}
	return NULL;
}

/* Whether FD contains only this guest's RAM, apart from a little memory that firmware hides. Only
 * then may the file be passed on: guests can share a file, and the receiver can read all of it. */
static bool is_its_own(const struct hv_ram *ram, int fd)
{
	uint64_t len_bytes = 0;
	struct stat st;

	for (size_t i = 0; i < ram->nr_ranges; i++)
		if (ram->ranges[i].host && ram->ranges[i].fd == fd)
			len_bytes += ram->ranges[i].len_bytes;
	return fstat(fd, &st) == 0 && (uint64_t)st.st_size <= len_bytes + HIDDEN_MAX_BYTES;
}

struct last_file {
	int fd;
	bool is_its_own;
};

static struct hv_ram_file file_of(const struct hv_ram *ram, const struct hv_ram_range *r,
				  enum hv_ram_by by, struct last_file *last)
{
	if (by == HV_RAM_BY_FILES && r->host && r->fd != last->fd)
		*last = (struct last_file){r->fd, is_its_own(ram, r->fd)};
	if (by == HV_RAM_BY_FILES && r->host && last->is_its_own)
		return (struct hv_ram_file){r->start, r->len_bytes, r->file_off, r->fd, false};
	return (struct hv_ram_file){r->start, r->len_bytes, r->hva,
				    hv_process_memory_fd(ram->process), true};
}

/* Whether B follows A both in guest memory and in the VMM's memory. */
static bool continues(const struct hv_ram_file *a, const struct hv_ram_file *b)
{
	return a->is_memory && b->is_memory && a->start.v + a->len_bytes == b->start.v &&
	       a->off + a->len_bytes == b->off;
}

/* Joins neighboring pieces that are read from the VMM's memory. */
size_t hv_ram_files(const struct hv_ram *ram, enum hv_ram_by by, struct hv_ram_file *ret,
		    size_t max)
{
	struct last_file last = {.fd = -1};
	size_t nr = 0;

	for (size_t i = 0; !ram->can_go && i < ram->nr_ranges; i++) {
		struct hv_ram_file file = file_of(ram, &ram->ranges[i], by, &last);

		if (file.fd < 0)
			continue;
		if (nr && continues(&ret[nr - 1], &file))
			ret[nr - 1].len_bytes += file.len_bytes;
		else if (nr < max)
			ret[nr++] = file;
	}
	return nr;
}

bool hv_ram_find(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t *ret_hva,
		 uint64_t *ret_len_bytes)
{
	const struct hv_ram_range *r = find(ram, gpa);

	if (!r)
		return false;
	*ret_hva = r->hva + (gpa.v - r->start.v);
	*ret_len_bytes = r->len_bytes - (gpa.v - r->start.v);
	return true;
}
