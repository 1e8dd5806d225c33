/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads libvirt at its first use: it has about forty dependencies, and loading them takes longer
 * than the rest of hvtrace's start. Most commands do not need libvirt, because they only talk to a
 * session. */
#include "vmm/qemu/libvirt.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "vmm/domains.h"
#include "vmm/qemu/monitor.h"

/* -- the status file of a domain --------------------------------------------------------------- */

#define STATUS_MAX_BYTES (16u << 20)
#define SYSTEM_DIR	 "/run/libvirt/qemu"

char *hv_libvirt_state_dir(const char *uri)
{
	size_t len = strcspn(uri, "?#");
	size_t at = len;

	while (at && uri[at - 1] != '/')
		at--;
	if (len - at == strlen("system") && !strncmp(uri + at, "system", len - at))
		return hv_strdup(SYSTEM_DIR);
	if (len - at == strlen("session") && !strncmp(uri + at, "session", len - at))
		return hv_format("/run/user/%u/libvirt/qemu/run", (unsigned)geteuid());
	return NULL;
}

static struct hv_err *failed(const char *dir, const char *file)
{
	return hv_err_new(errno == ENOENT ? ESRCH : errno, "libvirt's status file %s/%s: %s", dir,
			  file, strerror(errno));
}

/* Whether only root and this user can have written it. */
static bool is_trusted(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static struct hv_err *open_status(const char *dir, const char *file, int *ret)
{
	HV_AUTO_FD int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	HV_AUTO_FD int fd = -1;
	struct stat in, st;

	if (dir_fd < 0 || fstat(dir_fd, &in) < 0)
		return failed(dir, file);
	fd = openat(dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(dir, file);
	if (!S_ISREG(st.st_mode) || !is_trusted(&st) || !is_trusted(&in))
		return hv_err_new(EPERM,
				  "libvirt's status file %s/%s: others than root can write it", dir,
				  file);
	*ret = hv_take_fd(&fd);
	return NULL;
}

static struct hv_err *read_status(const char *dir, const char *file, struct hv_text *ret)
{
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = open_status(dir, file, &fd);
	char buf[65536];
	ssize_t nr = 1;

	while (!err && nr > 0) {
		nr = read(fd, buf, sizeof(buf));
		if (nr > 0)
			hv_text_add_bytes(ret, buf, (size_t)nr);
		if (nr < 0)
			err = failed(dir, file);
		else if (ret->len_bytes > STATUS_MAX_BYTES)
			err = hv_err_new(EFBIG, "libvirt's status file %s/%s: more than %u bytes",
					 dir, file, STATUS_MAX_BYTES);
	}
	hv_text_add(ret, "");
	return err;
}

/* Decodes XML's five named entities. */
static char *unescape(const char *text, size_t len)
{
	static const struct {
		const char *name;
		char is;
	} known[] = {
		{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}, {"&quot;", '"'}};
	char *ret = hv_alloc(len + 1);
	size_t nr = 0;

	for (size_t at = 0; at < len; at++) {
		ret[nr] = text[at];
		for (size_t i = 0; text[at] == '&' && i < HV_ARRAY_LEN(known); i++) {
			size_t name_len = strlen(known[i].name);

			if (len - at < name_len || strncmp(text + at, known[i].name, name_len))
				continue;
			ret[nr] = known[i].is;
			at += name_len - 1;
			break;
		}
		nr++;
	}
	ret[nr] = '\0';
	return ret;
}

/* Copies the text between BEFORE and the character END. Searches from FROM to TO, or to the end of
 * the string if TO is NULL. libvirt always formats its XML in the same way, and escapes < and ' in
 * values. Returns NULL if BEFORE is missing; the caller frees the result. */
static char *value(const char *from, const char *to, const char *before, char end)
{
	const char *at = from ? strstr(from, before) : NULL;
	const char *stop;

	if (!at || (to && at >= to))
		return NULL;
	at += strlen(before);
	stop = strchr(at, end);
	return stop && (!to || stop < to) ? unescape(at, (size_t)(stop - at)) : NULL;
}

static bool parse_pid(const char *text, pid_t *ret)
{
	if (!text || !*text || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
		return false;
	*ret = atoi(text);
	return *ret > 0;
}

/* The daemon's own part precedes the domain's description, in which the administrator can add any
 * elements. */
static bool parse(const char *xml, struct hv_libvirt_state *ret, char **ret_uuid)
{
	const char *status = strstr(xml, "<domstatus ");
	const char *status_end = status ? strchr(status, '>') : NULL;
	const char *domain = status_end ? strstr(status_end, "<domain ") : NULL;
	HV_AUTO_FREE char *pid = domain ? value(status, status_end, " pid='", '\'') : NULL;

	if (!parse_pid(pid, &ret->pid))
		return false;
	ret->private_dir = value(status_end, domain, "<libDir path='", '\'');
	*ret_uuid = value(domain, NULL, "<uuid>", '<');
	return ret->private_dir && ret->private_dir[0] == '/' && *ret_uuid;
}

struct hv_err *hv_libvirt_state_read(const char *dir, const char *name, const char *uuid,
				     struct hv_libvirt_state *ret)
{
	HV_AUTO_TEXT struct hv_text xml = {0};
	HV_AUTO_LIBVIRT_STATE struct hv_libvirt_state s = {0};
	HV_AUTO_FREE char *its_uuid = NULL;
	HV_AUTO_FREE char *file = hv_format("%s.xml", name);
	struct hv_err *err;

	if (!*name || strchr(name, '/'))
		return hv_err_new(EINVAL, "libvirt's status file: a domain cannot have this name");
	err = read_status(dir, file, &xml);
	if (err)
		return err;
	if (!parse(xml.data, &s, &its_uuid))
		return hv_err_new(EPROTO, "libvirt's status file %s/%s is not understood", dir,
				  file);
	if (strcmp(its_uuid, uuid) != 0)
		return hv_err_new(ESRCH, "libvirt's status file %s/%s belongs to another domain",
				  dir, file);
	*ret = s;
	s = (struct hv_libvirt_state){0};
	return NULL;
}

void hv_libvirt_state_deinit(struct hv_libvirt_state *s)
{
	free(s->private_dir);
	*s = (struct hv_libvirt_state){0};
}

/* -- libvirt ----------------------------------------------------------------------------------- */

/* This library is linked with libvirt.so.0, so dlsym() also finds libvirt's functions. */
#define LIBRARY "libvirt-qemu.so.0"

#define FUNCTIONS(F)                                                                               \
	F(virConnectClose)                                                                         \
	F(virConnectGetURI)                                                                        \
	F(virConnectListAllDomains)                                                                \
	F(virConnectOpen)                                                                          \
	F(virDomainFree)                                                                           \
	F(virDomainGetID)                                                                          \
	F(virDomainGetName)                                                                        \
	F(virDomainGetState)                                                                       \
	F(virDomainGetUUIDString)                                                                  \
	F(virDomainGetXMLDesc)                                                                     \
	F(virDomainIsActive)                                                                       \
	F(virDomainLookupByID)                                                                     \
	F(virDomainLookupByName)                                                                   \
	F(virDomainLookupByUUIDString)                                                             \
	F(virDomainQemuMonitorCommand)                                                             \
	F(virGetLastErrorMessage)                                                                  \
	F(virSetErrorFunc)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(MEMBER)
} lib;
#undef MEMBER

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *lack; /* why libvirt is missing; NULL if it is loaded */

static void load(void)
{
#define LOADED(name) {#name, (void **)&lib.name},
	static const struct {
		const char *name;
		void **to;
	} functions[] = {FUNCTIONS(LOADED)};
#undef LOADED
	void *library = dlopen(LIBRARY, RTLD_NOW);

	for (size_t i = 0; library && i < HV_ARRAY_LEN(functions); i++) {
		*functions[i].to = dlsym(library, functions[i].name);
		if (!*functions[i].to)
			library = NULL;
	}
	if (!library)
		lack = hv_strdup(dlerror());
}

/* libvirt waits without a limit for a VMM that does not answer. So a thread makes each call that
 * asks the VMM, and the caller waits for it until a deadline. */
enum call_state {
	CALL_NONE,
	CALL_RUNS, /* the thread uses CONN, DOM and REQUEST */
	CALL_LATE, /* like CALL_RUNS; no caller waits, and the thread drops the answer */
	CALL_ENDED,
};

#define LATE_NS HV_NS_PER_S /* how long a command waits for a call that is late */

struct domain {
	virConnectPtr conn;
	virDomainPtr dom;
	pid_t owner;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t ended; /* the call has ended */
	enum call_state state;
	bool is_freed; /* the thread frees the domain when its call has ended */
	char *request, *answer, *reason;
	int code;
};

static void say_nothing(void *data hv_unused, virErrorPtr err hv_unused)
{
}

/* Never NULL. */
static const char *why(void)
{
	return lib.virGetLastErrorMessage();
}

static struct hv_err *connect_to(const char *uri, virConnectPtr *ret)
{
	pthread_once(&once, load);
	if (lack)
		return hv_err_new(ENOTCONN,
				  "libvirt: %s (a QEMU can be named without libvirt: qmp:SOCKET, "
				  "pid:N)",
				  lack);
	lib.virSetErrorFunc(NULL, say_nothing);
	*ret = lib.virConnectOpen(uri);
	if (!*ret)
		return hv_err_new(ENOTCONN,
				  "libvirt: no connection to %s: %s (a QEMU can be named without "
				  "libvirt: qmp:SOCKET, pid:N)",
				  uri ? uri : "its default", why());
	return NULL;
}

static void release(struct domain *d)
{
	if (d->dom)
		lib.virDomainFree(d->dom);
	if (d->conn)
		lib.virConnectClose(d->conn);
	pthread_cond_destroy(&d->ended);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* Does not wait for a call. A child of the owner shares the connection but not the thread, which
 * may have held the lock when the child was made. */
static void domain_free(void *self)
{
	struct domain *d = self;
	bool is_used;

	if (d->owner != getpid())
		return;
	pthread_mutex_lock(&d->lock);
	d->is_freed = true;
	is_used = d->state == CALL_LATE;
	pthread_mutex_unlock(&d->lock);
	if (!is_used)
		release(d);
}

static struct domain *domain_new(void)
{
	struct domain *d = hv_alloc(sizeof(*d));
	pthread_condattr_t attr;

	d->owner = getpid();
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->ended, &attr);
	pthread_condattr_destroy(&attr);
	return d;
}

/* libvirt keeps the last error for each thread, until the next call. */
static void call(struct domain *d)
{
	d->answer = d->reason = NULL;
	d->code = 0;
	if (lib.virDomainQemuMonitorCommand(d->dom, d->request, &d->answer, 0) >= 0)
		return;
	d->reason = hv_strdup(why());
	d->code = lib.virDomainIsActive(d->dom) == 0 ? EHOSTDOWN : EIO;
}

static void drop_answer(struct domain *d)
{
	free(d->answer);
	free(d->reason);
	d->answer = d->reason = NULL;
}

static void *run_call(void *self)
{
	struct domain *d = self;
	bool is_freed;

	call(d);
	pthread_mutex_lock(&d->lock);
	free(hv_take(d->request));
	is_freed = d->is_freed;
	if (d->state == CALL_LATE) {
		drop_answer(d);
		d->state = CALL_NONE;
	} else {
		d->state = CALL_ENDED;
	}
	pthread_cond_signal(&d->ended);
	pthread_mutex_unlock(&d->lock);
	if (is_freed)
		release(d);
	return NULL;
}

/* Starts a thread with the rights that this thread has now. It receives no signals of the
 * process. */
static struct hv_err *start_call(struct domain *d, const char *request)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int code;

	d->request = hv_strdup(request);
	d->state = CALL_RUNS;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&thread, &attr, run_call, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!code)
		return NULL;
	free(hv_take(d->request));
	d->state = CALL_NONE;
	return hv_err_new(code, "libvirt: cannot start a thread: %s", strerror(code));
}

