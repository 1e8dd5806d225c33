/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/windows.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vmm/shared_memory.h"

static bool map(struct hv_window *w, int fd)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint8_t *host = NULL;

	err = hv_shared_map(fd, w->off, w->len_bytes, PROT_READ, NULL, &host);
	w->host = host;
	return !err;
}

void hv_windows_open(struct hv_windows *w, struct hv_message *answer)
{
	size_t nr = answer->len_bytes / sizeof(struct hv_warden_ram);

	*w = HV_WINDOWS_NONE;
	for (size_t i = 0; i < nr && w->nr < HV_WARDEN_RAM_MAX; i++) {
		struct hv_window *window = &w->list[w->nr];
		struct hv_warden_ram ram;

		memcpy(&ram, answer->bytes + i * sizeof(ram), sizeof(ram));
		if (ram.file >= answer->nr_fds)
			continue;
		*window = (struct hv_window){hv_gpa(ram.start), ram.len_bytes, ram.off, NULL};
		if (ram.is_memory && w->memory_fd < 0)
			w->memory_fd =
				fcntl(answer->fds[ram.file], F_DUPFD_CLOEXEC, HV_WINDOW_FD_MIN);
		if (ram.is_memory && w->memory_fd < 0)
			continue;
		w->nr += ram.is_memory || map(window, answer->fds[ram.file]);
	}
}

void hv_windows_close(struct hv_windows *w)
{
	for (size_t i = 0; i < w->nr; i++)
		hv_shared_unmap(w->list[i].host, w->list[i].len_bytes);
	hv_close_at(&w->memory_fd);
	*w = HV_WINDOWS_NONE;
}

static const struct hv_window *find(const struct hv_windows *w, struct hv_gpa gpa, size_t len_bytes)
{
	for (size_t i = 0; i < w->nr; i++) {
		uint64_t off = gpa.v - w->list[i].start.v;

		if (off < w->list[i].len_bytes && len_bytes <= w->list[i].len_bytes - off)
			return &w->list[i];
	}
	return NULL;
}

static bool read_memory(int fd, uint64_t off, uint8_t *to, size_t len_bytes)
{
	while (len_bytes) {
		size_t piece = len_bytes < HV_WINDOW_READ_BYTES ? len_bytes : HV_WINDOW_READ_BYTES;

		if (pread(fd, to, piece, (off_t)off) != (ssize_t)piece)
			return false;
		off += piece;
		to += piece;
		len_bytes -= piece;
	}
	return true;
}

bool hv_windows_read(const struct hv_windows *w, struct hv_gpa gpa, void *buf, size_t len_bytes)
{
	const struct hv_window *window = find(w, gpa, len_bytes);
	struct hv_err *err;

	if (!window)
		return false;
	if (!window->host)
		return read_memory(w->memory_fd, window->off + (gpa.v - window->start.v), buf,
				   len_bytes);
	err = hv_shared_read(buf, window->host + (gpa.v - window->start.v), len_bytes);
	hv_err_free(err);
	return err == NULL;
}
