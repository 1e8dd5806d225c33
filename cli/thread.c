/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/thread.h"

#include <string.h>

struct hv_err *thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx, const char *name)
{
	int code = pthread_create(ret, NULL, run, ctx);

	return code ? hv_err_new(code, "cannot start the thread of %s: %s", name, strerror(code))
		    : NULL;
}