/* Returns whether the call in STATE has ended before DEADLINE_NS. */
static bool wait_while(struct domain *d, enum call_state state, uint64_t deadline_ns)
{
	struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / HV_NS_PER_S),
				    .tv_nsec = (long)(deadline_ns % HV_NS_PER_S)};
	int code = 0;

	while (d->state == state && !code)
		code = pthread_cond_timedwait(&d->ended, &d->lock, &deadline);
	return d->state != state;
}

static struct hv_err *wait_for_call(struct domain *d, uint64_t deadline_ns)
{
	if (wait_while(d, CALL_RUNS, deadline_ns))
		return NULL;
	d->state = CALL_LATE;
	return hv_err_new(ETIMEDOUT, "libvirt: the VMM's monitor did not answer within %u s",
			  (unsigned)(hv_qmp_timeout_ns / HV_NS_PER_S));
}

static struct hv_err *transact(struct domain *d, const char *request, char **ret)
{
	uint64_t now_ns = hv_now_ns(), deadline_ns = now_ns + hv_qmp_timeout_ns;
	uint64_t late_ns = hv_qmp_timeout_ns < LATE_NS ? hv_qmp_timeout_ns : LATE_NS;
	struct hv_err *err;

	/* A VMM that continues executes the earlier command. This one may have to undo it. The
	 * callers repeat what has to be done. */
	if (!wait_while(d, CALL_LATE, now_ns + late_ns))
		return hv_err_new(ETIMEDOUT,
				  "libvirt: the VMM's monitor has not answered an earlier command");
	err = start_call(d, request);
	if (!err)
		err = wait_for_call(d, deadline_ns);
	if (err)
		return err;
	d->state = CALL_NONE;
	if (d->reason)
		err = hv_err_new(d->code, "libvirt: %s", d->reason);
	else
		*ret = hv_take(d->answer);
	drop_answer(d);
	return err;
}

