/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record_session.h"

#include <unistd.h>

#include "cli/service/service.h"

static struct hv_err *start_session(const struct cli *cli, const char *spec, struct client *ret,
				    bool *ret_attached_here)
{
	struct service_config config = {
		.spec = spec,
		.libvirt_uri = cli->libvirt_uri,
		.run_dir = cli->run_dir,
		.conf_path = cli->conf_path,
		.sink = cli->sink,
	};
	HV_AUTO_FREE char *line = NULL;
	struct wire_frame answer;
	struct hv_err *err = service_start(&config, &line);

	if (!err)
		err = client_connect(cli->run_dir, spec, cli->libvirt_uri, ret);
	if (err)
		return err;
	*ret_attached_here = true;
	note(line);
	return client_call(ret, &(struct wire_frame){.kind = WIRE_OWN}, &answer);
}

static struct hv_err *find_session(const struct cli *cli, const char *spec, struct client *ret,
				   bool *ret_attached_here)
{
	struct hv_err *why = NULL;
	bool found;
	struct hv_err *err = client_find(cli->run_dir, spec, cli->libvirt_uri, &found, ret, &why);

	if (!err && !found && cli->needs_root && geteuid() != 0)
		return why; /* only root can begin one */
	hv_err_free(why);
	if (err || found)
		return err;
	return start_session(cli, spec, ret, ret_attached_here);
}

static struct hv_err *set_budget(struct client *c, uint64_t max_overhead_ppm)
{
	struct wire_frame answer;
	struct hv_err *err = client_call(c,
					 &(struct wire_frame){
						 .kind = WIRE_BUDGET,
						 .arg = (uint32_t)max_overhead_ppm,
					 },
					 &answer);

	return err && err->code != ECONNRESET ? hv_err_in(err, "domain '%s'", c->spec) : err;
}

struct hv_err *record_session_begin(const struct cli *cli, const char *spec,
				    uint64_t max_overhead_ppm, struct client *ret,
				    bool *ret_attached_here)
{
	struct hv_err *err;

	*ret_attached_here = false;
	err = find_session(cli, spec, ret, ret_attached_here);
	if (err || !max_overhead_ppm)
		return err;
	return set_budget(ret, max_overhead_ppm);
}

struct hv_err *record_session_end(struct client *c)
{
	struct wire_frame answer;

	c->on_note = note;
	return client_call(c, &(struct wire_frame){.kind = WIRE_DETACH}, &answer);
}
