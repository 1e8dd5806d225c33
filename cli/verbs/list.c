/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace list: shows the domains that libvirt knows, other processes that hold a KVM machine, and
 * all sessions. */
#include <json-c/json.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "cli/domain_state.h"
#include "cli/verbs/verb.h"
#include "vmm/domains.h"
#include "vmm/guest.h"
#include "vmm/processes.h"

#define NAME_WIDTH_MIN	  24
#define STATE_COLUMNS	  19 /* after the name: the id and the state */
#define NAME_WIDTH_MAX	  64
#define ADVICE_ADD_DEVICE " (hvtrace check shows how to add one)"

struct row {
	char *name; /* owned, like all other non-const members */
	char *uuid;
	int id; /* -1: no id */
	char *state;
	const char *traceable; /* "yes", "no", or the state of its session */
	char *reason;	       /* NULL: no reason */
	pid_t pid;	       /* of the VMM; 0: unknown */
	char *vmm;	       /* its program, for a process that libvirt does not know; or NULL */
};

struct rows {
	struct row *list;
	size_t nr;
};

static void rows_deinit(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		free(rows->list[i].name);
		free(rows->list[i].uuid);
		free(rows->list[i].state);
		free(rows->list[i].reason);
		free(rows->list[i].vmm);
	}
	free(rows->list);
}

/* Returns a row without TRACEABLE. */
static struct row *add_row(struct rows *rows, const char *name, const char *uuid, int id,
			   const char *state)
{
	struct row *row;

	rows->list = hv_realloc_array(rows->list, rows->nr + 1, sizeof(*rows->list));
	row = &rows->list[rows->nr++];
	*row = (struct row){
		.name = hv_strdup(name),
		.uuid = hv_strdup(uuid),
		.id = id,
		.state = hv_strdup(state),
	};
	return row;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* Returns NULL if there is no session. */
static const struct rundir_info *session_of(const struct rundir_info *sessions, size_t nr,
					    const char *uuid)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(sessions[i].id, uuid) == 0)
			return &sessions[i];
	return NULL;
}

/* Whether INFO, which may be NULL, determines the row. */
static bool is_to_show(const struct rundir_info *info)
{
	enum domain_state state = domain_state(info);

	return state != DOMAIN_FREE && state != DOMAIN_GONE;
}

static bool is_listed(const struct hv_domain *domains, size_t nr, const char *uuid)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(domains[i].uuid, uuid) == 0)
			return true;
	return false;
}

static void set_session(struct row *row, const struct rundir_info *info)
{
	struct hv_err *err = domain_state_needs_recovery(info, row->name);

	row->traceable = err ? "no" : domain_state_words(domain_state(info));
	if (err)
		row->reason = hv_strdup(err->reason);
	hv_err_free(err);
}

/* SESSION may be NULL. */
static void add_domain(struct rows *rows, const struct hv_domain *d,
		       const struct rundir_info *session)
{
	struct row *row = add_row(rows, d->name, d->uuid, d->id, d->state);

	row->pid = d->pid;
	row->traceable = d->reason ? "no" : "yes";
	if (is_to_show(session))
		set_session(row, session);
	else if (d->reason)
		row->reason =
			hv_format("%s%s", d->reason, d->lacks_device ? ADVICE_ADD_DEVICE : "");
}

static void add_session(struct rows *rows, const struct rundir_info *session)
{
	struct row *row = add_row(rows, session->name, session->id, -1, "running");

	row->pid = session->vmm_pid;
	set_session(row, session);
}

static bool has_pid(const struct rows *rows, pid_t pid)
{
	for (size_t i = 0; i < rows->nr; i++)
		if (rows->list[i].pid == pid)
			return true;
	return false;
}

