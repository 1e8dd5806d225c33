/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/broker.h"

#include <grp.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/domain_state.h"
#include "cli/mountpoint.h"
#include "cli/service/access.h"
#include "cli/service/btf_files.h"
#include "cli/service/host_client.h"
#include "cli/service/dumps.h"
#include "cli/service/log_budget.h"
#include "cli/service/recovery.h"
#include "cli/service/state.h"
#include "vmm/hosttrace/instance.h"
#include "vmm/unix_socket.h"
#include "vmm/broker/channel.h"
#include "vmm/broker/server.h"
#include "vmm/broker/client.h"
#include "vmm/broker/wire.h"

#define REFUSALS_AUDITED 10 /* limit per session */
#define KILLED_MS	 5000

/* The capabilities of the broker and of its child processes. */
#define FOR_VMM	    (HV_CAP(SYS_PTRACE) | HV_CAP(KILL))
#define FOR_FILES   (HV_CAP(DAC_OVERRIDE) | HV_CAP(DAC_READ_SEARCH) | HV_CAP(CHOWN) | HV_CAP(FOWNER))
#define FOR_SANDBOX (HV_CAP(SYS_ADMIN) | HV_CAP(SYS_CHROOT) | HV_CAP(SETUID) | HV_CAP(SETGID))
#define NEEDS	    (FOR_VMM | FOR_FILES | FOR_SANDBOX) /* SYS_ADMIN also unmounts stale mounts */

struct broker {
	struct service service; /* the broker's part: guest, directory, log, rules */
	struct hv_broker_server *server;
	unsigned nr_refused;	 /* refused writes already processed */
	unsigned nr_audited;	 /* audited refusals */
	struct log_budget lines; /* budget for the service's lines in the system's log */
	bool has_stored_btf;	 /* the directory has the copy of the BTF file */
	bool has_opened;	 /* HOST_OPEN_RUNDIR has succeeded */
	bool is_attached;	 /* the service has asked for the socket */
	bool is_over;		 /* the service reported its end */
};

/* -- the run directory ------------------------------------------------------------------------ */

/* The directory with its lock, the log and the socket, which are created together. */
struct rundir_files {
	struct rundir dir;
	struct audit audit;
	int listen_fd;
};

static void rundir_files_deinit(struct rundir_files *h)
{
	hv_close_at(&h->listen_fd);
	audit_close(&h->audit);
	rundir_remove(&h->dir);
}

static struct hv_err *listen_at(const struct rundir *dir, int *ret)
{
	HV_AUTO_FREE char *path = rundir_path(dir->path, "sock");
	HV_AUTO_FD int fd = -1;
	struct sockaddr_un addr;
	struct hv_err *err = hv_unix_socket(path, SOCK_NONBLOCK, &addr, &fd);

	if (err)
		return err;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(fd, 16) != 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	*ret = hv_take_fd(&fd);
	return NULL;
}

static struct hv_err *write_pid(const struct rundir *dir, pid_t pid)
{
	HV_AUTO_FREE char *path = rundir_path(dir->path, "pid");
	FILE *f = fopen(path, "we");

	if (!f)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	fprintf(f, "%d\n", (int)pid);
	if (fclose(f) != 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	return NULL;
}

/* Borrows its strings. */
static struct rundir_info info_of(const struct service *s)
{
	const struct hv_guest_info *guest = hv_guest_info(s->guest);

	return (struct rundir_info){
		.id = (char *)guest->id,
		.name = (char *)guest->name,
		.spec = (char *)s->config->spec,
		.uri = (char *)s->config->libvirt_uri,
		.btf = btf_files_are_used(&s->btf) ? s->btf.path : NULL,
		.btf_release = s->btf.release,
		.btf_bytes = s->btf.copy_bytes,
		.btf_proved = s->btf.is_proved,
		.vmm_pid = guest->pid,
		.service_pid = s->pid,
	};
}

static struct hv_err *write_facts(const struct service *s, const struct rundir *dir)
{
	HV_AUTO_FREE char *facts = rundir_path(dir->path, RUNDIR_FACTS);

