/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A filter is compiled into steps that operate on one truth value: a predicate sets it, NOT inverts
 * it, and a conditional jump skips steps that can no longer change it:
 *
 *     a && b || !(c || d)
 *
 *     0  PREDICATE a
 *     1  UNLESS      -> 3
 *     2  PREDICATE b
 *     3  IF          -> 8
 *     4  PREDICATE c
 *     5  IF          -> 7
 *     6  PREDICATE d
 *     7  NOT
 *
 * Jumps only lead forward. */
#include "tree/settings/event_filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

enum what { PREDICATE, NOT, IF, UNLESS };

struct step {
	enum what what;
	size_t arg; /* index of the predicate, or target of the jump */
};

struct hv_event_filter {
	struct step *steps; /* owned */
	size_t nr_steps;
	struct hv_predicate *predicates; /* owned */
	size_t nr_predicates;
};

#define NONE SIZE_MAX

/* State of one pair of parentheses: the pending jumps to the end of the next operand of && and of
 * ||. */
struct level {
	size_t and_jump, or_jump; /* NONE: no pending jump */
	bool negated;		  /* a '!' precedes the parentheses */
};

struct parse {
	const struct hv_filter_scope *scope;
	const char *text;
	size_t at;
	struct level *levels; /* owned */
	size_t nr_levels;
	bool negated; /* a '!' precedes the next operand */
	struct hv_event_filter *filter;
	struct hv_filter_fault *fault;
};

static bool fail(struct parse *s, int code, const char *why, size_t at)
{
	*s->fault = (struct hv_filter_fault){code, why, at};
	return false;
}

/* -- first pass -------------------------------------------------------------------------------- */

/* Before parsing, the kernel checks whether quotes and parentheses match (calc_stack). */
struct balance {
	size_t nr_open;
	char quote;	    /* the open quote character */
	size_t last_quote;  /* offset of the last opening quote */
	bool has_predicate; /* contains something other than operators and parentheses */
};

/* Checks the two characters of && and || separately, with the same result. */
static bool balance_at(struct parse *s, struct balance *b, size_t i)
{
	char c = s->text[i];

	if (isspace((unsigned char)c))
		return true;
	if (b->quote) {
		if (c == b->quote)
			b->quote = '\0';
		return true;
	}
	if (c == '\'' || c == '"') {
		b->quote = c;
		b->last_quote = i;
	}
	if (c == '(')
		b->nr_open++;
	else if (c == ')' && !b->nr_open--)
		return fail(s, EPERM, "Too few '('", i);
	else if (c != ')' && !((c == '&' || c == '|') && s->text[i + 1] == c))
		b->has_predicate = true;
	return true;
}

/* Finds the last unclosed parenthesis. */
static size_t find_open(const char *text)
{
	size_t nr_closed = 0;
	char quote = '\0';

	for (size_t i = strlen(text); i-- > 1;) {
		char c = text[i];

		if (quote) {
			if (c == quote)
				quote = '\0';
			continue;
		}
		if (c == '\'' || c == '"')
			quote = c;
		else if (c == ')')
			nr_closed++;
		else if (c == '(' && !nr_closed--)
			return i;
	}
	return 0;
}

static bool look_first(struct parse *s)
{
	struct balance b = {0};

	for (size_t i = 0; s->text[i]; i++)
		if (!balance_at(s, &b, i))
			return false;
	if (b.quote)
		return fail(s, ESRCH, "Missing matching quote", b.last_quote);
	if (b.nr_open)
		return fail(s, ENOENT, "Too many '('", find_open(s->text));
	return b.has_predicate || fail(s, EINVAL, NULL, 0);
}

/* -- steps ------------------------------------------------------------------------------------- */

static size_t add_step(struct parse *s, enum what what, size_t arg)
{
	struct hv_event_filter *f = s->filter;

	f->steps = hv_realloc_array(f->steps, f->nr_steps + 1, sizeof(*f->steps));
	f->steps[f->nr_steps] = (struct step){what, arg};
	return f->nr_steps++;
}

/* Sets the target of the jump at *STEP, if any, to the next step. */
static void end_jump(struct parse *s, size_t *step)
{
	if (*step != NONE)
		s->filter->steps[*step].arg = s->filter->nr_steps;
	*step = NONE;
}

static void open_level(struct parse *s)
{
	s->levels = hv_realloc_array(s->levels, s->nr_levels + 1, sizeof(*s->levels));
	s->levels[s->nr_levels++] = (struct level){NONE, NONE, s->negated};
	s->negated = false;
}

static struct level *innermost(struct parse *s)
{
	return &s->levels[s->nr_levels - 1];
}

/* -- parsing ----------------------------------------------------------------------------------- */

static void skip_space(struct parse *s)
{
	while (isspace((unsigned char)s->text[s->at]))
		s->at++;
}

