/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace attach: starts the service of a domain. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/domain_state.h"
#include "cli/mount/mounter.h"
#include "cli/parse.h"
#include "cli/service/service.h"
#include "cli/session_stat.h"
#include "cli/spec.h"
#include "cli/terminal.h"
#include "cli/verbs/verb.h"

static bool parse_via(const char *text, enum hv_via *ret)
{
	static const struct {
		const char *name;
		enum hv_via via;
	} ways[] = {{"auto", HV_VIA_AUTO}, {"inject", HV_VIA_INJECT}, {"monitor", HV_VIA_MONITOR}};

	for (size_t i = 0; i < HV_ARRAY_LEN(ways); i++) {
		if (strcmp(text, ways[i].name) == 0) {
			*ret = ways[i].via;
			return true;
		}
	}
	return false;
}

/* Refuses a domain that has a service. A second service would wait for the monitor. */
static struct hv_err *refuse_second(const struct cli *cli, const char *spec)
{
	HV_AUTO_FREE char *given = spec_absolute(spec);
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	bool found = false;
	struct hv_err *err = rundir_find(cli->run_dir, given, cli->libvirt_uri, &found, &info);

	if (err || !found)
		return err;
	return domain_state_is_taken(&info, spec);
}

/* The session continues if the mount fails. */
static int mount_tree(const struct cli *cli, const char *spec, const char *dir)
{
	HV_AUTO_FREE char *at = NULL;
	struct hv_err *err = mounter_mount(cli->run_dir, spec, cli->libvirt_uri, dir, &at);

	if (err)
		return fail(hv_err_in(err, "domain '%s': attached, but not mounted", spec));
	printf("%s\n", at);
	return EXIT_OK;
}

/* Prints the session like `stat --json`. */
static int put_stat(const struct cli *cli, const char *spec)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err = client_connect(cli->run_dir, spec, cli->libvirt_uri, &c);

	if (!err)
		err = client_stat(&c, &text);
	if (err)
		return fail(err);
	return put_out(text, strlen(text)) ? EXIT_FAILED : EXIT_OK;
}

/* After Ctrl-C, ends by that signal, so that a calling script ends, too. Takes ERR. */
static int fail_attach(struct hv_err *err)
{
	bool interrupted = err->code == ECANCELED || err->code == EINTR;

	fail(err);
	if (!interrupted)
		return EXIT_FAILED;
	signal(SIGINT, SIG_DFL);
	raise(SIGINT);
	return EXIT_FAILED;
}

static int run(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {
		{"via", required_argument, NULL, 'v'},
		{"patch", required_argument, NULL, 'p'},
		{"vmlinux", required_argument, NULL, 'k'},
		{"btf", required_argument, NULL, 'b'},
		{"force", no_argument, NULL, 'f'},
		{"mount", optional_argument, NULL, 'm'},
		{"max-overhead", required_argument, NULL, 'o'},
		{"for", required_argument, NULL, 'F'},
		{"idle", required_argument, NULL, 'i'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	struct service_config config = {.run_dir = cli->run_dir,
					.conf_path = cli->conf_path,
					.audit_target = cli->audit_target};
	HV_AUTO_FREE char *line = NULL;
	struct progress progress = {0};
	const char *mount_dir = NULL;
	bool mounts = false, is_json = false;
	struct hv_err *err;
	int exit_code;
	int c;

	while ((c = verb_option(cli, argc, argv, "j", longs, &exit_code)) != -1) {
		if (c == VERB_OPTION_STOP)
			return exit_code;
		if (c == 'k') {
			config.vmlinux_path = optarg;
		} else if (c == 'b') {
			config.btf_path = optarg;
		} else if (c == 'f') {
			config.force = true;
		} else if (c == 'j') {
			is_json = true;
		} else if (c == 'm') {
			mounts = true;
			mount_dir = optarg;
		} else if (c == 'p' && !service_parse_patch(optarg, &config.shadow)) {
			return usage_error(cli, "--patch: '%s' is neither in-place nor shadow",
					   optarg);
		} else if (c == 'v' && !parse_via(optarg, &config.via)) {
			return usage_error(cli, "--via: '%s' is not one of auto, inject, monitor",
					   optarg);
		} else if (c == 'o' && !percent_parse(optarg, &config.max_overhead_ppm)) {
			return usage_error(cli, "--max-overhead: '%s' is not " PERCENT_WANTED,
					   optarg);
		} else if (c == 'F' && !duration_parse(optarg, &config.for_ns)) {
			return usage_error(cli, "--for: '%s' is not " DURATION_WANTED, optarg);
		} else if (c == 'i' && !duration_parse(optarg, &config.idle_ns)) {
			return usage_error(cli, "--idle: '%s' is not " DURATION_WANTED, optarg);
		}
	}
	if (!verb_operands(cli, argc, argv, 1, 1, &exit_code))
		return exit_code;
	if (is_json && mounts)
		return usage_error(cli, "give either --json or --mount");
	if (!have_root(cli))
		return EXIT_FAILED;
	config.spec = argv[optind];
	config.libvirt_uri = cli->libvirt_uri;
	err = refuse_second(cli, config.spec);
	progress_begin(&progress, 0, "attaching", config.spec);
	if (!err)
		err = service_start(&config, &line);
	progress_end(&progress);
	if (err)
		return fail_attach(err);
	if (is_json)
		return put_stat(cli, config.spec);
	printf("%s\n", line);
	return mounts ? mount_tree(cli, config.spec, mount_dir) : EXIT_OK;
}

static const char help[] =
	"A background process keeps the session until `hvtrace detach`, or until the guest ends\n"
	"or reboots. Nothing is traced yet: choose a tracer with `hvtrace echo`.\n\n"
	"  --via=WAY              how to reach the guest; auto: inject under KVM, else monitor\n"
	"  --patch=WAY            how to change text: in place, or in shadow copies of its\n"
	"                         pages (injection, shared RAM of small pages)\n"
	"  --vmlinux=FILE         the guest's kernel with symbols and types; its build id\n"
	"                         must match\n" VERB_BTF_HELP
	"  --max-overhead=PERCENT limit on the part of a vCPU's time that tracing takes; above\n"
	"                         it, hvtrace stops tracing the costliest functions and lists\n"
	"                         them in stat\n"
	"  --for=TIME             detach after this time (2, 1.5s, 500ms, 1m, 1h)\n"
	"  --idle=TIME            detach when no client was connected for this time\n"
	"  --force                attach even if the guest checks its kernel's text (LKRG);\n"
	"                         allow irqsoff and preemptoff with too few places covered\n"
	"  --mount[=DIR]          then run `hvtrace mount DOMAIN [DIR]`\n"
	"  -j, --json             print what `hvtrace stat --json` prints\n";

const struct verb verb_attach = {
	.name = "attach",
	.args = "[--via=auto|inject|monitor] [--patch=in-place|shadow] [--vmlinux=FILE] "
		"[--btf=FILE|DIR] [--max-overhead=PERCENT] [--for=TIME] [--idle=TIME] [--force] "
		"[--mount[=DIR]] "
		"[--json] "
		"DOMAIN",
	.summary = "Start a session with a guest",
	.help = help,
	.run = run,
};