	return s->facts.bytes ? kept_facts_store(&s->facts, facts) : NULL;
}

/* Writes the copy of the BTF file and the derived facts, if there are some, for `hvtrace recover`,
 * and then the info, which contains the length of the copy. */
static struct hv_err *write_info(const struct service *s, const struct rundir *dir)
{
	struct rundir_info info = info_of(s);
	HV_AUTO_FREE char *btf = rundir_path(dir->path, RUNDIR_BTF);
	struct hv_err *err = btf_files_are_used(&s->btf) ? btf_files_store(&s->btf, btf) : NULL;

	if (!err)
		err = write_facts(s, dir);
	return err ? err : rundir_write_info(dir, &info);
}

/* The changes that a dead session left may need its BTF file, which only recover uses. So an attach
 * that would fail because the kernel has no types must not look at the kernel, and must not replace
 * the session's info. */
static struct hv_err *refuse_left(struct rundir *dir, const char *spec)
{
	AUTO_RUNDIR_INFO struct rundir_info left = {0};
	struct hv_err *err;

	if (!dir->has_left || !rundir_read_info(dir, &left) || !left.btf)
		return NULL;
	rundir_remove(dir); /* which keeps it as it was: this broker has nothing to recover */
	err = domain_state_left(spec);
	err->facts &= ~(unsigned)HV_ERR_NEEDS_RECOVERY; /* the message has the advice */
	return err;
}

/* The caller owns the created files, on errors, too. */
static struct hv_err *make(const struct service *s, struct rundir *dir, struct audit *audit)
{
	const struct service_config *config = s->config;
	const struct hv_guest_info *guest = hv_guest_info(s->guest);
	HV_AUTO_FREE char *log = NULL;
	struct hv_err *err = domain_state_take(config->run_dir, guest->id, config->spec, dir);

	if (!err)
		err = refuse_left(dir, config->spec);
	if (err)
		return err;
	log = rundir_path(dir->path, "log");
	err = audit_open(log, config->audit_target, guest->name, guest->id, audit);
	if (!err)
		err = write_info(s, dir);
	if (!err)
		err = write_pid(dir, s->pid);
	return err;
}

/* Creates everything but the socket. EBUSY: another service has the directory. */
static struct hv_err *rundir_files_open(struct service *s)
{
	struct hv_err *err = make(s, &s->dir, &s->audit);

	if (!err)
		hv_host_trace_clean(hv_guest_info(s->guest)->id);
	return err;
}

static struct hv_err *rundir_files_listen(struct service *s)
{
	return listen_at(&s->dir, &s->listen_fd);
}

/* Recreates files that were removed. Called about once a second, which also retries failures. */
static bool rundir_files_keep(struct service *s)
{
	struct rundir_files h = {RUNDIR_NONE, AUDIT_NONE, -1};
	struct hv_err *err;

	audit_trim(&s->audit);
	if (rundir_is_ours(&s->dir))
		return false;
	err = make(s, &h.dir, &h.audit);
	if (!err)
		err = listen_at(&h.dir, &h.listen_fd);
	if (err) {
		hv_err_free(err);
		rundir_files_deinit(&h);
		return false;
	}
	audit_log(&h.audit, "the directory of this session had been removed");
	close(s->listen_fd);
	audit_close(&s->audit);
	rundir_forget(&s->dir);
	s->dir = h.dir;
	s->audit = h.audit;
	s->listen_fd = h.listen_fd;
	s->access.was_read = false;
	return true;
}

/* Records in the info that process PID recovers, and removes the socket. */
static void rundir_files_recovers(struct service *s, pid_t pid)
{
	struct rundir_info info = info_of(s);
	HV_AUTO_FREE char *sock = rundir_path(s->dir.path, "sock");

	info.service_pid = pid;
	info.recovers = true;
	hv_err_free(rundir_write_info(&s->dir, &info));
	unlink(sock);
}

/* Leaves the directory with REASON for later clients; NULL: removes it. */
static void rundir_files_leave(struct service *s, const char *reason)
{
	/* The guest may already be closed; the directory's name is its id. */
	const char *name = s->dir.path ? strrchr(s->dir.path, '/') : NULL;

	if (name && rundir_is_ours(&s->dir))
		hv_host_trace_clean(name + 1);
	if (reason)
		rundir_leave(&s->dir, reason);
	else
		rundir_remove(&s->dir);
}

/* -- processes of the session ----------------------------------------------------------------- */

struct rights {
	char name[17];
	unsigned uid;
	uint64_t permitted;
	uint64_t bounding; /* the capability bounding set */
	unsigned seccomp;
	unsigned no_new_privs;
};

static bool read_rights(pid_t pid, struct rights *ret)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	char line[256];

