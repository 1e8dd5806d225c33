/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/errand.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/guard.h"
#include "cli/domain_state.h"

#define FAR_FD	  64 /* above the process's open descriptors */
#define SOCKET_FD 3
#define LAST_FD	  ERRAND_KEEP_FD

/* -- the helper process ----------------------------------------------------------------------- */

static struct hv_err *refused(int code)
{
	return code ? hv_err_new(code, "%s", strerror(code)) : NULL;
}

static struct hv_err *make(const struct hv_message *what, struct hv_message *ret)
{
	static const int dir = ERRAND_DIR_FD;
	const struct hv_maker maker = hv_maker_of(&dir);
	const char *name = (const char *)what->bytes;
	size_t name_len = strlen(name);
	HV_AUTO_FD int fd = -1;
	int code;

	switch (what->kind) {
	case ERRAND_MAKE_FILE:
		code = maker.make_file(maker.ctx, name, &fd);
		break;
	case ERRAND_MAKE_DIR:
		code = maker.make_dir(maker.ctx, name, &fd);
		break;
	case ERRAND_PUT_FILE:
		/* the bytes follow the name and its NUL */
		if (name_len >= what->len_bytes)
			return refused(EPROTO);
		code = maker.put_file(maker.ctx, name, what->bytes + name_len + 1,
				      what->len_bytes - name_len - 1);
		break;
	case ERRAND_REMOVE_FILE:
		code = maker.remove_file(maker.ctx, name);
		break;
	default:
		return refused(EPROTO);
	}
	hv_message_add_fd(ret, fd);
	return refused(code);
}

static struct hv_err *run(const struct errand_config *config, const struct hv_message *what,
			  struct hv_message *ret)
{
	if (what->len_bytes > ERRAND_BYTES_MAX ||
	    (what->len_bytes && strlen((const char *)what->bytes) > ERRAND_NAME_MAX))
		return refused(ENAMETOOLONG);
	if (what->kind >= ERRAND_OWN)
		return config->run ? config->run(config->ctx, what, ret) : refused(EPROTO);
	return config->dir_fd >= 0 && what->len_bytes ? make(what, ret) : refused(EPROTO);
}

/* Returns false if no requester is left. */
static bool serve_one(const struct errand_config *config)
{
	HV_AUTO_MESSAGE struct hv_message what = {0};
	HV_AUTO_MESSAGE struct hv_message ret = {0};
	struct hv_err *err = hv_channel_receive(SOCKET_FD, &what);

	if (!err)
		err = hv_channel_answer(SOCKET_FD, run(config, &what, &ret), &ret);
	if (err) {
		hv_err_free(err);
		return false;
	}
	return true;
}

/* The requesting process handles the terminal's signals. */
static void ignore_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	sigset_t none;

	for (size_t i = 0; i < HV_ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Moves SOCKET and the files of CONFIG to their fixed descriptors. */
static void keep_files(const struct errand_config *config, int socket)
{
	const int kept[] = {socket, config->dir_fd, config->keep_fd};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), copies[HV_ARRAY_LEN(kept)];

	for (size_t i = 0; i < HV_ARRAY_LEN(kept); i++)
		copies[i] = kept[i] < 0 ? -1 : fcntl(kept[i], F_DUPFD_CLOEXEC, FAR_FD);
	for (int fd = 0; fd < SOCKET_FD; fd++)
		dup2(null, fd);
	for (size_t i = 0; i < HV_ARRAY_LEN(kept); i++)
		dup2(copies[i] < 0 ? null : copies[i], SOCKET_FD + (int)i);
	close_range(LAST_FD + 1, ~0u, 0);
}

static _Noreturn void become(const struct errand_config *config, int socket)
{
	HV_AUTO_ERR struct hv_err *err = hv_capabilities_keep(config->needs);

	prctl(PR_SET_NAME, "hvtrace:errands");
	ignore_signals();
	keep_files(config, socket);
	while (!err && serve_one(config))
		;
	if (config->end)
		config->end(config->ctx);
	_exit(err != NULL);
}