/* Parses the prefixes of a predicate. */
static void take_prefixes(struct parse *s)
{
	for (;; s->at++) {
		const char *c = &s->text[s->at];

		if (*c == '(')
			open_level(s);
		else if (*c == '!' && c[1] != '=' && c[1] != '~')
			s->negated = !s->negated;
		else if (!isspace((unsigned char)*c))
			return;
	}
}

static bool take_predicate(struct parse *s)
{
	struct hv_event_filter *f = s->filter;
	struct hv_predicate p;
	size_t len;

	if (!hv_predicate_parse(s->scope, s->text, s->at, &p, &len, s->fault))
		return false;
	s->at += len;
	f->predicates = hv_realloc_array(f->predicates, f->nr_predicates + 1, sizeof(p));
	f->predicates[f->nr_predicates] = p;
	add_step(s, PREDICATE, f->nr_predicates++);
	if (s->negated)
		add_step(s, NOT, 0);
	s->negated = false;
	return true;
}

/* Parses an operator. && binds more tightly than ||. */
static void take_operator(struct parse *s, char c)
{
	struct level *l = innermost(s);

	s->at += 2;
	end_jump(s, &l->and_jump);
	if (c == '&') {
		l->and_jump = add_step(s, UNLESS, 0);
		return;
	}
	end_jump(s, &l->or_jump);
	l->or_jump = add_step(s, IF, 0);
}

static void close_level(struct parse *s)
{
	struct level *l = innermost(s);

	end_jump(s, &l->and_jump);
	end_jump(s, &l->or_jump);
	if (l->negated)
		add_step(s, NOT, 0);
	s->nr_levels--;
}

/* Parses the text after an operand, up to the operator before the next one, or the end. */
static bool take_suffixes(struct parse *s)
{
	for (;;) {
		char c;

		skip_space(s);
		c = s->text[s->at];
		if (!c)
			return true;
		if ((c == '&' || c == '|') && s->text[s->at + 1] == c) {
			take_operator(s, c);
			return true;
		}
		if (c != ')')
			return fail(s, EPERM, "Too many terms in predicate expression", s->at);
		s->at++;
		if (s->nr_levels == 1)
			return fail(s, EPERM, "Too few '('", s->at);
		close_level(s);
	}
}

/* Kernels before 2026 ignore an operator at the end, or read beyond their program. */
static bool end(struct parse *s)
{
	const struct level *l = innermost(s);
	size_t last = s->filter->nr_steps - 1;

	if (s->nr_levels != 1)
		return fail(s, EPERM, "Too many '('", s->at);
	if (!s->filter->nr_predicates)
		return fail(s, EINVAL, "No filter found", s->at);
	if (l->and_jump == last || l->or_jump == last)
		return fail(s, EINVAL, "Meaningless filter expression", s->at);
	close_level(s);
	return true;
}

static bool parse(struct parse *s)
{
	if (!look_first(s))
		return false;
	open_level(s);
	for (take_prefixes(s); s->text[s->at]; take_prefixes(s))
		if (!take_predicate(s) || !take_suffixes(s))
			return false;
	return end(s);
}

struct hv_event_filter *hv_event_filter_parse(const struct hv_filter_scope *scope,
					      const char *filter, struct hv_filter_fault *ret_fault)
{
	struct parse s = {
		.scope = scope,
		.text = filter,
		.filter = hv_alloc(sizeof(*s.filter)),
		.fault = ret_fault,
	};
	bool is_right = parse(&s);

	free(s.levels);
	if (is_right)
		return s.filter;
	hv_event_filter_free(s.filter);
	return NULL;
}

void hv_event_filter_free(struct hv_event_filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nr_predicates; i++)
		hv_predicate_deinit(&f->predicates[i]);
	free(f->predicates);
	free(f->steps);
	free(f);
}

bool hv_event_filter_passes(const struct hv_event_filter *f, const struct hv_filter_record *record)
{
	bool is_true = true;

	for (size_t i = 0; i < f->nr_steps; i++) {
		const struct step *step = &f->steps[i];

		if (step->what == PREDICATE)
			is_true = hv_predicate_holds(&f->predicates[step->arg], record);
		else if (step->what == NOT)
			is_true = !is_true;
		else if (is_true == (step->what == IF))
			i = step->arg - 1;
	}
	return is_true;
}

/* -- steps for the trampoline ------------------------------------------------------------------ */

/* All number comparisons become one: (field - low) & mask <= span. N-bit numbers form a circle of
 * 2^N values, in which "from A to B" is an arc that begins at A. Signedness only changes the
 * starting point of the circle. */

/* The only common field of an entry that the trampoline knows. */
#define COMMON_PID_OFF 4

