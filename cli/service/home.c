/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/home.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/domain_state.h"
#include "vmm/hosttrace/instance.h"
#include "vmm/unix_socket.h"

/* What is made again together. */
struct home {
	struct rundir dir;
	struct audit audit;
	int listen_fd;
};

static void home_deinit(struct home *h)
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

/* Its strings are borrowed. */
static struct rundir_info info_of(const struct service *s)
{
	const struct hv_guest_info *guest = hv_guest_info(s->guest);

	return (struct rundir_info){
		.id = (char *)guest->id,
		.name = (char *)guest->name,
		.spec = (char *)s->config->spec,
		.uri = (char *)s->config->libvirt_uri,
		.vmm_pid = guest->pid,
		.service_pid = s->pid,
	};
}

/* The caller owns what was made so far, on errors, too. */
static struct hv_err *make(const struct service *s, struct rundir *dir, struct audit *audit)
{
	const struct service_config *config = s->config;
	const struct hv_guest_info *guest = hv_guest_info(s->guest);
	struct rundir_info info = info_of(s);
	HV_AUTO_FREE char *log = NULL;
	struct hv_err *err = domain_state_take(config->run_dir, guest->id, config->spec, dir);

	if (err)
		return err;
	log = rundir_path(dir->path, "log");
	err = audit_open(log, config->sink, guest->name, guest->id, audit);
	if (!err)
		err = rundir_write_info(dir, &info);
	if (!err)
		err = write_pid(dir, s->pid);
	return err;
}

struct hv_err *home_open(struct service *s)
{
	struct hv_err *err = make(s, &s->dir, &s->audit);

	if (!err)
		hv_host_trace_clean(hv_guest_info(s->guest)->id);
	return err;
}

struct hv_err *home_listen(struct service *s)
{
	return listen_at(&s->dir, &s->listen_fd);
}

bool home_keep(struct service *s)
{
	struct home h = {RUNDIR_NONE, AUDIT_NONE, -1};
	struct hv_err *err;

	audit_trim(&s->audit);
	if (rundir_is_ours(&s->dir))
		return false;
	err = make(s, &h.dir, &h.audit);
	if (!err)
		err = listen_at(&h.dir, &h.listen_fd);
	if (err) {
		hv_err_free(err);
		home_deinit(&h);
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

void home_recovers(struct service *s, pid_t pid)
{
	struct rundir_info info = info_of(s);
	HV_AUTO_FREE char *sock = rundir_path(s->dir.path, "sock");

	info.service_pid = pid;
	info.recovers = true;
	hv_err_free(rundir_write_info(&s->dir, &info));
	unlink(sock);
}

void home_leave(struct service *s, const char *reason)
{
	/* The guest may have been closed before, and then the directory has its id. */
	const char *name = s->dir.path ? strrchr(s->dir.path, '/') : NULL;

	if (name && rundir_is_ours(&s->dir))
		hv_host_trace_clean(name + 1);
	if (reason)
		rundir_leave(&s->dir, reason);
	else
		rundir_remove(&s->dir);
}
