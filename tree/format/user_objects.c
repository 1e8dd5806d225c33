/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/user_objects.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/programs/program.h"

#define NR_KEPT	  16
#define KEPT_NS	  100000000u
#define PATHS_MAX (1u << 20) /* bytes of all paths of a process */

struct kept {
	uint64_t read_ns; /* 0: unused */
	uint32_t tgid;
	struct hv_program program; /* empty: there is no such process */
};

struct hv_user_objects {
	struct hv_kernel *kernel;
	struct kept list[NR_KEPT];
};

struct hv_user_objects *hv_user_objects_new(struct hv_kernel *k)
{
	struct hv_user_objects *o = hv_alloc(sizeof(*o));

	o->kernel = k;
	return o;
}

void hv_user_objects_free(struct hv_user_objects *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < NR_KEPT; i++)
		hv_program_deinit(&o->list[i].program);
	free(o);
}

static bool is_too_long(const struct hv_program *p)
{
	size_t len_bytes = 0;

	for (size_t i = 0; i < p->nr; i++)
		len_bytes += strlen(p->maps[i].path);
	return len_bytes > PATHS_MAX;
}

static const struct hv_program *find_program(struct hv_user_objects *o, uint32_t tgid)
{
	struct kept *k = &o->list[tgid % NR_KEPT];
	uint64_t now_ns = hv_now_ns();

	if (k->read_ns && k->tgid == tgid && now_ns - k->read_ns < KEPT_NS)
		return &k->program;
	hv_program_deinit(&k->program);
	if (!hv_program_read(o->kernel, tgid, &k->program))
		k->program = (struct hv_program){0};
	if (is_too_long(&k->program))
		hv_program_deinit(&k->program);
	k->tgid = tgid;
	k->read_ns = hv_now_ns();
	return &k->program;
}

/* The vdso has no file. */
static bool has_file(const struct hv_program_map *m)
{
	return m->path[0] == '/' || m->path[0] == '.';
}

bool hv_user_objects_add(struct hv_user_objects *o, struct hv_text *out, uint32_t tgid,
			 uint64_t address)
{
	const struct hv_program *p = find_program(o, tgid);

	for (size_t i = 0; i < p->nr; i++) {
		const struct hv_program_map *m = &p->maps[i];

		if (address < m->start || address >= m->end || !has_file(m))
			continue;
		hv_text_add_guest(out, m->path, PATHS_MAX);
		hv_text_printf(out, "[+0x%" PRIx64 "]", address - m->start);
		return true;
	}
	return false;
}
