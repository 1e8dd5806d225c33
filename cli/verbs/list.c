/* hvtrace list: the domains libvirt knows and the sessions there are. */
#include <stdio.h>
#include <string.h>

#include "cli/rundir.h"
#include "cli/verbs/verb.h"
#include "vmm/guest.h"

#define NAME_WIDTH_MIN 24
#define NAME_WIDTH_MAX 64

static bool is_attached(const struct rundir_info *sessions, size_t nr, const char *uuid)
{
	for (size_t i = 0; i < nr; i++)
		if (sessions[i].live && strcmp(sessions[i].id, uuid) == 0)
			return true;
	return false;
}

static bool is_listed(const struct hv_domain *domains, size_t nr, const char *uuid)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(domains[i].uuid, uuid) == 0)
			return true;
	return false;
}

static int wider(int width, const char *name)
{
	int len = (int)strnlen(name, NAME_WIDTH_MAX);

	return len > width ? len : width;
}

static void print_row(int width, const char *name, const char *id, const char *state,
		      const char *traceable, const char *reason)
{
	HV_AUTO_TEXT struct hv_text safe = {0};

	hv_text_add_guest(&safe, name, 256);
	printf("%-*s %5s  %-10s %s%s%s\n", width, safe.data ? safe.data : "", id, state, traceable,
	       reason ? ": " : "", reason ? reason : "");
}

static void print_domain(int width, const struct hv_domain *d, bool is_traced)
{
	const char *advice = d->lacks_device ? " (hvtrace check says what to add)" : "";
	HV_AUTO_FREE char *reason = hv_format("%s%s", d->reason ? d->reason : "", advice);
	char id[16];

	snprintf(id, sizeof(id), d->id < 0 ? "-" : "%d", d->id);
	if (is_traced)
		print_row(width, d->name, id, d->state, "attached", NULL);
	else if (d->reason)
		print_row(width, d->name, id, d->state, "no", reason);
	else
		print_row(width, d->name, id, d->state, "yes", NULL);
}

static void print_table(const struct hv_domain *domains, size_t nr,
			const struct rundir_info *sessions, size_t nr_sessions)
{
	int width = NAME_WIDTH_MIN;

	for (size_t i = 0; i < nr; i++)
		width = wider(width, domains[i].name);
	for (size_t i = 0; i < nr_sessions; i++)
		if (sessions[i].live)
			width = wider(width, sessions[i].name);
	print_row(width, "NAME", "ID", "STATE", "TRACEABLE", NULL);
	for (size_t i = 0; i < nr; i++)
		print_domain(width, &domains[i],
			     is_attached(sessions, nr_sessions, domains[i].uuid));
	for (size_t i = 0; i < nr_sessions; i++)
		if (sessions[i].live && !is_listed(domains, nr, sessions[i].id))
			print_row(width, sessions[i].name, "-", "running", "attached", NULL);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct rundir_info *sessions = NULL;
	struct hv_domain *domains = NULL;
	size_t nr_sessions = 0;
	size_t nr = 0;
	struct hv_err *err;
	int exit_code;

	if (!verb_no_options(cli, argc, argv, 0, 0, &exit_code))
		return exit_code;
	/* Without root the sessions cannot be seen; the domains can. */
	hv_err_free(rundir_list(cli->run_dir, &sessions, &nr_sessions));
	err = hv_domain_list(cli->libvirt_uri, &domains, &nr);
	if (!err || nr_sessions)
		print_table(domains, nr, sessions, nr_sessions);
	hv_domain_list_free(domains, nr);
	rundir_list_free(sessions, nr_sessions);
	return fail_if(err);
}

static const char help[] =
	"TRACEABLE is what can be seen without a look into the guest's memory; `hvtrace\n"
	"check` looks. Sessions with machines that libvirt does not know are shown too.\n";

const struct verb verb_list = {
	.name = "list",
	.args = "",
	.summary = "Show the domains, and whether each can be traced",
	.help = help,
	.run = run,
};
