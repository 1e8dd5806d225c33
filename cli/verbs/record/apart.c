/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/apart.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/confine.h"
#include "base/guard.h"

/* -- the output file -------------------------------------------------------------------------- */

#define MODE 0600

/* Finds the directory that contains the file FD, after all links. */
static bool directory_of(int fd, struct stat *ret)
{
	char link[64], path[PATH_MAX];
	ssize_t len;
	char *slash;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	slash[slash == path] = '\0';
	return stat(path, ret) == 0;
}

/* Like may_create_in_sticky() (fs/namei.c), but independent of fs.protected_regular. */
static bool is_planted(int fd)
{
	struct stat file, dir;

	if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid == geteuid())
		return false;
	return directory_of(fd, &dir) && dir.st_mode & S_ISVTX &&
	       dir.st_mode & (S_IWGRP | S_IWOTH) && file.st_uid != dir.st_uid;
}

struct hv_err *output_open(const char *path, enum output_links links, int *ret_fd, bool *ret_new)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | (links == OUTPUT_FOLLOWS_NONE ? O_NOFOLLOW : 0);
	HV_AUTO_FD int fd = open(path, flags | O_EXCL, MODE);
	bool is_new = fd >= 0;

	/* O_CREAT again, because the kernel's rules for sticky directories require it */
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags, MODE);
	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (!is_new && is_planted(fd))
		return hv_err_new(EACCES,
				  "%s: belongs to another user, in a directory where everybody can "
				  "create files: give another name",
				  path);
	*ret_fd = hv_take_fd(&fd);
	*ret_new = is_new;
	return NULL;
}

/* -- the command ------------------------------------------------------------------------------ */

static _Noreturn void become_command(const struct record_command *c, int go, int failure)
{
	char byte;
	ssize_t n;
	int code;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0); /* the command was cancelled */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	/* Standard output is for the trace. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(c->words[0], c->words);
	code = errno;
	n = write(failure, &code, sizeof(code));
	_exit(127 + (n < 0));
}

struct hv_err *record_command_prepare(struct record_command *c)
{
	HV_AUTO_FD int go = -1, failure = -1;
	int ends[2];

	if (!c->words)
		return NULL;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return hv_err_new(errno, "command '%s': pipe: %s", c->words[0], strerror(errno));
	go = ends[0];
	c->go = ends[1];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return hv_err_new(errno, "command '%s': pipe: %s", c->words[0], strerror(errno));
	c->failure = ends[0];
	failure = ends[1];
	c->pid = fork();
	if (c->pid == 0) {
		hv_close_at(&c->go);
		become_command(c, go, failure);
	}
	if (c->pid > 0)
		return NULL;
	c->pid = 0;
	return hv_err_new(errno, "command '%s': fork: %s", c->words[0], strerror(errno));
}

struct hv_err *record_command_start(struct record_command *c)
{
	int code = EPIPE;
	ssize_t n;

	if (!c->pid)
		return NULL;
	n = write(c->go, "", 1);
	if (n == 1)
		do
			n = read(c->failure, &code, sizeof(code));
		while (n < 0 && errno == EINTR);
	record_command_deinit(c);
	if (n == 0)
		return NULL;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	return hv_err_new(code, "command '%s': %s", c->words[0], strerror(code));
}

bool record_command_has_ended(struct record_command *c)
{
	if (!c->pid || waitpid(c->pid, &c->status, WNOHANG) != c->pid)
		return false;
	c->pid = 0;
	return true;
}

void record_command_deinit(struct record_command *c)
{
	hv_close_at(&c->go);
	hv_close_at(&c->failure);
	c->go = c->failure = -1;
}

struct hv_err *record_command_result(const struct record_command *c)
{
	if (!c->words || !c->status)
		return NULL;
	if (WIFSIGNALED(c->status))
		return hv_err_new(ECHILD, "command '%s': died of signal %d", c->words[0],
				  WTERMSIG(c->status));
	return hv_err_new(ECHILD, "command '%s': exit status %d", c->words[0],
			  WEXITSTATUS(c->status));
}

#define STOP_MS	    2000
#define HOST_SUFFIX "-host" /* of the name of the second file */

enum { STOP_COMMAND = ERRAND_OWN, HOST_FILE, KEEP, DIAL };

/* -- the process with rights ------------------------------------------------------------------ */

struct errands {
	const char *path; /* NULL: no file is written here */
	bool is_dir, is_new;
	char *host_path; /* NULL: no such file */
	bool host_is_new, keeps;
	const struct hv_stream_target *target; /* NULL: no TCP stream */
};

static struct hv_err *stop_command(void)
{
	struct pollfd ended = {ERRAND_KEEP_FD, POLLIN, 0};

	/* without a command this is no pidfd, and the call fails */
	if (pidfd_send_signal(ERRAND_KEEP_FD, SIGTERM, NULL, 0) == 0 &&
	    poll(&ended, 1, STOP_MS) == 0)
		pidfd_send_signal(ERRAND_KEEP_FD, SIGKILL, NULL, 0);
	return NULL;
}