	*ret = (struct rights){0};
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Name:\t%16[^\n]", ret->name);
		sscanf(line, "Uid:\t%*u %u", &ret->uid);
		sscanf(line, "CapPrm:\t%" SCNx64, &ret->permitted);
		sscanf(line, "CapBnd:\t%" SCNx64, &ret->bounding);
		sscanf(line, "Seccomp:\t%u", &ret->seccomp);
		sscanf(line, "NoNewPrivs:\t%u", &ret->no_new_privs);
	}
	if (f)
		fclose(f);
	return f && ret->name[0];
}

/* Adds the name of CAP, or its number if no process of a session keeps it. */
static void add_capability(struct hv_text *out, unsigned cap)
{
	static const char *const names[] = {
		[CAP_CHOWN] = "chown",
		[CAP_DAC_OVERRIDE] = "dac_override",
		[CAP_DAC_READ_SEARCH] = "dac_read_search",
		[CAP_FOWNER] = "fowner",
		[CAP_KILL] = "kill",
		[CAP_SETGID] = "setgid",
		[CAP_SETUID] = "setuid",
		[CAP_SYS_CHROOT] = "sys_chroot",
		[CAP_SYS_PTRACE] = "sys_ptrace",
		[CAP_SYS_ADMIN] = "sys_admin",
	};

	if (cap < HV_ARRAY_LEN(names) && names[cap])
		hv_text_add(out, names[cap]);
	else
		hv_text_printf(out, "%u", cap);
}

static json_object *capabilities(const struct rights *r)
{
	HV_AUTO_TEXT struct hv_text names = {0};

	if (!r->permitted)
		return json_object_new_string("none");
	if (r->permitted == r->bounding)
		return json_object_new_string("all");
	for (unsigned cap = 0; cap < 64; cap++) {
		if (!(r->permitted >> cap & 1))
			continue;
		hv_text_add(&names, names.len_bytes ? " " : "");
		add_capability(&names, cap);
	}
	return json_object_new_string(names.data);
}

static void add_process(json_object *list, pid_t pid)
{
	HV_AUTO_TEXT struct hv_text name = {0};
	json_object *o;
	struct rights r;

	if (!read_rights(pid, &r))
		return;
	o = json_object_new_object();
	hv_text_add_guest(&name, r.name, sizeof(r.name));
	json_object_object_add(o, "pid", json_object_new_int(pid));
	json_object_object_add(o, "name", json_object_new_string(name.data));
	json_object_object_add(o, "uid", json_object_new_int64(r.uid));
	json_object_object_add(o, "capabilities", capabilities(&r));
	json_object_object_add(o, "seccomp", json_object_new_boolean(r.seccomp != 0));
	json_object_object_add(o, "no_new_privs", json_object_new_boolean(r.no_new_privs != 0));
	json_object_array_add(list, o);
}

/* Adds PID and its children, which are helpers. */
static void add_tree(json_object *list, pid_t pid)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *f = fopen(path, "re");
	int child;

	add_process(list, pid);
	while (f && fscanf(f, "%d", &child) == 1)
		add_tree(list, child);
	if (f)
		fclose(f);
}

/* Returns an array of objects: pid, name, uid, capabilities ("all", "none" or a list of names),
 * seccomp (whether there is a filter) and no_new_privs. The caller owns it. */
static json_object *processes_list(pid_t first)
{
	json_object *list = json_object_new_array();

	add_tree(list, first);
	return list;
}

/* -- host requests ----------------------------------------------------------------------------- */

/* Each function answers one request of host_client.h. */
typedef struct hv_err *(*host_answer_fn)(struct broker *w, const struct hv_message *question,
					 struct hv_message *answer);

static void answer_text(struct hv_message *answer, const char *text)
{
	answer->bytes = (uint8_t *)hv_strdup(text);
	answer->len_bytes = strlen(text);
}

static struct hv_err *answer_open_rundir(struct broker *w,
					 const struct hv_message *question hv_unused,
					 struct hv_message *answer)
{
	struct service *s = &w->service;
	struct hv_err *err = rundir_files_open(s);