static void add_process(struct rows *rows, const struct hv_vmm_process *p)
{
	HV_AUTO_FREE char *name = p->id[0] && !p->is_shared ? hv_format("vmm:%s", p->id)
							    : hv_format("pid:%d", (int)p->pid);
	HV_AUTO_FREE char *uuid = hv_format("pid-%d", (int)p->pid);
	struct row *row = add_row(rows, name, uuid, -1, "running");

	row->pid = p->pid;
	row->vmm = hv_strdup(p->name);
	row->traceable = "yes";
	if (p->is_shared)
		row->reason = hv_format("another process claims the id %s, too", p->id);
}

static void make_rows(struct rows *rows, const struct hv_domain *domains, size_t nr,
		      const struct rundir_info *sessions, size_t nr_sessions)
{
	for (size_t i = 0; i < nr; i++)
		add_domain(rows, &domains[i], session_of(sessions, nr_sessions, domains[i].uuid));
	for (size_t i = 0; i < nr_sessions; i++)
		if (is_to_show(&sessions[i]) && !is_listed(domains, nr, sessions[i].id))
			add_session(rows, &sessions[i]);
}

/* Adds processes that are not listed yet. */
static void add_processes(struct rows *rows)
{
	HV_AUTO_FREE struct hv_vmm_process *list = NULL;
	size_t nr = 0;
	HV_AUTO_ERR struct hv_err *err = hv_vmm_processes(&list, &nr);

	for (size_t i = 0; !err && i < nr; i++)
		if (!has_pid(rows, list[i].pid))
			add_process(rows, &list[i]);
}

/* Appends NAME, sanitised for a terminal, and returns its width in columns. Invalid UTF-8 and
 * characters without a width become '?'. */
static int add_name(struct hv_text *t, const char *name)
{
	const char *end = name + strlen(name);
	mbstate_t state = {0};
	int columns = 0;

	hv_text_add(t, "");
	while (name < end) {
		wchar_t c;
		size_t len = mbrtowc(&c, name, (size_t)(end - name), &state);

		if (len <= (size_t)(end - name) && wcwidth(c) >= 0) {
			hv_text_add_bytes(t, name, len);
			columns += wcwidth(c);
			name += len;
			continue;
		}
		state = (mbstate_t){0};
		hv_text_add(t, "?");
		columns++;
		name += len <= (size_t)(end - name) ? len : 1;
	}
	return columns;
}

static enum terminal_color color_of(const char *traceable)
{
	if (strcmp(traceable, "no") == 0)
		return TERMINAL_RED;
	return strcmp(traceable, "yes") == 0 || strcmp(traceable, "attached") == 0 ? TERMINAL_GREEN
										   : TERMINAL_PLAIN;
}

static int print_row(int width, const char *name, const char *id, const struct row *row)
{
	HV_AUTO_TEXT struct hv_text safe = {0}, line = {0};
	HV_AUTO_FREE char *begin = NULL;
	struct terminal_mark mark;
	int columns = add_name(&safe, name);

	hv_text_printf(&line, "%s%*s %5s  %-10s ", safe.data, columns < width ? width - columns : 0,
		       "", id, row->state);
	begin = hv_format("%s", line.data);
	mark = (struct terminal_mark){begin, color_of(row->traceable), (unsigned)line.len_bytes, 0};
	hv_text_printf(&line, "%s%s%s", row->traceable, row->reason ? ": " : "",
		       row->reason ? row->reason : "");
	if (row->vmm)
		hv_text_printf(&line, " (%s, process %d)", row->vmm, (int)row->pid);
	hv_text_add(&line, "\n");
	return put_lines(line.data, (unsigned)width + STATE_COLUMNS, &mark, 1);
}

static int wider(int width, const char *name)
{
	HV_AUTO_TEXT struct hv_text safe = {0};
	int columns = add_name(&safe, name);

	columns = columns < NAME_WIDTH_MAX ? columns : NAME_WIDTH_MAX;
	return columns > width ? columns : width;
}