static struct hv_err *open_host_file(struct errands *a, struct hv_message *ret)
{
	HV_AUTO_FD int fd = -1;
	bool is_new = false;
	struct hv_err *err;

	if (!a->host_path)
		return hv_err_new(EPROTO, "%s", strerror(EPROTO));
	err = output_open(a->host_path, OUTPUT_FOLLOWS_NONE, &fd, &is_new);
	if (err)
		return err;
	a->host_is_new |= is_new;
	if (ftruncate(fd, 0) != 0)
		return hv_err_new(errno, "%s: %s", a->host_path, strerror(errno));
	hv_message_add_fd(ret, fd);
	return NULL;
}

static struct hv_err *dial(const struct errands *a, struct hv_message *ret)
{
	HV_AUTO_FD int fd = a->target ? hv_stream_dial(a->target) : -1;

	if (fd < 0)
		return hv_err_new(a->target ? errno : EPROTO, "%s", strerror(errno));
	hv_message_add_fd(ret, fd);
	return NULL;
}

static struct hv_err *run(void *ctx, const struct hv_message *what, struct hv_message *ret)
{
	struct errands *a = ctx;

	switch (what->kind) {
	case STOP_COMMAND:
		return stop_command();
	case HOST_FILE:
		return open_host_file(a, ret);
	case KEEP:
		a->keeps = true;
		return NULL;
	case DIAL:
		return dial(a, ret);
	default:
		return hv_err_new(EPROTO, "%s", strerror(EPROTO));
	}
}

static void end(void *ctx)
{
	const struct errands *a = ctx;

	if (a->keeps)
		return;
	if (a->is_new)
		unlinkat(AT_FDCWD, a->path, a->is_dir ? AT_REMOVEDIR : 0);
	if (a->host_is_new)
		unlink(a->host_path);
}

char *record_host_path(const char *path)
{
	const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');

	if (!dot || dot == path || dot[-1] == '/')
		return hv_format("%s" HOST_SUFFIX, path);
	return hv_format("%.*s" HOST_SUFFIX "%s", (int)(dot - path), path, dot);
}

/* -- the process without rights --------------------------------------------------------------- */

static struct hv_err *begin_errands(struct errand *e, struct record_file *f,
				    const struct record_command *c)
{
	HV_AUTO_FD int command = c->pid ? pidfd_open(c->pid, 0) : -1;
	bool is_file = f->target.path && !f->target.to && !f->is_stdout;
	HV_AUTO_FREE char *host_path =
		is_file && f->target.format->has_host ? record_host_path(f->target.path) : NULL;
	struct errands errands = {
		.path = is_file ? f->target.path : NULL,
		.is_dir = is_file && f->target.format->is_dir,
		.is_new = f->is_new,
		.host_path = host_path,
		.target = f->target.dial ? f->target.dial->target : NULL,
	};
	struct errand_config config = ERRAND_CONFIG_NONE;
	struct hv_err *err;

	config.dir_fd = errands.is_dir ? f->fd : -1;
	config.keep_fd = command;
	config.needs = HV_CAP(DAC_OVERRIDE) | HV_CAP(KILL);
	config.run = run;
	config.end = end;
	config.ctx = &errands;
	err = errand_begin(e, &config);
	if (!err)
		f->is_new = false; /* the other process removes the file from now on */
	return err;
}

struct hv_err *record_apart_begin(struct errand *e, struct record_file *f,
				  const struct record_command *c)
{
	struct hv_confinement confinement = HV_CONFINEMENT_NONE;
	struct hv_err *err = begin_errands(e, f, c);

	if (err)
		return err;
	f->errand = e;
	if (f->target.dial)
		f->target.dial->errand = e;
	/* for the process that shows progress */
	confinement.may = HV_MAY_START;
	if (f->target.path && f->target.format->has_host) {
		/* names of the VMM's threads */
		confinement.may |= HV_MAY_READ;
		confinement.readable[0] = "/proc";
	}
	return hv_confine(&confinement);
}

void record_apart_stop_command(struct errand *e, struct record_command *c)
{
	if (!c->pid)
		return;
	errand_do(e, STOP_COMMAND, "", NULL);
	while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	c->status = 0;
}

struct hv_err *record_apart_host_file(struct errand *e, const char *path, int *ret_fd)
{
	int code = errand_do(e, HOST_FILE, "", ret_fd);

	return code ? hv_err_new(code, "%s: %s", path, strerror(code)) : NULL;
}

void record_apart_keep(struct errand *e)
{
	errand_do(e, KEEP, "", NULL);
}

int record_dial(void *ctx)
{
	const struct record_dial *d = ctx;
	int fd = -1, code;

	if (!d->errand)
		return hv_stream_dial(d->target);
	code = errand_do(d->errand, DIAL, "", &fd);
	errno = code;
	return fd;
}
