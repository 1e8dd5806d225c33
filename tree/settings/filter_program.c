/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All number comparisons become one: (field - low) & mask <= span. N-bit numbers form a circle of
 * 2^N values, in which "from A to B" is an arc that begins at A. Signedness only changes the
 * starting point of the circle. */
#include "tree/settings/filter_program.h"

#include <string.h>

/* The only common field of an entry that the stub knows. */
#define COMMON_PID_OFF 4

static bool can_compare(const struct hv_predicate *p)
{
	size_t end = offsetof(struct hv_draft, entry) + (size_t)p->off + sizeof(uint64_t);

	if (p->kind != HV_PREDICATE_NUMBER && p->kind != HV_PREDICATE_RANGE)
		return false;
	if (p->off < HV_ENTRY_HEADER_LEN && (p->off != COMMON_PID_OFF || p->size_bytes != 4))
		return false;
	return end <= sizeof(struct hv_draft); /* the stub reads eight bytes for any field */
}

static enum hv_step_means range_step(const struct hv_predicate *p, struct hv_filter_step *ret)
{
	if (p->end <= p->value)
		return HV_STEP_NOTHING;
	ret->low = p->value;
	ret->mask = UINT64_MAX;
	ret->span = p->end - p->value - 1;
	return p->op == HV_FILTER_EQ ? HV_STEP_SAME : HV_STEP_OPPOSITE;
}

/* Makes RET the arc from FROM to TO. */
static enum hv_step_means arc(uint64_t from, uint64_t to, enum hv_step_means means,
			      struct hv_filter_step *ret)
{
	ret->low = from;
	ret->span = (to - from) & ret->mask;
	return means;
}

static enum hv_step_means number_step(const struct hv_predicate *p, struct hv_filter_step *ret)
{
	uint64_t mask = UINT64_MAX >> (64 - 8 * p->size_bytes), value = p->value & mask;
	uint64_t min = p->is_signed ? (mask >> 1) + 1 : 0, max = (min - 1) & mask;

	ret->mask = mask;
	switch (p->op) {
	case HV_FILTER_EQ:
		return arc(value, value, HV_STEP_SAME, ret);
	case HV_FILTER_NE:
		return arc(value, value, HV_STEP_OPPOSITE, ret);
	case HV_FILTER_LE:
		return arc(min, value, HV_STEP_SAME, ret);
	case HV_FILTER_GT:
		return arc(min, value, HV_STEP_OPPOSITE, ret);
	case HV_FILTER_GE:
		return arc(value, max, HV_STEP_SAME, ret);
	case HV_FILTER_LT:
		return arc(value, max, HV_STEP_OPPOSITE, ret);
	case HV_FILTER_AND:
		ret->mask = value;
		return arc(0, 0, HV_STEP_OPPOSITE, ret); /* some bits are nonzero */
	default:
		return HV_STEP_NOTHING;
	}
}

enum hv_step_means hv_predicate_step(const struct hv_predicate *p, struct hv_filter_step *ret)
{
	*ret = (struct hv_filter_step){0};
	if (!can_compare(p))
		return HV_STEP_NOTHING;
	ret->off = (uint16_t)(offsetof(struct hv_draft, entry) + p->off);
	return p->kind == HV_PREDICATE_RANGE ? range_step(p, ret) : number_step(p, ret);
}

static bool is_same(const struct hv_stub_filter *a, const struct hv_stub_filter *b)
{
	return a->nr == b->nr && memcmp(a->steps, b->steps, sizeof(a->steps)) == 0;
}

/* Entries that P would drop continue with the steps of OTHER. */
bool hv_stub_filter_or(struct hv_stub_filter *p, const struct hv_stub_filter *other)
{
	if (is_same(p, other))
		return true;
	if (p->nr + other->nr > HV_FILTER_STEPS_MAX)
		return false;
	for (unsigned i = 0; i < p->nr; i++) {
		struct hv_filter_step *step = &p->steps[i];
		uint16_t to_end = (uint16_t)((p->nr - i) * sizeof(*step));

		if (step->holds == HV_FILTER_DROPS)
			step->holds = to_end;
		if (step->fails == HV_FILTER_DROPS)
			step->fails = to_end;
	}
	memcpy(p->steps + p->nr, other->steps, other->nr * sizeof(*other->steps));
	p->nr += other->nr;
	return true;
}