	if (err)
		return err;
	w->has_opened = true;
	answer->args[0] = s->dir.has_left;
	answer_text(answer, s->dir.path);
	hv_message_add_fd(answer, s->audit.log_fd);
	return NULL;
}

/* Only the service keeps the socket, so that clients do not wait for a service that has died. */
static void give_socket(struct broker *w, struct hv_message *answer)
{
	hv_message_add_fd(answer, w->service.listen_fd);
	hv_close_at(&w->service.listen_fd);
	w->service.listen_fd = -1;
}

/* The session is attached: its BTF file, if it uses one, was proved. */
static struct hv_err *listen_there(struct broker *w, const struct hv_message *question hv_unused,
				   struct hv_message *answer)
{
	struct service *s = &w->service;
	struct hv_err *err = NULL;

	if (btf_files_are_used(&s->btf) && !s->btf.is_proved) {
		s->btf.is_proved = true;
		err = write_info(s, &s->dir);
	}
	w->is_attached = !err;
	if (!err)
		err = rundir_files_listen(s);
	if (!err)
		give_socket(w, answer);
	return err;
}

static struct hv_err *answer_keep_rundir(struct broker *w,
					 const struct hv_message *question hv_unused,
					 struct hv_message *answer)
{
	struct service *s = &w->service;

	if (!rundir_files_keep(s))
		return NULL;
	hv_message_add_fd(answer, s->audit.log_fd);
	give_socket(w, answer);
	if (answer->nr_fds != 2)
		rundir_forget(&s->dir); /* retry later */
	return NULL;
}

static struct hv_err *give_policy(struct broker *w, const struct hv_message *question,
				  struct hv_message *answer)
{
	struct access *a = &w->service.access;

	access_look(&w->service);
	answer->args[0] = a->number;
	if (a->number != question->args[0])
		answer->bytes = policy_pack(a->policy, &answer->len_bytes);
	return NULL;
}

static struct hv_err *name_actor(struct broker *w hv_unused, const struct hv_message *question,
				 struct hv_message *answer)
{
	struct audit_actor *who = hv_alloc(sizeof(*who));

	*who = audit_actor_sender((uid_t)question->args[0], (pid_t)question->args[1]);
	answer->bytes = (uint8_t *)who;
	answer->len_bytes = sizeof(*who);
	return NULL;
}

/* Logs once when lines start to be dropped, and once how many were dropped. */
static void say_dropped(struct broker *w, const char *key, uint64_t number)
{
	struct audit_actor self = audit_actor_self();
	struct audit_entry e = audit_begin(&w->service.audit, &self, "dropped");

	audit_number(&e, key, number);
	audit_end(&e);
}

static struct hv_err *write_syslog(struct broker *w, const struct hv_message *question,
				   struct hv_message *answer hv_unused)
{
	const char *line = (const char *)question->bytes;
	uint64_t nr_dropped = 0;

	switch (log_budget_take(&w->lines, question->len_bytes, hv_now_ns(), &nr_dropped)) {
	case LOG_PASSES:
		if (nr_dropped)
			say_dropped(w, "lines", nr_dropped);
		audit_forwarded(&w->service.audit, line);
		break;
	case LOG_DROPPED_FIRST:
		say_dropped(w, "of_bytes_a_minute", LOG_BYTES_A_MINUTE);
		break;
	case LOG_DROPPED:
		break;
	}
	return NULL;
}

static struct hv_err *open_dump(struct broker *w, const struct hv_message *question hv_unused,
				struct hv_message *answer)
{
	HV_AUTO_FD int fd = dumps_open(&w->service.dir);

	if (fd < 0)
		return hv_err_new(errno, "dump: cannot be written: %s", strerror(errno));
	hv_message_add_fd(answer, fd);
	return NULL;
}

/* A service that makes forbidden requests has a bug or is compromised. */
static void audit_refusal(struct broker *w, const char *request, const char *reason)
{
	struct audit_actor who = audit_actor_self();
	struct audit_entry e;

	/* Before the directory exists there is no log. */
	if (!w->service.dir.path || w->nr_audited++ >= REFUSALS_AUDITED)
		return;
	e = audit_begin(&w->service.audit, &who, "refusal");
	audit_text(&e, "request", request);
	audit_text(&e, "reason", reason);
	audit_end(&e);
}