/* Returns like put_lines(). */
static int print_table(const struct rows *rows)
{
	const struct row head = {.state = (char *)"STATE", .traceable = "TRACEABLE"};
	int width = NAME_WIDTH_MIN;
	char id[16];
	int code;

	for (size_t i = 0; i < rows->nr; i++)
		width = wider(width, rows->list[i].name);
	code = print_row(width, "NAME", "ID", &head);
	for (size_t i = 0; !code && i < rows->nr; i++) {
		snprintf(id, sizeof(id), rows->list[i].id < 0 ? "-" : "%d", rows->list[i].id);
		code = print_row(width, rows->list[i].name, id, &rows->list[i]);
	}
	return code;
}

static json_object *string_or_null(const char *text)
{
	return text ? json_object_new_string(text) : NULL;
}

static void print_json(const struct rows *rows)
{
	json_object *all = json_object_new_array();

	for (size_t i = 0; i < rows->nr; i++) {
		const struct row *row = &rows->list[i];
		json_object *o = json_object_new_object();

		json_object_object_add(o, "name", string_or_null(row->name));
		json_object_object_add(o, "uuid", string_or_null(row->uuid));
		json_object_object_add(o, "id", row->id < 0 ? NULL : json_object_new_int(row->id));
		json_object_object_add(o, "state", string_or_null(row->state));
		json_object_object_add(o, "traceable", string_or_null(row->traceable));
		json_object_object_add(o, "reason", string_or_null(row->reason));
		json_object_object_add(o, "pid", row->pid ? json_object_new_int(row->pid) : NULL);
		json_object_object_add(o, "vmm", string_or_null(row->vmm));
		json_object_array_add(all, o);
	}
	printf("%s\n", json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
								   JSON_C_TO_STRING_SPACED |
								   JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
}

/* Shows the results, even if *RET_ERR reports that libvirt is unavailable. Returns the exit status
 * of the output. */
static int show(const struct cli *cli, bool json, struct hv_err **ret_err)
{
	hv_cleanup(rows_deinit) struct rows rows = {0};
	struct rundir_info *sessions = NULL;
	struct hv_domain *domains = NULL;
	size_t nr_sessions = 0;
	size_t nr = 0;
	int code = 0;

	/* Without root the sessions cannot be read, but the domains are shown. */
	hv_err_free(rundir_list(cli->run_dir, &sessions, &nr_sessions));
	*ret_err = hv_domain_list(cli->libvirt_uri, &domains, &nr);
	make_rows(&rows, domains, nr, sessions, nr_sessions);
	add_processes(&rows);
	if (rows.nr)
		qsort(rows.list, rows.nr, sizeof(*rows.list), by_name);
	if (json)
		print_json(&rows);
	else if (!*ret_err || rows.nr)
		code = print_table(&rows);
	hv_domain_list_free(domains, nr);
	rundir_list_free(sessions, nr_sessions);
	return code ? EXIT_FAILED : EXIT_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
	struct hv_err *err;
	bool json = false;
	int exit_code;
	int option;

	while ((option = verb_option(cli, argc, argv, "j", longs, &exit_code)) != -1) {
		if (option == VERB_OPTION_STOP)
			return exit_code;
		json = true;
	}
	if (!verb_operands(cli, argc, argv, 0, 0, &exit_code))
		return exit_code;
	/* Domain names are UTF-8 in every locale. */
	setlocale(LC_CTYPE, "C.UTF-8");
	exit_code = show(cli, json, &err);
	return err ? fail(err) : exit_code;
}

static const char help[] =
	"TRACEABLE is judged without reading the guest's memory; `hvtrace check` reads it.\n"
	"Other processes that hold a KVM machine, and sessions with machines that libvirt does\n"
	"not know, are shown, too.\n\n" VERB_SHOWN_HELP;

const struct verb verb_list = {
	.name = "list",
	.args = "[--json]",
	.summary = "Show the domains and VMMs, and whether each can be traced",
	.help = help,
	.run = run,
};