static struct hv_err *domain_transact(void *self, const char *request, char **ret)
{
	struct domain *d = self;
	struct hv_err *err;

	pthread_mutex_lock(&d->lock);
	err = transact(d, request, ret);
	pthread_mutex_unlock(&d->lock);
	return err;
}

/* libvirt does not know the reason of a stop that it did not request, such as one by the gdb
 * stub. */
static bool domain_is_paused_by_other(void *self)
{
	struct domain *d = self;
	int state = VIR_DOMAIN_NOSTATE, reason = VIR_DOMAIN_PAUSED_UNKNOWN;

	return lib.virDomainGetState(d->dom, &state, &reason, 0) == 0 &&
	       state == VIR_DOMAIN_PAUSED && reason != VIR_DOMAIN_PAUSED_UNKNOWN;
}

static const struct hv_monitor_ops domain_ops = {
	.free = domain_free,
	.transact = domain_transact,
	.is_paused_by_other = domain_is_paused_by_other,
};

/* Tries SPEC as a name, then as a UUID, then as an id. */
static virDomainPtr look_up(virConnectPtr conn, const char *spec)
{
	virDomainPtr dom = lib.virDomainLookupByName(conn, spec);

	if (!dom)
		dom = lib.virDomainLookupByUUIDString(conn, spec);
	if (!dom && spec[0] && strspn(spec, "0123456789") == strlen(spec) && strlen(spec) < 10)
		dom = lib.virDomainLookupByID(conn, atoi(spec));
	return dom;
}