static bool can_compare(const struct hv_predicate *p)
{
	size_t end = offsetof(struct hv_draft, entry) + (size_t)p->off + sizeof(uint64_t);

	if (p->kind != HV_PREDICATE_NUMBER && p->kind != HV_PREDICATE_RANGE)
		return false;
	if (p->off < HV_ENTRY_HEADER_LEN && (p->off != COMMON_PID_OFF || p->size_bytes != 4))
		return false;
	return end <= sizeof(struct hv_draft); /* the trampoline reads eight bytes for any field */
}

/* Relation of a predicate to its step: the step is equivalent, or its negation. */
enum step_means { STEP_NOTHING, STEP_SAME, STEP_OPPOSITE };

static enum step_means range_step(const struct hv_predicate *p, struct hv_filter_step *ret)
{
	if (p->end <= p->value)
		return STEP_NOTHING;
	ret->low = p->value;
	ret->mask = UINT64_MAX;
	ret->span = p->end - p->value - 1;
	return p->op == HV_FILTER_EQ ? STEP_SAME : STEP_OPPOSITE;
}

/* Makes RET the arc from FROM to TO. */
static enum step_means arc(uint64_t from, uint64_t to, enum step_means means,
			   struct hv_filter_step *ret)
{
	ret->low = from;
	ret->span = (to - from) & ret->mask;
	return means;
}

static enum step_means number_step(const struct hv_predicate *p, struct hv_filter_step *ret)
{
	uint64_t mask = UINT64_MAX >> (64 - 8 * p->size_bytes), value = p->value & mask;
	uint64_t min = p->is_signed ? (mask >> 1) + 1 : 0, max = (min - 1) & mask;

	ret->mask = mask;
	switch (p->op) {
	case HV_FILTER_EQ:
		return arc(value, value, STEP_SAME, ret);
	case HV_FILTER_NE:
		return arc(value, value, STEP_OPPOSITE, ret);
	case HV_FILTER_LE:
		return arc(min, value, STEP_SAME, ret);
	case HV_FILTER_GT:
		return arc(min, value, STEP_OPPOSITE, ret);
	case HV_FILTER_GE:
		return arc(value, max, STEP_SAME, ret);
	case HV_FILTER_LT:
		return arc(value, max, STEP_OPPOSITE, ret);
	case HV_FILTER_AND:
		ret->mask = value;
		return arc(0, 0, STEP_OPPOSITE, ret); /* some bits are nonzero */
	default:
		return STEP_NOTHING;
	}
}

/* Makes a step for P that is not linked to other steps yet. Returns STEP_NOTHING if P cannot be
 * a step. */
static enum step_means predicate_step(const struct hv_predicate *p, struct hv_filter_step *ret)
{
	*ret = (struct hv_filter_step){0};
	if (!can_compare(p))
		return STEP_NOTHING;
	ret->off = (uint16_t)(offsetof(struct hv_draft, entry) + p->off);
	return p->kind == HV_PREDICATE_RANGE ? range_step(p, ret) : number_step(p, ret);
}

/* Returns where the trampoline's program continues after step N, the predicate at AT, if it is
 * IS_TRUE: the distance in bytes to the next predicate that can change the result, or the end. */
static uint16_t follow(const struct hv_event_filter *f, size_t at, size_t n, bool is_true)
{
	for (at++; at < f->nr_steps; at++) {
		const struct step *step = &f->steps[at];

		if (step->what == PREDICATE)
			return (uint16_t)((step->arg - n) * sizeof(struct hv_filter_step));
		if (step->what == NOT)
			is_true = !is_true;
		else if (is_true == (step->what == IF))
			at = step->arg - 1;
	}
	return is_true ? HV_FILTER_PASSES : HV_FILTER_DROPS;
}

bool hv_event_filter_program(const struct hv_event_filter *f, struct hv_trampoline_filter *ret)
{
	struct hv_trampoline_filter program = {.nr = (unsigned)f->nr_predicates};

	if (f->nr_predicates > HV_FILTER_STEPS_MAX)
		return false;
	for (size_t at = 0; at < f->nr_steps; at++) {
		size_t n = f->steps[at].arg;
		enum step_means means;

		if (f->steps[at].what != PREDICATE)
			continue;
		means = predicate_step(&f->predicates[n], &program.steps[n]);
		if (means == STEP_NOTHING)
			return false;
		program.steps[n].holds = follow(f, at, n, means == STEP_SAME);
		program.steps[n].fails = follow(f, at, n, means == STEP_OPPOSITE);
	}
	*ret = program;
	return true;
}

static bool is_same(const struct hv_trampoline_filter *a, const struct hv_trampoline_filter *b)
{
	return a->nr == b->nr && memcmp(a->steps, b->steps, sizeof(a->steps)) == 0;
}

/* Entries that P would drop continue with the steps of OTHER. */
bool hv_trampoline_filter_or(struct hv_trampoline_filter *p,
			     const struct hv_trampoline_filter *other)
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
