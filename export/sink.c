/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/sink.h"

#include <string.h>
#include <zstd.h>

#include "base/clock.h"

#define MUCH_BYTES  (64u << 10)
#define FRAME_BYTES (1u << 20)
#define FRAME_NS    HV_NS_PER_S
#define LEVEL	    1

void hv_sink_init(struct hv_sink *s, const struct hv_export_config *config)
{
	*s = (struct hv_sink){.config = *config, .framed_ns = hv_now_ns()};
}

void hv_sink_deinit(struct hv_sink *s)
{
	hv_text_deinit(&s->pending);
	hv_err_free(s->error);
}

/* Removes an incomplete write from the file. A pipe, or a file that had contents before, keeps
 * it. */
static struct hv_err *failed(struct hv_sink *s, int code)
{
	if (!s->config.is_others && ftruncate(s->config.fd, (off_t)s->written_bytes) == 0)
		lseek(s->config.fd, 0, SEEK_END);
	s->error = hv_err_new(code, "%s: %s", s->config.path, strerror(code));
	return hv_err_copy(s->error);
}

static struct hv_err *write_all(struct hv_sink *s, const char *bytes, size_t len_bytes)
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

static struct hv_err *write_frame(struct hv_sink *s)
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
static struct hv_err *put(struct hv_sink *s)
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

struct hv_err *hv_sink_mark(struct hv_sink *s)
{
	bool is_zstd = s->config.compression == HV_COMPRESSION_ZSTD;

	s->marked_bytes = s->pending.len_bytes;
	return s->marked_bytes >= (is_zstd ? FRAME_BYTES : MUCH_BYTES) ? put(s) : NULL;
}

struct hv_err *hv_sink_flush(struct hv_sink *s)
{
	if (s->config.compression == HV_COMPRESSION_ZSTD && hv_now_ns() - s->framed_ns < FRAME_NS)
		return NULL;
	return put(s);
}

struct hv_err *hv_sink_end(struct hv_sink *s)
{
	return s->error ? NULL : put(s);
}