static struct hv_err *read_state(struct domain *d, const struct hv_libvirt_domain *of,
				 struct hv_libvirt_state *ret)
{
	HV_AUTO_FREE char *uri = lib.virConnectGetURI(d->conn);
	HV_AUTO_FREE char *dir = uri ? hv_libvirt_state_dir(uri) : NULL;

	if (!dir)
		return hv_err_new(ENOTSUP,
				  "libvirt: cannot find the process of a domain of %s (it can be "
				  "named without libvirt: pid:N)",
				  uri ? uri : "this connection");
	return hv_libvirt_state_read(dir, of->name, of->uuid, ret);
}

/* Opens the domain's process, then reads its pid again: if it is unchanged, the process had not
 * ended before it was opened, so the pid was not reused. */
static struct hv_err *find_process(struct domain *d, struct hv_libvirt_domain *ret)
{
	HV_AUTO_LIBVIRT_STATE struct hv_libvirt_state again = {0};
	struct hv_err *err = read_state(d, ret, &ret->state);

	if (err)
		return err;
	ret->pidfd = pidfd_open(ret->state.pid, 0);
	if (ret->pidfd < 0)
		return hv_err_new(errno, "process %d: %s", (int)ret->state.pid, strerror(errno));
	err = read_state(d, ret, &again);
	if (!err && (again.pid != ret->state.pid || lib.virDomainIsActive(d->dom) != 1))
		err = hv_err_new(EHOSTDOWN, "libvirt: the domain has ended");
	return err;
}

static struct hv_err *fill(struct domain *d, const char *spec, const char *uri,
			   struct hv_libvirt_domain *ret)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	struct hv_err *err = connect_to(uri, &d->conn);

	if (err)
		return err;
	d->dom = look_up(d->conn, spec);
	if (!d->dom)
		return hv_err_new(ENOENT, "libvirt: no domain has that name, id or UUID (%s)",
				  uri ? uri : "default connection");
	if (lib.virDomainIsActive(d->dom) != 1)
		return hv_err_new(EHOSTDOWN, "the domain is shut off");
	if (lib.virDomainGetUUIDString(d->dom, uuid) < 0)
		return hv_err_new(EIO, "libvirt: the UUID of domain '%s': %s", spec, why());
	ret->name = hv_strdup(lib.virDomainGetName(d->dom));
	ret->uuid = hv_strdup(uuid);
	return find_process(d, ret);
}

struct hv_err *hv_libvirt_open(const char *spec, const char *uri, struct hv_libvirt_domain *ret)
{
	struct domain *d = domain_new();
	struct hv_libvirt_domain found = {.pidfd = -1};
	struct hv_err *err = fill(d, spec, uri, &found);

