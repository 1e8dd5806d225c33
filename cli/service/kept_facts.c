/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/kept_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "vmm/broker/channel.h"

void kept_facts_deinit(struct kept_facts *f)
{
	free(f->bytes);
	*f = (struct kept_facts){0};
}

/* -- the file ---------------------------------------------------------------------------------- */

static struct hv_err *write_new(const struct kept_facts *f, const char *new, const char *file)
{
	HV_AUTO_FD int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return hv_err_new(errno, "%s: %s", new, strerror(errno));
	errno = ENOSPC; /* of a short write */
	if (write(fd, f->bytes, f->len_bytes) != (ssize_t)f->len_bytes || rename(new, file) != 0)
		return hv_err_new(errno, "%s: %s", file, strerror(errno));
	return NULL;
}

struct hv_err *kept_facts_store(const struct kept_facts *f, const char *file)
{
	HV_AUTO_FREE char *new = hv_format("%s.new", file);
	struct hv_err *err;

	unlink(new);
	err = write_new(f, new, file);
	if (err)
		unlink(new);
	return err;
}

struct hv_err *kept_facts_load(struct kept_facts *f, const char *file)
{
	HV_AUTO_FD int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct stat st;
	ssize_t n = -1;

	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st) != 0)
		return hv_err_new(errno, "%s: %s", file, strerror(errno));
	if (S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= KEPT_FACTS_BYTES_MAX) {
		bytes = hv_alloc((size_t)st.st_size);
		n = read(fd, bytes, (size_t)st.st_size);
	}
	if (n != st.st_size || !bytes)
		return hv_err_new(EINVAL, "%s: is not a file of this session", file);
	f->bytes = hv_take(bytes);
	f->len_bytes = (size_t)n;
	return NULL;
}

/* -- messages ---------------------------------------------------------------------------------- */

struct hv_err *kept_facts_send(int socket, unsigned kind, struct hv_span facts)
{
	struct hv_message question = {
		.kind = kind, .bytes = (uint8_t *)facts.data, .len_bytes = facts.len_bytes};
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	return hv_channel_ask(socket, &question, &answer);
}

static void copy(const uint8_t *bytes, size_t len_bytes, uint8_t **ret, size_t *ret_len_bytes)
{
	*ret = hv_alloc(len_bytes);
	memcpy(*ret, bytes, len_bytes);
	*ret_len_bytes = len_bytes;
}

struct hv_err *kept_facts_take(struct kept_facts *f, const struct hv_message *question)
{
	if (!question->len_bytes || question->len_bytes > KEPT_FACTS_BYTES_MAX)
		return hv_err_new(E2BIG, "too many derived facts: %zu bytes", question->len_bytes);
	kept_facts_deinit(f);
	copy(question->bytes, question->len_bytes, &f->bytes, &f->len_bytes);
	return NULL;
}

struct hv_err *kept_facts_ask(int socket, unsigned kind, uint8_t **ret, size_t *ret_len_bytes)
{
	struct hv_message question = {.kind = kind};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = hv_channel_ask(socket, &question, &answer);

	if (err || !answer.len_bytes)
		return err;
	*ret = hv_take(answer.bytes);
	*ret_len_bytes = answer.len_bytes;
	return NULL;
}

void kept_facts_answer(const struct kept_facts *f, struct hv_message *ret)
{
	if (f->bytes)
		copy(f->bytes, f->len_bytes, &ret->bytes, &ret->len_bytes);
}
