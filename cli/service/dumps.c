/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/dumps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "cli/service/host_client.h"

#define PIECE_LEN_BYTES 65536

/* The last line of a truncated dump. */
#define CUT	   "\n# cut here: a dump has 64 MiB at most; the rest stays in the buffer\n"
#define ROOM_BYTES (DUMPS_MAX_BYTES - (sizeof(CUT) - 1))

/* Logs the first error of a dump, and ends the dump. */
static void note_failure(struct dumps *d, struct audit *a)
{
	if (!d->is_over)
		audit_log(a, "dump: cannot be written: %s", strerror(errno));
	d->is_over = true;
}

static void write_all(struct dumps *d, struct audit *a, const char *bytes, size_t len_bytes)
{
	size_t done = 0;

	while (!d->is_over && done < len_bytes) {
		ssize_t n = write(d->fd, bytes + done, len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			note_failure(d, a);
		else
			done += (size_t)n;
	}
	d->nr_bytes += done;
}

/* Limits the length, because the guest controls the length and the number of lines. */
static void write_piece(struct dumps *d, struct audit *a, const char *bytes, size_t len_bytes)
{
	size_t room = d->nr_bytes < ROOM_BYTES ? ROOM_BYTES - d->nr_bytes : 0;

	if (len_bytes <= room) {
		write_all(d, a, bytes, len_bytes);
		return;
	}
	write_all(d, a, bytes, room);
	write_all(d, a, CUT, sizeof(CUT) - 1);
	if (!d->is_over)
		audit_log(a, "dump: cut after %u MiB: the rest stays in the buffer",
			  DUMPS_MAX_BYTES >> 20);
	d->is_over = true;
}

/* Writes the time and the trigger of the dump. */
static void write_title(struct dumps *d, struct audit *a)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	struct timespec now;
	struct tm tm;
	char stamp[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	hv_text_printf(&line, "# %s.%03ldZ %s\n", stamp, now.tv_nsec / 1000000, d->why);
	write_all(d, a, line.data, line.len_bytes);
}

int dumps_open(const struct rundir *dir)
{
	HV_AUTO_FREE char *path = rundir_path(dir->path, RUNDIR_DUMP);

	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= DUMPS_MAX_BYTES || ftruncate(fd, 0) == 0)
		return fd;
	close(fd);
	return -1;
}

static void begin(struct service *s)
{
	struct dumps *d = &s->dumps;
	struct audit *a = &s->audit;

	d->is_over = false;
	d->nr_bytes = 0;
	d->fd = host_open_dump(s);
	if (d->fd < 0) {
		note_failure(d, a);
		return;
	}
	write_title(d, a);
}

static void end(struct dumps *d, struct audit *a)
{
	audit_log(a, "dump: %s: %llu bytes", d->why, (unsigned long long)d->nr_bytes);
	d->nr += d->nr_bytes != 0;
	hv_close_at(&d->fd);
	hv_err_free(hv_file_close(d->file));
	d->file = NULL;
	d->why = NULL;
}

bool dumps_write(struct service *s)
{
	struct dumps *d = &s->dumps;
	struct audit *a = &s->audit;
	static char piece[PIECE_LEN_BYTES];
	HV_AUTO_ERR struct hv_err *err = NULL;
	size_t len = 0;

	if (!d->file) {
		d->file = hv_tree_next_dump(s->tree, &d->why);
		if (!d->file)
			return false;
		begin(s);
	}
	if (!d->is_over)
		err = hv_file_read(d->file, piece, sizeof(piece), &len);
	if (!err)
		write_piece(d, a, piece, len);
	if (err || !len || d->is_over)
		end(d, a);
	return true;
}

/* Terminates because dumps_write() takes one dump at a time and no new dump is requested now. */
void dumps_finish(struct service *s)
{
	hv_tree_drain(s->tree);
	while (dumps_write(s))
		;
}
