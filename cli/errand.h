/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A helper process that keeps the user's rights. It performs a few operations, the errands, for a
 * verb that has given up its rights to read untrusted data (base/confine.h). The set of errands is
 * fixed at the start, and the helper parses only short requests, because the verb may be
 * compromised.
 *
 *      the verb --request, a name--> errands
 *               <--errno, a file----
 *
 * The helper ends with the process that started it. Verbs may add errands. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "cli/client.h"
#include "export/output.h"
#include "vmm/broker/channel.h"

/* Kinds of requests; answers have lower numbers. Errands of a verb start at ERRAND_OWN. */
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
	int dir_fd;	/* files are created below it; -1: file errands fail */
	int keep_fd;	/* another file that the helper needs; -1: none */
	uint64_t needs; /* capabilities that the helper keeps (base/capabilities.h) */
	/* Called in the helper: performs an errand of the verb. The request has at most
	 * ERRAND_BYTES_MAX bytes and a NUL after them. The helper closes the files of RET
	 * afterwards. May be NULL. */
	struct hv_err *(*run)(void *ctx, const struct hv_message *what, struct hv_message *ret);
	void (*end)(void *ctx); /* called in the helper before it ends; may be NULL */
	void *ctx;		/* fork(2) copies its target */
};
#define ERRAND_CONFIG_NONE                                                                         \
	{                                                                                          \
		.dir_fd = -1, .keep_fd = -1                                                        \
	}

struct errand {
	pid_t pid;
	int socket; /* -1: not running */
	pthread_mutex_t lock;
	struct hv_maker maker; /* asks the helper to create files below dir_fd */
};
#define ERRAND_NONE                                                                                \
	{                                                                                          \
		.socket = -1, .lock = PTHREAD_MUTEX_INITIALIZER                                    \
	}

/* Descriptors of dir_fd and keep_fd in `run` and `end`. */
#define ERRAND_DIR_FD  4
#define ERRAND_KEEP_FD 5

/* Starts the helper, which has one thread. E must not move until errand_end(). */
struct hv_err *errand_begin(struct errand *e, const struct errand_config *config) hv_must_use;
/* Runs the errand KIND about NAME. Any thread. The answer is a file, or empty if RET_FD is NULL.
 * Returns 0 or an errno; EPIPE: the helper has ended. */
int errand_do(struct errand *e, uint32_t kind, const char *name, int *ret_fd);
/* Like errand_do(), for an errand with numbers or several files. The caller deinits RET. EPIPE: the
 * helper has ended. */
struct hv_err *errand_ask(struct errand *e, const struct hv_message *what,
			  struct hv_message *ret) hv_must_use;
/* Ends the helper and waits for it. */
void errand_end(struct errand *e);

/* -- errands about sessions ------------------------------------------------------------------- */

/* Lists the sessions of this host and connects to them, for a verb that follows sessions after it
 * gave up its rights. The helper reads the run directory, whose files root's processes
 * write, and connects to the sockets. client.h sends the requests. */

/* Kinds of requests, which sessions_run() performs in the helper. */
enum { SESSIONS_LIST = ERRAND_OWN, SESSIONS_CONNECT };
struct hv_err *sessions_run(const char *run_dir, const struct hv_message *what,
			    struct hv_message *ret) hv_must_use;

/* Lists the sessions that accept connections, with their ids, names and processes; the rest of the
 * rundir_info is empty. The caller frees the list with rundir_list_free(). */
struct hv_err *sessions_list(struct errand *e, struct rundir_info **ret,
			     size_t *ret_nr) hv_must_use;
/* Connects to the session ID. Any thread. */
struct hv_err *sessions_connect(struct errand *e, const char *id, struct client *ret) hv_must_use;
