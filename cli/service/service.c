/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/service.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/retry.h"
#include "cli/domain_state.h"
#include "cli/explain.h"
#include "cli/service/access.h"
#include "cli/service/host_client.h"
#include "cli/service/ending.h"
#include "cli/service/memory.h"
#include "cli/service/serve.h"
#include "cli/service/trail.h"
#include "cli/service/broker.h"
#include "cli/spec.h"
#include "cli/stop_signals.h"
#include "base/cancel.h"
#include "kernel/sites/integrity.h"
#include "kernel/kernel.h"
#include "kernel/image/vmlinux.h"
#include "tracer/sections/section_tracer.h"
#include "tracer/guest/trampolines.h"
#include "vmm/broker/client.h"
#include "vmm/broker/sandbox.h"

#define REPORT_FD 3 /* in the service: the first after the three standard files */
#define KEEP_MAX  4

/* -- the report ------------------------------------------------------------------------------- */

static bool report(int fd, const struct wire_frame *frame)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	size_t sent = 0;

	wire_encode(&out, frame);
	while (sent < out.len_bytes) {
		ssize_t n = send(fd, out.data + sent, out.len_bytes - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		sent += (size_t)n;
	}
	return true;
}

/* CODE: the errno of a WIRE_ERROR. Returns false if the parent no longer listens. */
static bool report_text(int fd, enum wire_kind kind, int code, const char *text)
{
	size_t len = strlen(text);

	return report(fd, &(struct wire_frame){
				  .kind = (uint16_t)kind,
				  .arg = (uint32_t)code,
				  .data = {(const uint8_t *)text,
					   len < WIRE_DATA_MAX ? len : WIRE_DATA_MAX},
			  });
}

static struct hv_err *report_error(const struct wire_frame *frame)
{
	return hv_err_received(&(struct hv_err_sent){
		.code = frame->arg,
		.text = frame->data.data,
		.len_bytes = frame->data.len_bytes,
	});
}

/* Returns the first frame in the buffer; drop_frame() consumes it. */
static enum wire_result first_frame(const struct service_child *c, struct wire_frame *ret,
				    size_t *ret_used)
{
	return wire_decode((struct hv_span){(uint8_t *)c->in.data, c->in.len_bytes}, ret, ret_used);
}

static struct hv_err *bad_report(void)
{
	return hv_err_new(EPROTO, "the service sent a reply that cannot be understood");
}

static void drop_frame(struct service_child *c, size_t used)
{
	c->in.len_bytes -= used;
	memmove(c->in.data, c->in.data + used, c->in.len_bytes);
}

static struct hv_err *receive_report(struct service_child *c)
{
	char buf[4096];
	ssize_t n = recv(c->report_fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		return hv_err_new(ECONNRESET, "the service died while it attached");
	hv_text_add_bytes(&c->in, buf, n > 0 ? (size_t)n : 0);
	return NULL;
}

struct hv_err *service_hear(struct service_child *c, char **ret_line, bool *ret_attached)
{
	struct wire_frame frame;
	size_t used;
	enum wire_result result = first_frame(c, &frame, &used);
	struct hv_err *err = NULL;

