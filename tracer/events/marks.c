/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/marks.h"

#include <string.h>

#include "base/guard.h"

static struct hv_mark *at(const struct hv_marks *m, uint64_t id)
{
	return &m->list[id % HV_MARKS_MAX];
}

static void forget_first(struct hv_marks *m)
{
	struct hv_mark *mark = at(m, m->first++);

	m->nr_bytes -= mark->len_bytes;
	free(mark->bytes);
	*mark = (struct hv_mark){0};
}

void hv_marks_deinit(struct hv_marks *m)
{
	while (m->first < m->next)
		forget_first(m);
	free(m->list);
	*m = (struct hv_marks){0};
}

uint64_t hv_marks_add(struct hv_marks *m, unsigned kind, const char *bytes, size_t len_bytes)
{
	struct hv_mark *mark;

	if (!m->list)
		m->list = hv_alloc(HV_MARKS_MAX * sizeof(*m->list));
	while (m->first < m->next &&
	       (m->next - m->first == HV_MARKS_MAX || m->nr_bytes + len_bytes > HV_MARKS_BYTES_MAX))
		forget_first(m);
	mark = at(m, m->next);
	*mark = (struct hv_mark){
		.id = m->next, .kind = kind, .bytes = hv_alloc(len_bytes), .len_bytes = len_bytes};
	if (len_bytes)
		memcpy(mark->bytes, bytes, len_bytes);
	m->nr_bytes += len_bytes;
	return m->next++;
}

const struct hv_mark *hv_marks_find(const struct hv_marks *m, uint64_t id)
{
	return id >= m->first && id < m->next ? at(m, id) : NULL;
}
