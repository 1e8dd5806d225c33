/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that keeps the user's rights, and does a few things for one that has given them up to
 * read what strangers write (base/confine.h). What it can be asked to do is fixed when it begins,
 * and it parses nothing but short requests: the process that asks may have been taken over.
 *
 *      the verb --request, a name--> errands
 *               <--errno, a file----
 *
 * It ends when the process that began it does.
 * Leaves to others: what a verb's own errands do. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "export/maker.h"
#include "vmm/warden/channel.h"

/* Kinds of requests; answers have lower ones. A verb's own ones begin with ERRAND_OWN. */
enum {
	ERRAND_MAKE_FILE = 2,
	ERRAND_MAKE_DIR,
	ERRAND_PUT_FILE,
	ERRAND_REMOVE_FILE,
	ERRAND_OWN = 16,
};

#define ERRAND_NAME_MAX	 1024
#define ERRAND_BYTES_MAX 65536

struct errand_config {
	int dir_fd;	/* below which files are made; -1: none are */
	int keep_fd;	/* another file that the process needs; -1: none */
	uint64_t needs; /* capabilities that it keeps (base/capabilities.h) */
	/* Does one of the verb's own errands. WHAT has at most ERRAND_BYTES_MAX bytes, which are
	 * followed by a zero. Files of RET are closed afterwards. May be NULL. */
	struct hv_err *(*run)(void *ctx, const struct hv_message *what, struct hv_message *ret);
	void (*end)(void *ctx); /* when nobody can ask any more; may be NULL */
	void *ctx;		/* what it points to is copied by fork(2) */
};
#define ERRAND_CONFIG_NONE                                                                         \
	{                                                                                          \
		.dir_fd = -1, .keep_fd = -1                                                        \
	}

struct errand {
	pid_t pid;
	int socket; /* -1: there is no such process */
	pthread_mutex_t lock;
	struct hv_maker maker; /* has it make files below dir_fd */
};
#define ERRAND_NONE                                                                                \
	{                                                                                          \
		.socket = -1, .lock = PTHREAD_MUTEX_INITIALIZER                                    \
	}

/* In RUN and END: the files of the configuration have these numbers. */
#define ERRAND_DIR_FD  4
#define ERRAND_KEEP_FD 5

/* E stays where it is until errand_end(). The process has one thread. */
struct hv_err *errand_begin(struct errand *e, const struct errand_config *config) hv_must_use;
/* Any thread. The error is that of the errand; EPIPE: the process has ended. The caller deinits
 * RET. */
struct hv_err *errand_ask(struct errand *e, const struct hv_message *what,
			  struct hv_message *ret) hv_must_use;
/* Likewise, for errands whose request is a NAME and whose answer is a file. RET_FD NULL: or
 * nothing. Returns 0 or an errno. */
int errand_do(struct errand *e, uint32_t kind, const char *name, int *ret_fd);
/* Waits until the process has ended. */
void errand_end(struct errand *e);