/* Unmounts only mounts of this session, because the service could name another session's. A mount
 * that its own process has already unmounted gets no audit line. The service ignores the answer. */
static struct hv_err *unmount(struct broker *w, const struct hv_message *question,
			      struct hv_message *answer hv_unused)
{
	const char *dir = (const char *)question->bytes;

	if (mountpoint_is_noted(w->service.dir.path, dir))
		return mountpoint_umount(dir, MOUNTPOINT_LAZY);
	if (mountpoint_look(dir) != MOUNTPOINT_NONE)
		audit_refusal(w, "umount", "this session's tree is not mounted there");
	return NULL;
}

static struct hv_err *list_processes(struct broker *w, const struct hv_message *question hv_unused,
				     struct hv_message *answer)
{
	const struct service *s = &w->service;
	json_object *list =
		processes_list(s->config->machine ? hv_guest_info(s->guest)->pid : s->pid);

	answer_text(answer, json_object_to_json_string(list));
	json_object_put(list);
	return NULL;
}

/* The session's directory gets the copy before the service does. Nothing is changed in the guest
 * before, so a guest can be restored whatever happens to the file. */
static struct hv_err *open_btf(struct broker *w, const struct hv_message *question,
			       struct hv_message *answer)
{
	struct service *s = &w->service;
	struct hv_err *err = btf_files_answer(&s->btf, question, answer);

	if (err && err->code == EPERM)
		audit_refusal(w, "btf", "of another release");
	if (!err && !w->has_stored_btf && s->dir.path) {
		err = write_info(s, &s->dir);
		w->has_stored_btf = !err;
	}
	return err;
}

/* The service derives facts before it changes anything. Later the guest may control it, and the
 * recovery should not depend on what it sends then. */
static struct hv_err *keep_facts(struct broker *w, const struct hv_message *question,
				 struct hv_message *answer hv_unused)
{
	struct service *s = &w->service;
	struct hv_err *err;

	if (w->is_attached) {
		audit_refusal(w, "facts", "after the attach");
		return NULL;
	}
	err = kept_facts_take(&s->facts, question);
	return err ? err : write_facts(s, &s->dir);
}

static void close_guest(struct broker *w)
{
	hv_broker_server_free(w->server);
	hv_guest_free(w->service.guest);
	w->server = NULL;
	w->service.guest = NULL;
}

static struct hv_err *answer_leave_rundir(struct broker *w, const struct hv_message *question,
					  struct hv_message *answer hv_unused)
{
	HV_AUTO_TEXT struct hv_text reason = {0};

	/* A process that attaches as soon as the directory is free must be able to access the
	 * guest. */
	close_guest(w);
	w->service.dir.has_left = question->args[0] != 0;
	if (question->args[1])
		hv_text_add_lines(&reason, (const char *)question->bytes);
	if (reason.data)
		reason.data[strcspn(reason.data, "\n")] = '\0';
	rundir_files_leave(&w->service, reason.data);
	w->is_over = true;
	return NULL;
}

/* When a request is possible. */
enum when {
	ALWAYS,
	BEFORE_OPEN, /* of the session's directory, by HOST_OPEN_RUNDIR */
	AFTER_OPEN,
	WITH_DIR, /* also not while the directory is lost, until HOST_KEEP_RUNDIR makes it again */
};

static const struct {
	host_answer_fn answer;
	const char *name;
	enum when when;
} host_answers[HOST_REQUEST_END - HOST_REQUEST_FIRST] = {
#define ANSWER(kind) [HOST_##kind - HOST_REQUEST_FIRST]
	ANSWER(OPEN_RUNDIR) = {answer_open_rundir, "open the directory", BEFORE_OPEN},
	ANSWER(LISTEN) = {listen_there, "listen", WITH_DIR},
	ANSWER(KEEP_RUNDIR) = {answer_keep_rundir, "keep the directory", AFTER_OPEN},
	ANSWER(POLICY) = {give_policy, "read the rules", WITH_DIR},
	ANSWER(ACTOR) = {name_actor, "name a client", ALWAYS},
	ANSWER(SYSLOG) = {write_syslog, "log a line", AFTER_OPEN},
	ANSWER(DUMP) = {open_dump, "open the dump", WITH_DIR},
	ANSWER(UMOUNT) = {unmount, "umount", WITH_DIR},
	ANSWER(PROCESSES) = {list_processes, "list processes", ALWAYS},
	ANSWER(BTF) = {open_btf, "open a BTF file", ALWAYS},
	ANSWER(FACTS) = {keep_facts, "keep facts", WITH_DIR},
	ANSWER(LEAVE_RUNDIR) = {answer_leave_rundir, "leave the directory", AFTER_OPEN},
#undef ANSWER
};

