/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/host_client.h"

#include <json-c/json.h>
#include <string.h>

#include "cli/service/btf_files.h"
#include "cli/service/policy.h"
#include "vmm/broker/channel.h"

static struct hv_err *ask(struct service *s, struct hv_message *question, struct hv_message *ret)
{
	return hv_channel_ask(s->broker.control, question, ret);
}

static struct hv_message about(enum host_request kind, const char *text)
{
	return (struct hv_message){
		.kind = kind, .bytes = (uint8_t *)text, .len_bytes = strlen(text)};
}

static void log_failure(struct service *s, const char *what, struct hv_err *err)
{
	if (err)
		audit_log(&s->audit, "%s: %s", what, err->message);
	hv_err_free(err);
}

static void forward(void *ctx, const char *line)
{
	struct service *s = ctx;
	struct hv_message question = about(HOST_SYSLOG, line);
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	hv_err_free(ask(s, &question, &answer));
}

/* Uses the files from the broker: the log, and the socket if it listens. */
static void use_log(struct service *s, struct hv_message *answer)
{
	const struct hv_guest_info *guest = hv_guest_info(s->guest);

	audit_close(&s->audit);
	s->audit = (struct audit){
		.target = s->config->audit_target,
		.log_fd = answer->nr_fds ? hv_take_fd(&answer->fds[0]) : -1,
		.domain = hv_strdup(guest->name),
		.id = hv_strdup(guest->id),
		.forward = forward,
		.ctx = s,
	};
}

struct hv_err *host_open_rundir(struct service *s)
{
	struct hv_message question = {.kind = HOST_OPEN_RUNDIR};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(s, &question, &answer);

	if (err)
		return err;
	s->dir.has_left = answer.args[0] != 0;
	s->dir.path = hv_strdup((const char *)answer.bytes);
	use_log(s, &answer);
	return NULL;
}

struct hv_err *host_listen(struct service *s)
{
	struct hv_message question = {.kind = HOST_LISTEN};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(s, &question, &answer);

	if (err)
		return err;
	s->listen_fd = answer.nr_fds ? hv_take_fd(&answer.fds[0]) : -1;
	return NULL;
}

void host_keep_rundir(struct service *s)
{
	struct hv_message question = {.kind = HOST_KEEP_RUNDIR};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(s, &question, &answer);

	if (!err && answer.nr_fds == 2) {
		use_log(s, &answer);
		close(s->listen_fd);
		s->listen_fd = hv_take_fd(&answer.fds[1]);
	}
	log_failure(s, "the run directory", err);
}

void host_leave_rundir(struct service *s, const char *reason)
{
	struct hv_message question = about(HOST_LEAVE_RUNDIR, reason ? reason : "");
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	question.args[0] = s->dir.has_left;
	question.args[1] = reason != NULL;
	log_failure(s, "the run directory", ask(s, &question, &answer));
	rundir_forget(&s->dir);
}

struct hv_err *host_open_btf(void *ctx, const char *release, struct hv_btf_given *ret)
{
	const struct service *s = ctx;

	return btf_files_ask(s->broker.control, HOST_BTF, release, ret);
}

struct hv_err *host_keep_facts(void *ctx, struct hv_span facts)
{
	const struct service *s = ctx;

	return kept_facts_send(s->broker.control, HOST_FACTS, facts);
}

void host_read_policy(struct service *s)
{
	struct hv_message question = {.kind = HOST_POLICY, .args = {s->access.number}};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(s, &question, &answer);

	if (!err && answer.args[0] != s->access.number) {
		policy_free(s->access.policy);
		s->access.policy = policy_unpack(answer.bytes, answer.len_bytes);
		s->access.number = answer.args[0];
	}
	log_failure(s, "the rules", err);
}

struct audit_actor host_actor(struct service *s, uid_t uid, pid_t pid)
{
	struct hv_message question = {.kind = HOST_ACTOR, .args = {uid, (uint64_t)pid}};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct audit_actor who = {.uid = uid, .pid = pid, .login_uid = -1};
	struct hv_err *err = ask(s, &question, &answer);

	if (!err && answer.len_bytes == sizeof(who))
		memcpy(&who, answer.bytes, sizeof(who));
	log_failure(s, "the client's identity", err);
	return who;
}

int host_open_dump(struct service *s)
{
	struct hv_message question = {.kind = HOST_DUMP};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	HV_AUTO_ERR struct hv_err *err = ask(s, &question, &answer);

	if (err)
		errno = err->code;
	return err || !answer.nr_fds ? -1 : hv_take_fd(&answer.fds[0]);
}

void host_umount(struct service *s, const char *dir)
{
	struct hv_message question = about(HOST_UMOUNT, dir);
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	hv_err_free(ask(s, &question, &answer));
}

struct json_object *host_processes(struct service *s)
{
	struct hv_message question = {.kind = HOST_PROCESSES};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct json_object *list = NULL;

	log_failure(s, "the processes", ask(s, &question, &answer));
	if (answer.bytes)
		list = json_tokener_parse((const char *)answer.bytes);
	return list ? list : json_object_new_array();
}
