/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/programs.h"

#include <inttypes.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/programs/program.h"

#define OFFSETS_MAX 8192
#define ANSWER_MAX  (WIRE_DATA_MAX - 8192) /* leaves room for one more line */

_Static_assert(PROGRAMS_PAGE_BYTES == HV_PROGRAM_PAGE_BYTES && PROGRAMS_PAGES_MAX <= 64,
	       "an answer has whole pages and a word");

/* A name with newlines would be several lines. */
static void add_name(struct hv_text *out, const char *name)
{
	hv_text_add_utf8(out, name, 4096);
	hv_text_add(out, "\n");
}

static void add_map(struct hv_text *out, const struct hv_program_map *m)
{
	hv_text_printf(out,
		       "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " ",
		       m->start, m->end, m->off, m->file.mapping.v, m->file.ino, m->file.len_bytes);
	for (size_t i = 0; i < m->build_id_len; i++)
		hv_text_printf(out, "%02x", m->build_id[i]);
	hv_text_add(out, m->build_id_len ? " " : "- ");
	add_name(out, m->path);
}

struct hv_err *programs_map(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	struct hv_program program;

	if (!hv_program_read(s->kernel, frame->arg, &program))
		program = (struct hv_program){0};
	if (program.cgroup)
		add_name(&out, program.cgroup);
	for (size_t i = 0; i < program.nr && out.len_bytes < ANSWER_MAX; i++)
		add_map(&out, &program.maps[i]);
	hv_program_deinit(&program);
	peer_answer_bytes(p, out.data, out.len_bytes);
	return NULL;
}

/* Reads the next number, hexadecimal, and advances *AT. */
static bool next_number(const char **at, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*at, &end, 16);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

struct hv_err *programs_functions(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE struct hv_elf_place *list = hv_alloc(OFFSETS_MAX * sizeof(*list));
	struct hv_program_file_id id = {0};
	HV_AUTO_TEXT struct hv_text out = {0};
	HV_AUTO_FREE char *text = NULL;
	const char *at;
	size_t nr = 0;

	wire_string(frame->data, WIRE_DATA_MAX, &text);
	at = text ? text : "";
	if (next_number(&at, &id.mapping.v) && next_number(&at, &id.ino) &&
	    next_number(&at, &id.len_bytes))
		while (nr < OFFSETS_MAX && next_number(&at, &list[nr].off))
			nr++;
	hv_program_find_functions(s->kernel, &id, list, nr);
	for (size_t i = 0; i < nr; i++) {
		if (out.len_bytes < ANSWER_MAX) {
			hv_text_printf(&out, "%" PRIx64 " %" PRIx64 " ", list[i].off,
				       list[i].vaddr);
			add_name(&out, list[i].name ? list[i].name : "-");
		}
		free(list[i].name);
	}
	peer_answer_bytes(p, out.data, out.len_bytes);
	return NULL;
}

struct hv_err *programs_pages(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE char *bytes =
		hv_alloc(sizeof(uint64_t) + PROGRAMS_PAGES_MAX * PROGRAMS_PAGE_BYTES);
	struct hv_program_file_id id = {0};
	HV_AUTO_FREE char *text = NULL;
	uint64_t present = 0, first = 0;
	const char *at;

	wire_string(frame->data, WIRE_DATA_MAX, &text);
	at = text ? text : "";
	if (next_number(&at, &id.mapping.v) && next_number(&at, &id.ino) &&
	    next_number(&at, &id.len_bytes) && next_number(&at, &first))
		present = hv_program_read_pages(s->kernel, frame->arg, &id, first,
						PROGRAMS_PAGES_MAX, bytes + sizeof(present));
	memcpy(bytes, &present, sizeof(present));
	peer_answer_bytes(p, bytes, sizeof(present) + PROGRAMS_PAGES_MAX * PROGRAMS_PAGE_BYTES);
	return NULL;
}
