/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/write.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct hv_err *profile_write(const char *path, int fd, const struct hv_text *text)
{
	if (ftruncate(fd, 0) < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	for (size_t at = 0; at < text->len_bytes;) {
		ssize_t nr = write(fd, text->data + at, text->len_bytes - at);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return hv_err_new(errno, "%s: %s", path, strerror(errno));
		at += (size_t)nr;
	}
	return NULL;
}
