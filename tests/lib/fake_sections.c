/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_sections.h"

#include "base/guard.h"
#include "tests/lib/fake_session.h"

struct hv_section_tracer {
	int *fail;
	uint64_t ns;
	struct hv_section *kept; /* holds a reference, may be NULL */
	struct hv_section_calls calls;
};

struct hv_section_tracer *fake_sections_new(int *fail)
{
	struct hv_section_tracer *s = hv_alloc(sizeof(*s));

	s->fail = fail;
	return s;
}

void fake_sections_free(struct hv_section_tracer *s)
{
	hv_section_unref(s->kept);
	free(s);
}

void hv_fake_section(struct hv_session *s, struct hv_section *section)
{
	hv_section_unref(s->sections->kept);
	s->sections->kept = section;
}

bool hv_fake_logs(const struct hv_session *s)
{
	return s->sections->calls.logs;
}

void hv_section_tracer_log(struct hv_section_tracer *s, const struct hv_section_calls *calls)
{
	s->calls = *calls;
}

void hv_section_tracer_look(struct hv_section_tracer *s hv_unused)
{
}

bool hv_section_tracer_exists(const struct hv_section_tracer *s, enum hv_section_kind kind)
{
	(void)s;
	(void)kind;
	return true;
}

struct hv_err *hv_section_tracer_start(struct hv_section_tracer *s, enum hv_section_kind kind)
{
	(void)kind;
	return fake_change(s->fail);
}

struct hv_err *hv_section_tracer_renew(struct hv_section_tracer *s)
{
	return fake_change(s->fail);
}

struct hv_err *hv_section_tracer_stop(struct hv_section_tracer *s)
{
	(void)s;
	return NULL;
}

void hv_section_tracer_begin_at(struct hv_section_tracer *s, uint64_t ns, uint64_t thresh_ns)
{
	(void)thresh_ns;
	hv_section_unref(s->kept);
	s->kept = NULL;
	s->ns = ns;
}

void hv_section_tracer_coverage(const struct hv_section_tracer *s, struct hv_section_coverage *ret)
{
	(void)s;
	*ret = (struct hv_section_coverage){0};
}

size_t hv_section_tracer_left(const struct hv_section_tracer *s, size_t max,
			      struct hv_section_left *ret)
{
	(void)s;
	(void)max;
	(void)ret;
	return 0;
}

uint64_t hv_section_tracer_longest_ns(struct hv_section_tracer *s)
{
	return s->kept ? s->kept->ns : s->ns;
}

struct hv_section *hv_section_tracer_kept(struct hv_section_tracer *s)
{
	return s->kept ? hv_section_ref(s->kept) : NULL;
}
