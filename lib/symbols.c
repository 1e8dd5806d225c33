/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses and tasks of the guest, parsed from the service's kallsyms and saved_cmdlines.
 * Both can contain anything. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/clock.h"
#include "lib/alloc.h"
#include "lib/session.h"

#define COMM_BYTES    16
#define REFRESH_NS    (100 * HV_NS_PER_MS)
#define SYMBOL_FIRST  "0123456789abcdef T n" /* no line of kallsyms is shorter */
#define UNKNOWN_NAME  "<...>"
#define IDLE_NAME     "<idle>"
#define NAMES_PATH    "saved_cmdlines"
#define KALLSYMS_PATH "kallsyms"

/* -- symbols ---------------------------------------------------------------------------------- */

struct symbol {
	uint64_t address;
	const char *name;
	const char *module; /* NULL: the kernel itself */
};

struct hvt_symbols {
	char *text; /* owned; contains the names */
	struct symbol *list;
	size_t nr;
};

void hvt_symbols_free(struct hvt_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->text);
	free(symbols->list);
	free(symbols);
}

static void free_at(struct hvt_symbols **symbols)
{
	hvt_symbols_free(*symbols);
}

/* Parses "ffffffff81000000 T name", and "\t[module]" after the name. Changes LINE. */
static bool parse_symbol(char *line, struct symbol *ret)
{
	char *end, *tab;
	unsigned long long address = strtoull(line, &end, 16);

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return false;
	*ret = (struct symbol){.address = address, .name = end + 3};
	tab = strchr(end + 3, '\t');
	if (!tab)
		return true;
	*tab = '\0';
	if (tab[1] == '[') {
		ret->module = tab + 2;
		tab[2 + strcspn(tab + 2, "]")] = '\0';
	}
	return true;
}

/* Symbols with equal addresses keep their order, because the kernel uses the first. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

static void make_lines_safe(char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++)
		if ((unsigned char)text[i] > '~' ||
		    (text[i] < ' ' && text[i] != '\n' && text[i] != '\t'))
			text[i] = '?';
}

static bool parse_symbols(struct hvt_symbols *s, size_t len_bytes)
{
	size_t max = len_bytes / (sizeof(SYMBOL_FIRST) - 1) + 1;
	char *rest = s->text;

	s->list = lib_realloc_array(NULL, max, sizeof(*s->list));
	if (!s->list)
		return false;
	for (char *line; s->nr < max && (line = strsep(&rest, "\n"));)
		s->nr += parse_symbol(line, &s->list[s->nr]);
	if (s->nr)
		qsort(s->list, s->nr, sizeof(*s->list), compare_symbols);
	return true;
}

struct hvt_error *hvt_symbols_read(struct hvt_session *session, struct hvt_symbols **ret)
{
	hv_cleanup(free_at) struct hvt_symbols *s = NULL;
	struct hvt_error *error = session_check(session);
	size_t len_bytes;

	if (!error && !ret)
		error = error_null("ret");
	if (error)
		return error;
	s = lib_alloc(sizeof(*s));
	if (!s)
		return error_no_memory();
	error = conn_read_file(session->conn, WIRE_OPEN_PROC, KALLSYMS_PATH, &s->text, &len_bytes);
	if (error)
		return error;
	make_lines_safe(s->text, len_bytes);
	if (!parse_symbols(s, len_bytes))
		return error_no_memory();
	*ret = hv_take(s);
	return NULL;
}

const char *hvt_symbols_name(const struct hvt_symbols *symbols, uint64_t address,
			     uint64_t *ret_offset, const char **ret_module)
{
	const struct symbol *found;
	size_t nr;

	nr = symbols ? HV_BISECT(i, symbols->nr, symbols->list[i].address <= address) : 0;
	if (!nr)
		return NULL;
	found = &symbols->list[HV_BISECT(i, nr,
					 symbols->list[i].address < symbols->list[nr - 1].address)];
	if (ret_offset)
		*ret_offset = address - found->address;
	if (ret_module)
		*ret_module = found->module;
	return found->name;
}

uint64_t hvt_symbols_address(const struct hvt_symbols *symbols, const char *name)
{
	for (size_t i = 0; symbols && name && i < symbols->nr; i++)
		if (strcmp(symbols->list[i].name, name) == 0)
			return symbols->list[i].address;
	return 0;
}

/* -- names of tasks --------------------------------------------------------------------------- */

struct task {
	uint32_t pid;
	char comm[COMM_BYTES];
};

struct task_names {
	struct task *list; /* owned, sorted by pid */
	size_t nr;
	uint64_t read_ns; /* when they were read */
};

void task_names_free(struct task_names *names)
{
	if (!names)
		return;
	free(names->list);
	free(names);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* LINE is "61 cat". */
static bool parse_task(const char *line, struct task *ret)
{
	char *end;
	unsigned long pid = strtoul(line, &end, 10);

	if (end == line || *end != ' ' || pid > UINT32_MAX)
		return false;
	*ret = (struct task){.pid = (uint32_t)pid};
	snprintf(ret->comm, sizeof(ret->comm), "%s", end + 1);
	return true;
}

static struct hvt_error *read_names(struct conn *c, struct task_names *names)
{
	HV_AUTO_FREE char *text = NULL;
	size_t len_bytes, nr_lines = 1, nr = 0;
	struct hvt_error *error = conn_read_file(c, WIRE_OPEN, NAMES_PATH, &text, &len_bytes);
	struct task *list;
	char *rest = text;

	names->read_ns = hv_now_ns();
	if (error)
		return error;
	make_lines_safe(text, len_bytes);
	for (size_t i = 0; i < len_bytes; i++)
		nr_lines += text[i] == '\n';
	list = lib_realloc_array(NULL, nr_lines, sizeof(*list));
	if (!list)
		return error_no_memory();
	for (char *line; nr < nr_lines && (line = strsep(&rest, "\n"));)
		nr += parse_task(line, &list[nr]);
	if (nr)
		qsort(list, nr, sizeof(*list), compare_tasks);
	free(names->list);
	names->list = list;
	names->nr = nr;
	return NULL;
}

static const struct task *find_task(const struct task_names *names, uint32_t pid)
{
	size_t at = HV_BISECT(i, names->nr, names->list[i].pid < pid);

	return at < names->nr && names->list[at].pid == pid ? &names->list[at] : NULL;
}

struct hvt_error *hvt_session_task_name(struct hvt_session *session, uint32_t pid, char ret[16])
{
	struct hvt_error *error = session_check(session);
	const struct task *task;

	if (!error && !ret)
		error = error_null("ret");
	if (!error && !session->names && !(session->names = lib_alloc(sizeof(*session->names))))
		error = error_no_memory();
	if (error)
		return error;
	if (pid && hv_now_ns() - session->names->read_ns >= REFRESH_NS)
		error = read_names(session->conn, session->names);
	if (error)
		return error;
	task = find_task(session->names, pid);
	snprintf(ret, COMM_BYTES, "%s", task ? task->comm : pid ? UNKNOWN_NAME : IDLE_NAME);
	return NULL;
}