/* Without the check, a path of the session's directory would begin with "(null)". */
static struct hv_err *check_when(const struct broker *w, unsigned i)
{
	enum when when = host_answers[i].when;

	if (when == BEFORE_OPEN && w->has_opened)
		return hv_err_new(EPROTO, "request '%s': the session has opened it before",
				  host_answers[i].name);
	if ((when == AFTER_OPEN && !w->has_opened) || (when == WITH_DIR && !w->service.dir.path))
		return hv_err_new(EPROTO, "request '%s': the session has no directory",
				  host_answers[i].name);
	return NULL;
}

static struct hv_err *run_host_request(struct broker *w, const struct hv_message *question,
				       struct hv_message *answer)
{
	unsigned i = question->kind - HOST_REQUEST_FIRST;
	struct hv_err *err = check_when(w, i);

	return err ? err : host_answers[i].answer(w, question, answer);
}

static struct hv_err *answer_host_request(struct broker *w, const struct hv_message *question)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = run_host_request(w, question, &answer);

	return hv_channel_answer(HV_HELPER_CONTROL, err, &answer);
}

/* Opens the guest at the first request, so that the service gets the error. The patch method must
 * be known before the service learns where it can read RAM. */
static struct hv_err *open_guest(struct broker *w)
{
	const struct service_config *config = w->service.config;
	struct hv_guest *guest = NULL;
	struct hv_err *err;

	if (w->server)
		return NULL;
	/* The broker opens BTF files before it reads anything of the guest. */
	err = btf_files_open(&w->service.btf, config->btf_path, btf_files_packaged,
			     BTF_FILES_DIRS_MAX);
	if (!err && config->machine)
		err = hv_broker_client_machine(HV_HELPER_OTHER, config->spec, &guest);
	else if (!err)
		err = hv_guest_open(config->spec, config->libvirt_uri, config->via, &guest);
	if (!err && config->shadow && !config->machine)
		err = hv_err_in(hv_guest_want_shadow(guest), "--patch=shadow");
	if (err) {
		btf_files_close(&w->service.btf);
		hv_guest_free(guest);
		return err;
	}
	w->service.guest = guest;
	w->server = hv_broker_server_new(guest, HV_ADOPTS_NOTHING);
	return NULL;
}

static void audit_refused_writes(struct broker *w)
{
	unsigned nr = w->server ? hv_broker_server_nr_refused(w->server) : w->nr_refused;

	if (nr != w->nr_refused)
		audit_refusal(w, "write", "it is against the broker's rules");
	w->nr_refused = nr;
}

static struct hv_err *answer(struct broker *w, const struct hv_message *question)
{
	struct hv_err *err = open_guest(w);

	if (err)
		return hv_channel_answer(HV_HELPER_CONTROL, err, &(struct hv_message){0});
	if (question->kind >= HOST_REQUEST_FIRST && question->kind < HOST_REQUEST_END)
		return answer_host_request(w, question);
	err = hv_broker_server_answer(w->server, HV_HELPER_CONTROL, question);
	audit_refused_writes(w);
	return err;
}

/* Returns when the service has ended or sends an invalid request. */
static void serve_host_requests(struct broker *w)
{
	struct hv_err *err = NULL;

	while (!err && !w->is_over) {
		HV_AUTO_MESSAGE struct hv_message question = {0};

		err = hv_channel_receive(HV_HELPER_CONTROL, &question);
		if (!err)
			err = answer(w, &question);
	}
	if (err && err->code != EPIPE)
		audit_log(&w->service.audit, "stopped answering the service: %s", err->message);
	hv_err_free(err);
}

static void say(void *ctx, const char *line)
{
	struct broker *w = ctx;

	audit_log(&w->service.audit, "%s", line);
}

