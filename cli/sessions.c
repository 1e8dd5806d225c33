/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/sessions.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cli/domain_state.h"
#include "vmm/unix_socket.h"

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

/* -- in the errand process -------------------------------------------------------------------- */

/* Does not block: a service that accepts no connections must not delay the others. */
static struct hv_err *connect_at_once(const struct rundir_info *info, int *ret)
{
	HV_AUTO_FREE char *path = rundir_path(info->path, "sock");
	HV_AUTO_FD int fd = -1;
	struct sockaddr_un addr;
	struct hv_err *err = hv_unix_socket(path, SOCK_NONBLOCK, &addr, &fd);

	if (err)
		return err;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || fcntl(fd, F_SETFL, 0) != 0)
		return hv_err_new(errno, "service (pid %d) does not answer: %s",
				  (int)info->service_pid, strerror(errno));
	*ret = hv_take_fd(&fd);
	return NULL;
}

static struct hv_err *run(const struct rundir_info *list, size_t nr, const char *id,
			  struct hv_text *out, int *ret_fd)
{
	for (size_t i = 0; i < nr; i++) {
		if (domain_state(&list[i]) != DOMAIN_ATTACHED ||
		    (id && strcmp(list[i].id, id) != 0))
			continue;
		add_session(out, &list[i]);
		if (id)
			return connect_at_once(&list[i], ret_fd);
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
	err = run(list, nr, id, &out, &fd);
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
	struct rundir_info info;
	struct hv_err *err = errand_ask(e, &what, &answer);
	struct hv_span rest = {answer.bytes, answer.len_bytes};

	if (err)
		return hv_err_in(err, "domain '%s'", id);
	if (answer.nr_fds != 1 || !take_session(&rest, &info))
		return hv_err_new(
			EPROTO, "domain '%s': the helper process sent no connection to the session",
			id);
	*ret = (struct client){.fd = answer.fds[0], .spec = hv_strdup(id), .info = info};
	answer.fds[0] = -1;
	return NULL;
}