/* -- the requesting process ------------------------------------------------------------------- */

struct hv_err *errand_ask(struct errand *e, const struct hv_message *what, struct hv_message *ret)
{
	struct hv_err *err;

	pthread_mutex_lock(&e->lock);
	err = hv_channel_ask(e->socket, what, ret);
	pthread_mutex_unlock(&e->lock);
	return err;
}

int errand_do(struct errand *e, uint32_t kind, const char *name, int *ret_fd)
{
	const struct hv_message what = {
		.kind = kind, .bytes = (uint8_t *)name, .len_bytes = strlen(name)};
	HV_AUTO_MESSAGE struct hv_message ret = {0};
	HV_AUTO_ERR struct hv_err *err = errand_ask(e, &what, &ret);

	if (err)
		return err->code ? err->code : EIO;
	if (!ret_fd)
		return 0;
	if (ret.nr_fds != 1)
		return EPROTO;
	*ret_fd = ret.fds[0];
	ret.fds[0] = -1;
	return 0;
}

static int ask_for_file(void *ctx, const char *name, int *ret_fd)
{
	return errand_do(ctx, ERRAND_MAKE_FILE, name, ret_fd);
}

static int ask_for_dir(void *ctx, const char *name, int *ret_fd)
{
	return errand_do(ctx, ERRAND_MAKE_DIR, name, ret_fd);
}

static int ask_to_put(void *ctx, const char *name, const void *bytes, size_t len_bytes)
{
	size_t name_bytes = strlen(name) + 1;
	HV_AUTO_FREE uint8_t *all = hv_alloc(name_bytes + len_bytes);
	const struct hv_message what = {
		.kind = ERRAND_PUT_FILE, .bytes = all, .len_bytes = name_bytes + len_bytes};
	HV_AUTO_MESSAGE struct hv_message ret = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	memcpy(all, name, name_bytes);
	memcpy(all + name_bytes, bytes, len_bytes);
	err = errand_ask(ctx, &what, &ret);
	return err ? err->code : 0;
}

static int ask_to_remove(void *ctx, const char *name)
{
	return errand_do(ctx, ERRAND_REMOVE_FILE, name, NULL);
}

struct hv_err *errand_begin(struct errand *e, const struct errand_config *config)
{
	int ends[2], code;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return hv_err_new(errno, "cannot start a helper process: socketpair: %s",
				  strerror(errno));
	e->pid = fork();
	if (e->pid == 0)
		become(config, ends[1]);
	code = errno;
	close(ends[1]);
	e->socket = ends[0];
	e->maker = (struct hv_maker){
		.ctx = e,
		.make_file = ask_for_file,
		.make_dir = ask_for_dir,
		.put_file = ask_to_put,
		.remove_file = ask_to_remove,
	};
	return e->pid < 0
		       ? hv_err_new(code, "cannot start a helper process: fork: %s", strerror(code))
		       : NULL;
}

void errand_end(struct errand *e)
{
	hv_close_at(&e->socket);
	e->socket = -1;
	if (e->pid > 0)
		while (waitpid(e->pid, NULL, 0) < 0 && errno == EINTR)
			;
	e->pid = 0;
}

/* -- errands about sessions ------------------------------------------------------------------- */

/* A session is encoded as five NUL-terminated strings: id, name, spec, the pids of the VMM and the
 * service. */
static void add_session(struct hv_text *out, const struct rundir_info *info)
{
	HV_AUTO_FREE char *vmm = hv_format("%d", (int)info->vmm_pid);
	HV_AUTO_FREE char *service = hv_format("%d", (int)info->service_pid);
	const char *const words[] = {info->id, info->name, info->spec, vmm, service};

	for (size_t i = 0; i < HV_ARRAY_LEN(words); i++)
		hv_text_add_bytes(out, words[i], strlen(words[i]) + 1);
}

