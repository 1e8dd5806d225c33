/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the threads that a command cannot do without. */
#pragma once

#include <pthread.h>

#include "base/err.h"

/* NAME is for the message. On errors there is no thread. */
struct hv_err *thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
			    const char *name) hv_must_use;
