/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/agent_round.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NAME  "hvtrace-agent "
#define BEGIN NAME "1"

void agent_round_deinit(struct agent_round *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->tasks[i].cgroup);
	for (size_t i = 0; i < r->nr_files; i++)
		free(r->files[i].path);
	free(r->tasks);
	free(r->files);
	free(r->maps);
	*r = (struct agent_round){0};
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parses a number of at most MAX at *AT, and the following blank or the end of the line. */
static bool take_number(const char **at, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *c = *at;
	uint64_t value = 0;

	for (; hex(*c) >= 0 && (unsigned)hex(*c) < base; c++) {
		unsigned digit = (unsigned)hex(*c);

		if (digit > max || value > (max - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (c == *at || (*c && *c != ' '))
		return false;
	*at = c + (*c == ' ');
	*ret = value;
	return true;
}

/* Returns the value of an upper-case hex digit, or -1. */
static int code(char c)
{
	return c >= 'a' ? -1 : hex(c);
}

/* Decodes %XX escapes. */
static char *unescaped(const char *text)
{
	HV_AUTO_TEXT struct hv_text raw = {0}, shown = {0};

	for (; *text && raw.len_bytes < AGENT_NAME_MAX; text++) {
		bool is_code = *text == '%' && code(text[1]) >= 0 && code(text[2]) >= 0;

		hv_text_add_char(&raw,
				 is_code ? (char)(16 * code(text[1]) + code(text[2])) : *text);
		text += is_code ? 2 : 0;
	}
	hv_text_add_utf8(&shown, raw.len_bytes ? raw.data : "", raw.len_bytes);
	return hv_text_take(&shown);
}

/* "-" means no build ID. */
static bool take_build_id(const char **at, struct agent_file *f)
{
	const char *c = *at;

	for (; hex(c[0]) >= 0 && hex(c[1]) >= 0; c += 2) {
		if (f->build_id_len == AGENT_BUILD_ID_MAX)
			return false;
		f->build_id[f->build_id_len++] = (uint8_t)(16 * hex(c[0]) + hex(c[1]));
	}
	c += c == *at && *c == '-';
	if (c == *at || *c != ' ')
		return false;
	*at = c + 1;
	return true;
}

/* Parsers for the kinds of lines. Invalid lines are ignored. */

/* Makes room for one more element after the NR elements of LIST. */
#define GROW(list, nr)                                                                             \
	((nr) & ((nr)-1) ? (list) : hv_realloc_array((list), (nr) ? 2 * (nr) : 1, sizeof(*(list))))

static void add_task(struct agent_round *r, const char *words)
{
	uint64_t pid;

	if (!take_number(&words, 10, INT32_MAX, &pid) || !pid || !*words ||
	    r->nr == AGENT_TASKS_MAX)
		return;
	r->tasks = GROW(r->tasks, r->nr);
	r->tasks[r->nr++] = (struct agent_task){(uint32_t)pid, unescaped(words)};
}

/* The agent numbers files 1, 2, ... in the order of their lines. */
static void add_file(struct agent_round *r, const char *words)
{
	struct agent_file f = {0};
	uint64_t number;

	if (!take_number(&words, 10, AGENT_FILES_MAX, &number) || number != r->nr_files + 1 ||
	    !take_build_id(&words, &f) || !*words)
		return;
	f.path = unescaped(words);
	r->files = GROW(r->files, r->nr_files);
	r->files[r->nr_files++] = f;
}

static void add_map(struct agent_round *r, const char *words)
{
	struct agent_map m = {0};
	uint64_t pid, number;

	if (!take_number(&words, 10, INT32_MAX, &pid) || !pid ||
	    !take_number(&words, 16, UINT64_MAX, &m.start) ||
	    !take_number(&words, 16, UINT64_MAX, &m.end) ||
	    !take_number(&words, 16, UINT64_MAX, &m.offset) ||
	    !take_number(&words, 10, r->nr_files, &number) || !number || *words ||
	    m.start >= m.end || r->nr_maps == AGENT_MAPS_MAX)
		return;
	m.pid = (uint32_t)pid;
	m.file = (uint32_t)number - 1;
	r->maps = GROW(r->maps, r->nr_maps);
	r->maps[r->nr_maps++] = m;
}

static void set_clock(struct agent_round *r, const char *words, uint64_t now_ns)
{
	struct agent_clock c = {.heard_ns = now_ns};
	size_t len = 0;

	if (!take_number(&words, 10, INT64_MAX, &c.realtime_ns) ||
	    !take_number(&words, 10, INT64_MAX, &c.monotonic_ns))
		return;
	for (; (*words >= 'a' && *words <= 'z') || (*words >= '0' && *words <= '9'); words++) {
		if (len == AGENT_COUNTER_MAX - 1)
			return;
		c.counter[len++] = *words;
	}
	if (!len || *words++ != ' ' || !take_number(&words, 10, INT64_MAX, &c.counter_value) ||
	    *words)
		return;
	r->clock = c;
	r->has_clock = true;
}

static const char *after(const char *line, const char *word)
{
	size_t len = strlen(word);

	return strncmp(line, word, len) == 0 ? line + len : NULL;
}

static void take_words(struct agent_round *r, const char *line, uint64_t now_ns)
{
	const char *words;

	if ((words = after(line, "task ")))
		add_task(r, words);
	else if ((words = after(line, "file ")))
		add_file(r, words);
	else if ((words = after(line, "map ")))
		add_map(r, words);
	else if ((words = after(line, "clock ")))
		set_clock(r, words, now_ns);
	else if (strcmp(line, "cut") == 0)
		r->is_cut = true;
}

/* The connection may start in the middle of a round, so lines before the first line of a round are
 * ignored. */
static void take_line(struct agent_hearing *h, uint64_t now_ns)
{
	h->line[h->len] = '\0';
	if (strcmp(h->line, BEGIN) == 0) {
		agent_round_deinit(&h->round);
		h->has_begun = true;
	} else if (after(h->line, NAME)) {
		h->heard = AGENT_OTHER_VERSION;
	} else if (h->has_begun && strcmp(h->line, "end") == 0) {
		h->heard = AGENT_ENDED;
	} else if (h->has_begun) {
		take_words(&h->round, h->line, now_ns);
	}
}

enum agent_heard agent_hearing_take(struct agent_hearing *h, const char *bytes, size_t len,
				    uint64_t now_ns)
{
	for (size_t i = 0; i < len && h->heard == AGENT_GOES_ON; i++) {
		if (bytes[i] != '\n') {
			h->is_long |= h->len == AGENT_LINE_MAX - 1;
			if (!h->is_long)
				h->line[h->len++] = bytes[i];
			continue;
		}
		if (!h->is_long)
			take_line(h, now_ns);
		h->len = 0;
		h->is_long = false;
	}
	return h->heard;
}

void agent_hearing_deinit(struct agent_hearing *h)
{
	agent_round_deinit(&h->round);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct agent_task *one = a, *other = b;
	int by_name = strcmp(one->cgroup, other->cgroup);

	return by_name ? by_name : (one->pid > other->pid) - (one->pid < other->pid);
}

static int compare_maps(const void *a, const void *b)
{
	const struct agent_map *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid > other->pid ? 1 : -1;
	return (one->start > other->start) - (one->start < other->start);
}

void agent_hearing_finish(struct agent_hearing *h, struct agent_round *ret)
{
	struct agent_round *r = &h->round;

	if (r->nr)
		qsort(r->tasks, r->nr, sizeof(*r->tasks), compare_tasks);
	if (r->nr_maps)
		qsort(r->maps, r->nr_maps, sizeof(*r->maps), compare_maps);
	*ret = *r;
	*r = (struct agent_round){0};
}
