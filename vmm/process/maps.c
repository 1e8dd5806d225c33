/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"

#define PIECE_BYTES (64u << 10)

bool hv_vma_parse(const char *line, struct hv_vma *ret)
{
	uint64_t start, end, off, inode;
	unsigned major, minor;
	int name = 0;
	char perms[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, perms, &off, &major, &minor, &inode, &name) != 7 ||
	    strlen(perms) != 4 || end <= start)
		return false;
	*ret = (struct hv_vma){
		.start = start,
		.end = end,
		.file_off = off,
		.dev = (uint64_t)major << 32 | minor,
		.inode = inode,
		.readable = perms[0] == 'r',
		.writable = perms[1] == 'w',
		.executable = perms[2] == 'x',
		.shared = perms[3] == 's',
		.has_file = inode != 0,
		.name = line + name,
	};
	return true;
}

void hv_maps_deinit(struct hv_maps *m)
{
	free(m->list);
	free(m->text);
	*m = (struct hv_maps){0};
}

static struct hv_err *load(int fd, const char *path, struct hv_text *text)
{
	ssize_t got;

	do {
		char *to = hv_text_room(text, PIECE_BYTES);

		got = read(fd, to, PIECE_BYTES);
		if (got < 0)
			return hv_err_new(errno, "%s: %s", path, strerror(errno));
		hv_text_end(text, to + got);
		if (text->len_bytes > HV_MAPS_MAX_BYTES)
			return hv_err_new(EFBIG, "%s: more than %u bytes", path, HV_MAPS_MAX_BYTES);
	} while (got);
	return NULL;
}

/* Removes entries from START on. The kernel lists a mapping again, with an earlier start, if it was
 * replaced or merged with a lower one during the read. */
static void forget_from(struct hv_maps *m, uint64_t start)
{
	while (m->nr && m->list[m->nr - 1].start >= start)
		m->nr--;
	if (m->nr && m->list[m->nr - 1].end > start)
		m->list[m->nr - 1].end = start;
}

struct hv_err *hv_maps_read_fd(int fd, const char *path, struct hv_maps *ret)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = load(fd, path, &text);
	struct hv_maps m = {0};
	size_t cap = 0;
	char *line;

	if (err)
		return err;
	m.text = hv_take(text.data);
	for (char *rest = m.text; rest && (line = strsep(&rest, "\n"));) {
		struct hv_vma vma;

		if (!hv_vma_parse(line, &vma))
			continue;
		forget_from(&m, vma.start);
		m.list = hv_grow(m.list, m.nr, &cap, 64, sizeof(*m.list));
		m.list[m.nr++] = vma;
	}
	*ret = m;
	return NULL;
}

struct hv_err *hv_maps_read(pid_t pid, struct hv_maps *ret)
{
	HV_AUTO_FD int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s%s", path, strerror(errno),
				  errno == EACCES ? " (no right to ptrace it: CAP_SYS_PTRACE)"
						  : "");
	return hv_maps_read_fd(fd, path, ret);
}