static void audit_recovery(struct broker *w, const struct recovery *r, const struct hv_err *err,
			   uint64_t began_ns)
{
	struct audit_actor who = audit_actor_self();
	struct audit_entry e = audit_begin(&w->service.audit, &who, "recover");

	audit_text(&e, "result", err ? err->message : r->found ? "restored" : "nothing to restore");
	audit_number(&e, "took_us", (hv_now_ns() - began_ns) / 1000);
	audit_end(&e);
}

/* The service may only have closed its socket. It must stop using the region. */
static void end_service(void)
{
	pidfd_send_signal(HV_HELPER_SERVICE, SIGKILL, NULL, 0);
	poll(&(struct pollfd){HV_HELPER_SERVICE, POLLIN, 0}, 1, KILLED_MS);
}

/* The service died without a detach. The guest may still be in its hold. */
static void recover(struct broker *w)
{
	struct service *s = &w->service;
	uint64_t began_ns = hv_now_ns();
	struct recovery r = {.btf = &s->btf, .facts = &s->facts};
	struct hv_err *err = NULL;

	if (w->server)
		hv_broker_server_renew(w->server);
	end_service();
	if (w->server)
		hv_broker_server_put_journal_back(w->server);
	audit_log(&s->audit, "the service has died: recovering");
	rundir_files_recovers(s, getpid());
	btf_files_renew(&s->btf);
	if (!hv_guest_has_ended(s->guest))
		err = recovery_run(s->guest, w->server, &r, say, w);
	s->dir.has_left = err && !hv_guest_has_ended(s->guest);
	audit_recovery(w, &r, err, began_ns);
	hv_text_deinit(&r.report);
	hv_err_free(err);
	close_guest(w);
	rundir_files_leave(s, NULL);
}

/* How long a service may live after it has reported its end. Tests change it. */
static unsigned leave_ms = 10000;

static _Noreturn void watch(void)
{
	/* It must kill the service even if it keeps more. */
	hv_err_free(hv_capabilities_keep(HV_CAP(KILL)));
	prctl(PR_SET_NAME, "hvtrace:leave");
	dup2(HV_HELPER_SERVICE, 0);
	close_range(1, ~0u, 0);
	if (poll(&(struct pollfd){0, POLLIN, 0}, 1, (int)leave_ms) == 0)
		pidfd_send_signal(0, SIGKILL, NULL, 0);
	_exit(0);
}

/* A service that a guest has taken over could report its end and keep running with the guest's RAM.
 * The broker cannot wait for the service, because the service waits for the broker. So the broker
 * starts a process that does. */
static void leave_watch(void)
{
	pid_t child = fork();

	if (child == 0)
		watch();
	if (child < 0)
		syslog(LOG_WARNING, "cannot watch a service that has ended its session: fork: %s",
		       strerror(errno));
}

static void run(void *ctx)
{
	struct broker *w = ctx;

	umask(077);
	/* With the permissions of a VMM's user, root's groups would remain (setfsuid(2)). */
	if (geteuid() == 0 && setgroups(0, NULL) != 0)
		_exit(1);
	serve_host_requests(w);
	if (!w->is_over && w->service.dir.path)
		recover(w);
	close_guest(w);
	if (w->is_over)
		leave_watch();
}

static struct broker new_broker(const struct service_config *config)
{
	return (struct broker){.service = {
				       .config = config,
				       .pid = getpid(),
				       .access.path = config->conf_path,
				       .dir = RUNDIR_NONE,
				       .audit = AUDIT_NONE,
				       .dumps = DUMPS_NONE,
				       .btf = BTF_FILES_NONE,
				       .listen_fd = -1,
				       .signal_fd = -1,
				       .broker = HV_HELPER_NONE,
			       }};
}

struct hv_err *broker_start(const struct service_config *config, int report_fd,
			    struct hv_helper *ret)
{
	static struct hv_helper_kind kind = {
		.noun = "broker",
		.comm = "hvtrace:broker",
		.socket_type = SOCK_STREAM,
		.needs = NEEDS,
		.run = run,
	};
	struct broker w = new_broker(config);

	kind.other_fd = config->machine ? config->machine->socket : report_fd;
	return hv_helper_start(&kind, &w, ret);
}
