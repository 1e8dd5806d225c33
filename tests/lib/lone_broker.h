/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A broker in this process, which answers host requests (cli/service/host_client.h) without a
 * service. Its guest has no memory. Its files are in a new directory, which is also the working
 * directory: a path that begins with "(null)" would lead into a directory there. */
#pragma once

#include <stdlib.h>

#include "cli/service/broker.c"
#include "tests/lib/part_guest.h"

#define LONE_NAME "lone"
#define LONE_ID	  "lone-1"
#define LONE_NULL "(null)"

struct lone_broker {
	char work[40];
	char run_dir[48];
	char conf[48];
	char btf_dir[48];
	struct service_config config;
	struct broker broker;
};

static inline void lone_require(bool holds)
{
	if (!holds)
		abort();
}

static inline void lone_put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	lone_require(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Makes the directories. L must not move afterwards. */
static inline void lone_broker_make(struct lone_broker *l)
{
	*l = (struct lone_broker){.work = "/tmp/hvtrace-lone-XXXXXX"};
	umask(077);
	lone_require(mkdtemp(l->work) && chdir(l->work) == 0 && mkdir(LONE_NULL, 0700) == 0);
	snprintf(l->run_dir, sizeof(l->run_dir), "%s/run", l->work);
	snprintf(l->conf, sizeof(l->conf), "%s/conf", l->work);
	snprintf(l->btf_dir, sizeof(l->btf_dir), "%s/btf", l->work);
	lone_require(mkdir(l->btf_dir, 0700) == 0);
	lone_put(l->conf, "allow user 1 read lone\n");
	lone_put("btf/6.1.0.btf", "\x9f\xeb\x01");
	l->config = (struct service_config){
		.spec = LONE_NAME,
		.run_dir = l->run_dir,
		.conf_path = l->conf,
		.audit_target = AUDIT_LOG_ONLY,
	};
}

static inline void lone_broker_begin(struct lone_broker *l)
{
	static struct hv_guest_ops ops;
	static const struct hv_guest_info info = {
		.arch = &hv_arch_x86_64,
		.name = LONE_NAME,
		.id = LONE_ID,
		.transport = "a test",
		.nr_vcpus = 1,
	};
	const char *const dirs[] = {l->btf_dir};

	l->broker = new_broker(&l->config);
	l->broker.service.guest = part_guest_new(&ops, NULL, &info);
	hv_err_free(btf_files_open(&l->broker.service.btf, NULL, dirs, 1));
}

static inline void lone_broker_end(struct lone_broker *l)
{
	struct service *s = &l->broker.service;

	close_guest(&l->broker);
	s->dir.has_left = false;
	rundir_remove(&s->dir);
	audit_close(&s->audit);
	hv_close_at(&s->listen_fd);
	access_deinit(&s->access);
	btf_files_close(&s->btf);
	kept_facts_deinit(&s->facts);
}

/* Removes everything below the directory, and the directory. */
static inline void lone_broker_remove(struct lone_broker *l)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", l->work);

	lone_require(chdir("/") == 0 && system(command) == 0);
}