static const char *next_word(struct hv_span *rest)
{
	const char *word = (const char *)rest->data;
	size_t len = strnlen(word, rest->len_bytes) + 1;

	if (len > rest->len_bytes)
		return NULL;
	rest->data += len;
	rest->len_bytes -= len;
	return word;
}

/* Returns false at the end of the list. */
static bool take_session(struct hv_span *rest, struct rundir_info *ret)
{
	const char *words[5];

	for (size_t i = 0; i < HV_ARRAY_LEN(words); i++) {
		words[i] = next_word(rest);
		if (!words[i])
			return false;
	}
	*ret = (struct rundir_info){
		.id = hv_strdup(words[0]),
		.name = hv_strdup(words[1]),
		.spec = hv_strdup(words[2]),
		.vmm_pid = (pid_t)strtol(words[3], NULL, 10),
		.service_pid = (pid_t)strtol(words[4], NULL, 10),
		.live = true,
		.listens = true,
	};
	return true;
}

/* -- in the helper ---------------------------------------------------------------------------- */

static struct hv_err *run_on(const struct rundir_info *list, size_t nr, const char *id,
			     struct hv_text *out, int *ret_fd)
{
	for (size_t i = 0; i < nr; i++) {
		if (domain_state(&list[i]) != DOMAIN_ATTACHED ||
		    (id && strcmp(list[i].id, id) != 0))
			continue;
		add_session(out, &list[i]);
		if (id)
			return client_socket(&list[i], ret_fd);
	}
	return id ? hv_err_new(ENOTCONN, "no session of that id") : NULL;
}

struct hv_err *sessions_run(const char *run_dir, const struct hv_message *what,
			    struct hv_message *ret)
{
	const char *id = what->kind == SESSIONS_CONNECT ? (const char *)what->bytes : NULL;
	HV_AUTO_TEXT struct hv_text out = {0};
	struct rundir_info *list = NULL;
	HV_AUTO_FD int fd = -1;
	size_t nr = 0;
	struct hv_err *err = rundir_list(run_dir, &list, &nr);

	if (err)
		return err;
	err = run_on(list, nr, id, &out, &fd);
	rundir_list_free(list, nr);
	if (err)
		return err;
	hv_message_add_fd(ret, fd);
	ret->len_bytes = out.len_bytes;
	ret->bytes = (uint8_t *)hv_text_take(&out);
	return NULL;
}

/* -- in the unprivileged process -------------------------------------------------------------- */

struct hv_err *sessions_list(struct errand *e, struct rundir_info **ret, size_t *ret_nr)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	const struct hv_message what = {.kind = SESSIONS_LIST};
	struct rundir_info *list = NULL, info;
	struct hv_err *err = errand_ask(e, &what, &answer);
	struct hv_span rest = {answer.bytes, answer.len_bytes};
	size_t nr = 0;

	if (err)
		return err;
	while (take_session(&rest, &info)) {
		list = hv_realloc_array(list, nr + 1, sizeof(*list));
		list[nr++] = info;
	}
	*ret = list;
	*ret_nr = nr;
	return NULL;
}

struct hv_err *sessions_connect(struct errand *e, const char *id, struct client *ret)
{
	const struct hv_message what = {
		.kind = SESSIONS_CONNECT, .bytes = (uint8_t *)id, .len_bytes = strlen(id)};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	struct hv_err *err = errand_ask(e, &what, &answer);
	struct hv_span rest = {answer.bytes, answer.len_bytes};

	if (err)
		return hv_err_in(err, "domain '%s'", id);
	if (answer.nr_fds != 1 || !take_session(&rest, &info))
		return hv_err_new(
			EPROTO, "domain '%s': the helper process sent no connection to the session",
			id);
	err = client_adopt(answer.fds[0], id, &info, ret);
	if (!err)
		answer.fds[0] = -1;
	return err;
}
