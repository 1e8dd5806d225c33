/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/own_session.h"

#include <unistd.h>

#include "cli/service/service.h"
#include "cli/terminal.h"
#include "cli/verbs/verb.h"

static struct hv_err *attach(const struct cli *cli, const char *spec, struct own_session *s)
{
	struct service_config config = {
		.spec = spec,
		.libvirt_uri = cli->libvirt_uri,
		.run_dir = cli->run_dir,
		.conf_path = cli->conf_path,
		.audit_target = cli->audit_target,
	};
	HV_AUTO_FREE char *line = NULL;
	struct progress progress = {0};
	struct hv_err *err;

	progress_begin(&progress, 0, "attaching", spec);
	err = service_start(&config, &line);
	progress_end(&progress);
	if (!err)
		err = client_connect(cli->run_dir, spec, cli->libvirt_uri, &s->client);
	if (err)
		return err;
	s->attached_here = true;
	note(line);
	return client_own(&s->client);
}

struct hv_err *own_session_open(const struct cli *cli, const char *spec, struct own_session *ret)
{
	struct hv_err *why = NULL;
	bool found;
	struct hv_err *err =
		client_find(cli->run_dir, spec, cli->libvirt_uri, &found, &ret->client, &why);

	if (!err && !found && cli->needs_root && geteuid() != 0)
		return why; /* only root can start a session */
	hv_err_free(why);
	if (err || found)
		return err;
	return attach(cli, spec, ret);
}

struct hv_err *own_session_set_budget(struct own_session *s, uint64_t max_overhead_ppm)
{
	struct hv_err *err;

	if (!max_overhead_ppm)
		return NULL;
	err = client_max_overhead(&s->client, (uint32_t)max_overhead_ppm);
	return err && !client_is_gone(err) ? hv_err_in(err, "domain '%s'", s->client.spec) : err;
}

struct hv_err *own_session_end(struct own_session *s)
{
	struct progress progress = {0};
	struct hv_err *err;

	if (!s->attached_here)
		return NULL;
	progress_begin(&progress, 0, "detaching", s->client.spec);
	err = client_detach(&s->client, note, NULL);
	progress_end(&progress);
	return err;
}

void own_session_close(struct own_session *s)
{
	client_close(&s->client);
}