	if (err) {
		free(found.name);
		free(found.uuid);
		hv_libvirt_state_deinit(&found.state);
		hv_close_at(&found.pidfd);
		domain_free(d);
		return err;
	}
	found.monitor = hv_monitor_new(&domain_ops, d);
	*ret = found;
	return NULL;
}

static const char *state_name(int state)
{
	switch (state) {
	case VIR_DOMAIN_RUNNING:
	case VIR_DOMAIN_BLOCKED:
		return "running";
	case VIR_DOMAIN_PAUSED:
		return "paused";
	case VIR_DOMAIN_SHUTDOWN:
		return "in shutdown";
	case VIR_DOMAIN_SHUTOFF:
		return "shut off";
	case VIR_DOMAIN_CRASHED:
		return "crashed";
	case VIR_DOMAIN_PMSUSPENDED:
		return "suspended";
	default:
		return "unknown";
	}
}

/* libvirt always formats its XML in the same way, including quotes and the order of attributes. */
static const char *reason_in(const char *xml, int state, bool *ret_lacks_device)
{
	*ret_lacks_device = false;
	if (!strstr(xml, "<domain type='kvm'") && !strstr(xml, "<domain type='qemu'"))
		return "not a QEMU domain";
	if (strstr(xml, "<launchSecurity "))
		return "confidential guest: its memory cannot be read";
	if (state == VIR_DOMAIN_PAUSED)
		return "paused";
	if (state != VIR_DOMAIN_RUNNING && state != VIR_DOMAIN_BLOCKED)
		return "not running";
	/* injection works for KVM guests without a device */
	*ret_lacks_device =
		strstr(xml, "<domain type='qemu'") && !strstr(xml, "<model type='ivshmem-plain'/>");
	return *ret_lacks_device ? "no ivshmem device" : NULL;
}

/* Returns the process of a running domain, or 0 if it is unknown. */
static pid_t process_of(virConnectPtr conn, const char *name, const char *domain_uuid)
{
	HV_AUTO_LIBVIRT_STATE struct hv_libvirt_state state = {0};
	HV_AUTO_FREE char *uri = lib.virConnectGetURI(conn);
	HV_AUTO_FREE char *dir = uri ? hv_libvirt_state_dir(uri) : NULL;
	HV_AUTO_ERR struct hv_err *err =
		dir ? hv_libvirt_state_read(dir, name, domain_uuid, &state) : NULL;

	return dir && !err ? state.pid : 0;
}

static void describe(virConnectPtr conn, virDomainPtr dom, struct hv_domain *ret)
{
	char uuid[VIR_UUID_STRING_BUFLEN] = "";
	const char *name = lib.virDomainGetName(dom), *reason;
	char *xml = lib.virDomainGetXMLDesc(dom, 0);
	int state = VIR_DOMAIN_NOSTATE, why_state;
	bool lacks_device = false;

	lib.virDomainGetState(dom, &state, &why_state, 0);
	lib.virDomainGetUUIDString(dom, uuid);
	reason = xml ? reason_in(xml, state, &lacks_device) : "libvirt gives no description of it";
	*ret = (struct hv_domain){
		.name = hv_strdup(name ? name : ""),
		.uuid = hv_strdup(uuid),
		.id = (int)lib.virDomainGetID(dom),
		.state = hv_strdup(state_name(state)),
		.reason = reason ? hv_strdup(reason) : NULL,
		.lacks_device = lacks_device,
	};
	if (ret->id >= 0)
		ret->pid = process_of(conn, ret->name, ret->uuid);
	free(xml);
}

struct hv_err *hv_domain_list(const char *libvirt_uri, struct hv_domain **ret, size_t *ret_nr)
{
	virConnectPtr conn = NULL;
	virDomainPtr *all = NULL;
	struct hv_err *err = connect_to(libvirt_uri, &conn);
	int nr;

	if (err)
		return err;
	nr = lib.virConnectListAllDomains(conn, &all, 0);
	if (nr < 0) {
		err = hv_err_new(EIO, "libvirt: list of domains: %s", why());
	} else {
		*ret = hv_alloc((size_t)nr * sizeof(**ret));
		*ret_nr = (size_t)nr;
	}
	for (int i = 0; i < nr; i++) {
		describe(conn, all[i], &(*ret)[i]);
		lib.virDomainFree(all[i]);
	}
	free(all);
	lib.virConnectClose(conn);
	return err;
}

void hv_domain_list_free(struct hv_domain *domains, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free(domains[i].name);
		free(domains[i].uuid);
		free(domains[i].state);
		free(domains[i].reason);
	}
	free(domains);
}