	*ret_line = NULL;
	*ret_attached = false;
	if (result == WIRE_MORE) {
		err = receive_report(c);
		result = first_frame(c, &frame, &used);
	}
	if (!err && result == WIRE_BAD)
		err = bad_report();
	if (err || result != WIRE_FRAME)
		return err;
	if (frame.kind != WIRE_OK && frame.kind != WIRE_NOTE)
		return report_error(&frame);
	if (!wire_string(frame.data, WIRE_DATA_MAX, ret_line))
		return bad_report();
	*ret_attached = frame.kind == WIRE_OK;
	drop_frame(c, used);
	return NULL;
}

void service_child_close(struct service_child *c)
{
	hv_close_at(&c->report_fd);
	c->report_fd = -1;
	hv_text_deinit(&c->in);
}

/* -- the service ------------------------------------------------------------------------------ */

/* The child: the service. */

/* Whether the process that requested the attach has died or cancelled it. */
static bool is_abandoned(int report_fd)
{
	struct pollfd fd = {report_fd, POLLRDHUP, 0};

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static struct hv_err *attach_session(struct service *s)
{
	struct hv_session_stat stat;
	struct hv_err *err = hv_session_attach(s->guest, s->kernel, &s->session);

	if (err)
		return err;
	s->dir.has_left = false;
	hv_session_stat(s->session, &stat);
	s->attach_hold_ns = stat.hold_max_ns;
	s->attached_ns = hv_now_ns();
	return NULL;
}

static struct hv_err *check_wanted(int report_fd)
{
	if (!is_abandoned(report_fd))
		return NULL;
	return hv_err_new(ECANCELED, "interrupted: attach was undone");
}

struct opening {
	const struct service *s;
	int report_fd;
};

/* Whether the parent no longer waits for the session, or a signal stops the service. */
static bool is_given_up(void *ctx)
{
	const struct opening *o = ctx;
	struct pollfd fd = {o->s->signal_fd, POLLIN, 0};

	return is_abandoned(o->report_fd) || poll(&fd, 1, 0) > 0;
}

static struct hv_err *open_kernel(struct service *s, int report_fd)
{
	const struct hv_vmlinux_file vmlinux = {s->config->vmlinux_path, s->vmlinux_fd};
	const struct hv_btf_files btf = {host_open_btf, s, .keep_facts = host_keep_facts};
	struct opening opening = {s, report_fd};
	struct hv_err *err;

	hv_cancel_when(is_given_up, &opening);
	err = hv_kernel_open(s->guest, vmlinux.path ? &vmlinux : NULL, &btf, &s->kernel);
	hv_cancel_when(NULL, NULL);
	if (!err || !is_abandoned(report_fd))
		return err;
	hv_err_free(err);
	return check_wanted(report_fd);
}

/* Files must be opened by name before the process gives up its rights. */
static struct hv_err *open_vmlinux(struct service *s)
{
	const char *path = s->config->vmlinux_path;

	if (!path)
		return NULL;
	s->vmlinux_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return s->vmlinux_fd < 0 ? hv_err_new(errno, "%s: %s", path, strerror(errno)) : NULL;
}

/* Splits off the broker, which keeps the rights of this process and accesses the guest from now
 * on. */
static struct hv_err *divide(struct service *s, int report_fd)
{
	struct hv_err *err = open_vmlinux(s);

	audit_actor_self();
	if (!err)
		err = broker_start(s->config, report_fd, &s->broker);
	/* Requests on this socket would bypass the broker's rules. */
	if (s->config->machine)
		close(s->config->machine->socket);
	if (!err)
		err = hv_sandbox_keep(&s->broker.control);
	if (!err)
		err = hv_broker_client_guest(s->broker.control, &s->guest);
	if (!err)
		err = memory_limit();
	if (!err)
		err = hv_sandbox_enter(s->broker.control, hv_broker_client_readable_ram(s->guest));
	return err;
}

static void say(void *ctx, const char *line)
{
	report_text(*(const int *)ctx, WIRE_NOTE, 0, line);
}

static struct hv_err *wait_until_up(struct service *s, int report_fd)
{
	const struct service_machine *machine = s->config->machine;

	return machine ? machine->until_up(s->guest, machine, say, &report_fd) : NULL;
}

static struct hv_err *refuse_saved(const struct service *s)
{
	if (!hv_guest_info(s->guest)->can_be_saved)
		return NULL;
	return hv_err_mark(
		hv_err_new(EPERM, "its VMM has no monitor, so nothing keeps it from saving the "
				  "guest while it is traced; a guest saved then crashes when it "
				  "is restored"),
		HV_ERR_NEEDS_FORCE);
}

/* The caller closes the opened objects, on errors, too. */
static struct hv_err *open_all(const struct service_config *config, int report_fd,
			       struct service *s)
{
	struct hv_err *err;

	s->config = config;
	s->access.path = config->conf_path;
	err = divide(s, report_fd);
	if (!err)
		err = wait_until_up(s, report_fd);
	if (!err)
		err = host_open_rundir(s);
	if (!err)
		err = hv_guest_refusal(s->guest);
	if (!err)
		err = hv_trampolines_refusal(hv_guest_info(s->guest)->arch);
	if (!err)
		err = open_kernel(s, report_fd);
	if (!err && !config->force)
		err = hv_integrity_refusal(&s->kernel->modules);
	if (!err && !config->force)
		err = refuse_saved(s);
	if (!err)
		err = check_wanted(report_fd);
	if (!err)
		err = attach_session(s);
	if (!err && config->force)
		hv_section_tracer_force(s->session->sections);
	if (!err)
		err = hv_tree_new(s->session, &s->tree);
	if (!err)
		err = check_wanted(report_fd);
	if (!err)
		err = host_listen(s);
	if (!err)
		access_refresh(s);
	return err;
}

/* Undoes open_all(). Retries the detach for a while. Returns WHY, or an error that describes the
 * changes that could not be undone. */
static struct hv_err *close_all(struct service *s, struct hv_err *why)
{
	HV_AUTO_TEXT struct hv_text proof = {0};
	struct hv_retry retry = hv_retry_begin(HV_RETRY_FOR_NS);
	struct hv_err *err = NULL;

	hv_tree_free(s->tree);
	while (s->session && (err = hv_session_detach(s->session, &proof)) &&
	       hv_retry_may_succeed(err) && hv_retry_again(&retry)) {
		hv_err_free(err);
		hv_retry_wait(&retry);
	}
	if (err) {
		audit_log(&s->audit, "%s", err->message);
		hv_err_free(why);
		why = hv_err_mark(hv_err_in(err, "attach could not be undone"),
				  HV_ERR_NEEDS_RECOVERY);
	}
	if (s->guest && hv_guest_has_ended(s->guest))
		why->facts &= ~(unsigned)HV_ERR_NEEDS_RECOVERY;
	if (why->facts & HV_ERR_NEEDS_RECOVERY)
		s->dir.has_left = true;
	hv_session_free(s->session);
	hv_kernel_free(s->kernel);
	if (s->dir.path)
		host_leave_rundir(s, NULL);
	hv_guest_free(s->guest);
	hv_helper_end(&s->broker);
	audit_close(&s->audit);
	access_deinit(&s->access);
	return why;
}

static void describe(const struct service *s, uint64_t took_ns, struct hv_text *ret)
{
	const struct hv_guest_info *guest = hv_guest_info(s->guest);
	struct hv_session_stat stat;

	hv_session_stat(s->session, &stat);
	hv_text_printf(ret,
		       "domain '%s': attached: Linux %s, %zu site%s, %u vCPU%s, region of %llu MiB",
		       guest->name, s->kernel->release, stat.nr_sites, hv_plural(stat.nr_sites),
		       guest->nr_vcpus, hv_plural(guest->nr_vcpus),
		       (unsigned long long)(stat.region_bytes >> 20));
	if (stat.part_bytes < stat.region_bytes)
		hv_text_printf(ret, " (%llu MiB of it fit into the kernel's address space)",
			       (unsigned long long)(stat.part_bytes >> 20));
	hv_text_printf(ret, ", held %llu.%03llu ms, took %llu.%01llu s",
		       (unsigned long long)(stat.hold_max_ns / 1000000),
		       (unsigned long long)(stat.hold_max_ns / 1000 % 1000),
		       (unsigned long long)(took_ns / 1000000000),
		       (unsigned long long)(took_ns / 100000000 % 10));
	if (s->config->btf_path && s->kernel->core.types.from != HV_TYPES_IN_FILE)
		hv_text_add(ret, "; the kernel has types: --btf is not used");
	if (s->session->found_stale)
		hv_text_add(ret,
			    "; the region's list of changes from an earlier boot was discarded");
}

static void name_process(const char *name)
{
	char title[16];

	snprintf(title, sizeof(title), "hvtrace:%s", name);
	prctl(PR_SET_NAME, title);
}

/* Removes the resource limits of the attaching shell: they must not end the service before it has
 * detached. */
static void outlive_limits(void)
{
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_CPU, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

/* Describes the new session in LINE and in the log. */
static void attached(struct service *s, const struct audit_actor *who, uint64_t started_ns,
		     struct hv_text *line)
{
	uint64_t took_ns = hv_now_ns() - started_ns;
	struct hv_session_stat stat;
	struct audit_entry e;

	describe(s, took_ns, line);
	e = audit_begin(&s->audit, who, "attach");
	audit_text(&e, "kernel", s->kernel->release);
	audit_text(&e, "transport", hv_guest_info(s->guest)->transport);
	hv_session_stat(s->session, &stat);
	audit_number(&e, "bytes", stat.bytes_changed);
	audit_number(&e, "holds", stat.nr_holds);
	audit_number(&e, "held_us", stat.hold_total_ns / 1000);
	audit_number(&e, "took_us", took_ns / 1000);
	audit_end(&e);
	trail_holds(s, who);
}

/* Returns the exit code of the process. */
static int service_run(const struct service_config *config, const struct audit_actor *who,
		       int report_fd)
{
	struct service s = {
		.dir = RUNDIR_NONE,
		.audit = AUDIT_NONE,
		.dumps = DUMPS_NONE,
		.btf = BTF_FILES_NONE,
		.listen_fd = -1,
		.vmlinux_fd = -1,
		.pid = getpid(),
		.owner = geteuid(),
		.broker = HV_HELPER_NONE,
	};
	HV_AUTO_TEXT struct hv_text line = {0};
	uint64_t started = hv_now_ns();
	struct hv_err *err;

	outlive_limits();
	s.signal_fd = stop_signals_fd();
	err = open_all(config, report_fd, &s);
	if (err) {
		err = close_all(&s, err);
		err = config->machine ? in_domain(err, config->spec) : explain(err, config->spec);
		report_text(report_fd, WIRE_ERROR, err->code, err->message);
		hv_err_free(err);
		return 1;
	}
	name_process(hv_guest_info(s.guest)->name);
	attached(&s, who, started, &line);
	if (config->machine)
		clients_adopt(&s, config->machine->client_fd);
	if (!report_text(report_fd, WIRE_OK, 0, line.data)) {
		audit_log(&s.audit, "the command that asked to attach has gone");
		ending_begin_detach(&s, NULL);
	}
	close(report_fd);
	serve(&s);
	return 0;
}

bool service_parse_patch(const char *text, bool *ret_shadow)
{
	*ret_shadow = strcmp(text, "shadow") == 0;
	return *ret_shadow || strcmp(text, "in-place") == 0;
}

/* The parent: waits for the report. */

/* Ctrl-C stops waiting for an attaching service only after the attach is undone, or when it is
 * pressed again. */
static volatile sig_atomic_t nr_interrupts;

static void on_interrupt(int signo hv_unused)
{
	nr_interrupts++;
}

struct interrupts {
	struct sigaction action_before;
	sigset_t mask_before;
};

/* Blocks SIGINT except while wait_for_report() waits. Otherwise a SIGINT just before the wait would
 * be lost. */
static void catch_interrupts(struct interrupts *ret)
{
	struct sigaction action = {.sa_handler = on_interrupt};
	sigset_t set;

	nr_interrupts = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &ret->mask_before);
	sigaction(SIGINT, NULL, &ret->action_before);
	if (ret->action_before.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
}

static void release_interrupts(const struct interrupts *i)
{
	sigaction(SIGINT, &i->action_before, NULL);
	sigprocmask(SIG_SETMASK, &i->mask_before, NULL);
}

/* Like read(2), but also returns EINTR for a SIGINT that arrived earlier. */
static ssize_t wait_for_report(int fd, const struct interrupts *interrupts, char *buf, size_t len)
{
	struct pollfd report = {fd, POLLIN, 0};

	return ppoll(&report, 1, NULL, &interrupts->mask_before) < 0 ? -1 : read(fd, buf, len);
}

/* Call it after a read that a signal ended. Returns an error to stop waiting. */
static struct hv_err *heed_interrupts(int fd, const char *spec)
{
	if (nr_interrupts > 1)
		return hv_err_new(
			EINTR,
			"domain '%s': the service continues to undo attach in the background",
			spec);
	if (nr_interrupts && shutdown(fd, SHUT_WR) == 0)
		fprintf(stderr, "hvtrace: domain '%s': undoing attach\n", spec);
	return NULL;
}

/* The service and its broker have ended without a report. */
static struct hv_err *died(const struct service_config *config)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	struct hv_err *err = hv_err_new(ECONNRESET, "the service died while it attached");
	enum domain_state state = DOMAIN_FREE;
	bool found = false;

	hv_err_free(domain_state_find(config->run_dir, config->spec, NULL, &state, &found, &info));
	if (state == DOMAIN_LEFT)
		err = hv_err_mark(err, HV_ERR_NEEDS_RECOVERY);
	return hv_err_add(explain(err, config->spec), "; see the system log for details");
}

static struct hv_err *read_report(int fd, const struct service_config *config,
				  const struct interrupts *interrupts, char **ret_line)
{
	HV_AUTO_TEXT struct hv_text in = {0};
	struct wire_frame frame;
	enum wire_result result;
	char buf[4096];
	size_t used;
	ssize_t n;

	while ((n = wait_for_report(fd, interrupts, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR) {
			struct hv_err *err = heed_interrupts(fd, config->spec);

			if (err)
				return err;
			continue;
		}
		if (n < 0)
			return hv_err_new(errno, "cannot wait for the service: %s",
					  strerror(errno));
		hv_text_add_bytes(&in, buf, (size_t)n);
		result = wire_decode((struct hv_span){(uint8_t *)in.data, in.len_bytes}, &frame,
				     &used);
		if (result == WIRE_MORE)
			continue;
		if (result == WIRE_BAD)
			return bad_report();
		if (frame.kind == WIRE_OK)
			return wire_string(frame.data, WIRE_DATA_MAX, ret_line) ? NULL
										: bad_report();
		return report_error(&frame);
	}
	return died(config);
}

/* Closes the caller's files: a shell that waits until its pipes are closed must not wait for the
 * service. Files in KEEP become the first after the standard files. */
static void drop_inherited(const int *keep, int nr)
{
	int kept[KEEP_MAX];
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; i < nr; i++) {
		kept[i] = fcntl(keep[i], F_DUPFD, 10);
		if (kept[i] < 0 || null < 0)
			_exit(1);
	}
	for (int fd = 0; fd < REPORT_FD; fd++)
		dup2(null, fd);
	for (int i = 0; i < nr; i++)
		dup3(kept[i], REPORT_FD + i, O_CLOEXEC);
	close_range((unsigned)(REPORT_FD + nr), ~0u, 0);
}

static _Noreturn void run_child(const struct service_config *config, const struct audit_actor *who)
{
	if (chdir("/") != 0)
		_exit(1);
	umask(077);
	_exit(service_run(config, who, REPORT_FD));
}

static void become_service(const struct service_config *config, const struct audit_actor *who,
			   int report_fd)
{
	pid_t pid;

	setsid();
	pid = fork();
	if (pid != 0)
		_exit(pid < 0);
	drop_inherited(&report_fd, 1);
	run_child(config, who);
}

struct hv_err *service_start(const struct service_config *config, char **ret_line)
{
	struct service_config in = *config;
	HV_AUTO_FREE char *vmlinux =
		config->vmlinux_path ? spec_absolute_path(config->vmlinux_path) : NULL;
	HV_AUTO_FREE char *btf = config->btf_path ? spec_absolute_path(config->btf_path) : NULL;
	HV_AUTO_FREE char *spec = spec_absolute(config->spec);
	struct audit_actor who = audit_actor_self();
	HV_AUTO_FD int from = -1;
	struct interrupts interrupts;
	struct hv_err *err;
	int fds[2];
	pid_t pid;

	if (btf && *btf != '/')
		return hv_err_new(EINVAL, "--btf=%s: %s", btf, strerror(ENOENT));
	/* Relative paths would change their meaning after chdir("/"). */
	in.vmlinux_path = vmlinux;
	in.btf_path = btf;
	in.spec = spec;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return hv_err_new(errno, "cannot start the service: socketpair: %s",
				  strerror(errno));
	from = fds[0];
	catch_interrupts(&interrupts);
	pid = fork();
	if (pid == 0)
		become_service(&in, &who, fds[1]);
	err = pid < 0 ? hv_err_new(errno, "cannot start the service: fork: %s", strerror(errno))
		      : NULL;
	close(fds[1]);
	while (!err && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!err)
		err = read_report(from, &in, &interrupts, ret_line);
	release_interrupts(&interrupts);
	return err;
}

/* The service of a machine that this process runs. */

static _Noreturn void become_service_of_machine(const struct service_config *config,
						const struct audit_actor *who, int report_fd)
{
	struct service_machine machine = *config->machine;
	const int keep[KEEP_MAX] = {report_fd, machine.socket, machine.client_fd, machine.end_fd};
	struct service_config in = *config;
	sigset_t none;

	setsid(); /* the terminal's signals are for the machine */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	drop_inherited(keep, KEEP_MAX);
	machine.socket = REPORT_FD + 1;
	machine.client_fd = REPORT_FD + 2;
	machine.end_fd = REPORT_FD + 3;
	in.machine = &machine;
	run_child(&in, who);
}

struct hv_err *service_fork(const struct service_config *config, struct service_child *ret)
{
	struct audit_actor who = audit_actor_self();
	struct hv_err *err;
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return hv_err_new(errno, "cannot start the service: socketpair: %s",
				  strerror(errno));
	pid = fork();
	if (pid == 0)
		become_service_of_machine(config, &who, fds[1]);
	err = pid < 0 ? hv_err_new(errno, "cannot start the service: fork: %s", strerror(errno))
		      : NULL;
	close(fds[1]);
	if (err)
		close(fds[0]);
	else
		*ret = (struct service_child){.pid = pid, .report_fd = fds[0]};
	return err;
}
