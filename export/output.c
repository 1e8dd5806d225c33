/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/text.h"

/* -- sequential output ------------------------------------------------------------------------ */

#define MUCH_BYTES  (64u << 10)
#define FRAME_BYTES (1u << 20)
#define FRAME_NS    HV_NS_PER_S
#define LEVEL	    1

void hv_output_init(struct hv_output *s, const struct hv_export_config *config)
{
	*s = (struct hv_output){.config = *config, .framed_ns = hv_now_ns()};
}

void hv_output_deinit(struct hv_output *s)
{
	hv_text_deinit(&s->pending);
	hv_err_free(s->error);
}

/* Removes an incomplete write from the file. A pipe, or a file that had contents before, keeps
 * it. */
static struct hv_err *failed(struct hv_output *s, int code)
{
	if (!s->config.is_others && ftruncate(s->config.fd, (off_t)s->written_bytes) == 0)
		lseek(s->config.fd, 0, SEEK_END);
	s->error = hv_err_new(code, "%s: %s", s->config.path, strerror(code));
	return hv_err_copy(s->error);
}

static struct hv_err *write_all(struct hv_output *s, const char *bytes, size_t len_bytes)
{
	ssize_t (*put)(int fd, const void *bytes, size_t len) =
		s->config.write ? s->config.write : write;

	for (size_t done = 0; done < len_bytes;) {
		ssize_t n = put(s->config.fd, bytes + done, len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(s, errno);
		done += (size_t)n;
	}
	s->written_bytes += len_bytes;
	return NULL;
}

static struct hv_err *write_frame(struct hv_output *s)
{
	size_t bound = ZSTD_compressBound(s->marked_bytes);
	HV_AUTO_FREE char *packed = hv_alloc(bound);
	size_t len = ZSTD_compress(packed, bound, s->pending.data, s->marked_bytes, LEVEL);

	s->framed_ns = hv_now_ns();
	if (ZSTD_isError(len))
		return hv_err_new(EIO, "%s: zstd: %s", s->config.path, ZSTD_getErrorName(len));
	return write_all(s, packed, len);
}

/* Does not search for the last complete line or packet that fits: each write is at most about
 * FRAME_BYTES, and is kept entirely or not at all. */
static struct hv_err *put(struct hv_output *s)
{
	struct hv_err *err;

	if (s->error)
		return hv_err_copy(s->error);
	if (!s->marked_bytes)
		return NULL;
	if (s->config.compression == HV_COMPRESSION_ZSTD)
		err = write_frame(s);
	else
		err = write_all(s, s->pending.data, s->marked_bytes);
	memmove(s->pending.data, s->pending.data + s->marked_bytes,
		s->pending.len_bytes - s->marked_bytes);
	s->pending.len_bytes -= s->marked_bytes;
	s->marked_bytes = 0;
	return err;
}

struct hv_err *hv_output_mark(struct hv_output *s)
{
	bool is_zstd = s->config.compression == HV_COMPRESSION_ZSTD;

	s->marked_bytes = s->pending.len_bytes;
	return s->marked_bytes >= (is_zstd ? FRAME_BYTES : MUCH_BYTES) ? put(s) : NULL;
}

struct hv_err *hv_output_flush(struct hv_output *s)
{
	if (s->config.compression == HV_COMPRESSION_ZSTD && hv_now_ns() - s->framed_ns < FRAME_NS)
		return NULL;
	return put(s);
}

struct hv_err *hv_output_end(struct hv_output *s)
{
	return s->error ? NULL : put(s);
}

/* -- files below a directory ------------------------------------------------------------------ */

#define FILE_MODE 0600
#define DIR_MODE  0700

static int open_below(int dir, const char *name, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* Opens the parent directory of NAME. Stores NAME's last component in *RET_LAST. */
static int open_parent(int dir, const char *name, const char **ret_last)
{
	const char *slash = strrchr(name, '/');
	HV_AUTO_FREE char *parent = slash ? hv_format("%.*s", (int)(slash - name), name) : NULL;

	*ret_last = slash ? slash + 1 : name;
	if (!**ret_last || strcmp(*ret_last, ".") == 0 || strcmp(*ret_last, "..") == 0) {
		errno = EINVAL;
		return -1;
	}
	return open_below(dir, parent ? parent : ".", O_PATH | O_DIRECTORY, 0);
}

static int make_file(void *ctx, const char *name, int *ret_fd)
{
	int fd = open_below(*(const int *)ctx, name, O_RDWR | O_CREAT | O_EXCL, FILE_MODE);

	if (fd < 0)
		return errno;
	*ret_fd = fd;
	return 0;
}

static int make_dir(void *ctx, const char *name, int *ret_fd)
{
	const char *last;
	HV_AUTO_FD int parent = open_parent(*(const int *)ctx, name, &last);
	struct stat st;
	int fd;

	if (parent < 0)
		return errno;
	if (mkdirat(parent, last, DIR_MODE) != 0) {
		if (errno == EEXIST && fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return S_ISDIR(st.st_mode) ? EEXIST : ENOTDIR;
		return errno;
	}
	fd = open_below(parent, last, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return errno;
	*ret_fd = fd;
	return 0;
}

static int put_file(void *ctx, const char *name, const void *bytes, size_t len_bytes)
{
	const char *last;
	HV_AUTO_FD int parent = open_parent(*(const int *)ctx, name, &last);
	HV_AUTO_FREE char *part = hv_format("%s.new", last);
	HV_AUTO_FD int fd = -1;
	ssize_t n;

	if (parent < 0)
		return errno;
	fd = open_below(parent, part, O_WRONLY | O_CREAT | O_TRUNC, FILE_MODE);
	if (fd < 0)
		return errno;
	n = write(fd, bytes, len_bytes);
	if (n < 0)
		return errno;
	if ((size_t)n != len_bytes)
		return ENOSPC;
	return renameat(parent, part, parent, last) == 0 ? 0 : errno;
}

static int remove_file(void *ctx, const char *name)
{
	const char *last;
	HV_AUTO_FD int parent = open_parent(*(const int *)ctx, name, &last);

	return parent >= 0 && unlinkat(parent, last, 0) == 0 ? 0 : errno;
}

struct hv_maker hv_maker_of(const int *fd)
{
	return (struct hv_maker){
		.ctx = (void *)fd,
		.make_file = make_file,
		.make_dir = make_dir,
		.put_file = put_file,
		.remove_file = remove_file,
	};
}
