/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses of the guest, parsed from the service's kallsyms, which can contain anything. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "lib/alloc.h"
#include "lib/session.h"

#define SYMBOL_FIRST  "0123456789abcdef T n" /* no line of kallsyms is shorter */
#define KALLSYMS_PATH "kallsyms"

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
	error = conn_read_lines(session->conn, WIRE_OPEN_PROC, KALLSYMS_PATH, &s->text, &len_bytes);
	if (error)
		return error;
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
