/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist/hist_field.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "base/text.h"
#include "tree/settings/hist/hist_spec.h"
#include "tree/settings/hist/synth.h"
#include "tree/settings/token.h"

#define TEXT_BYTES   256 /* MAX_FILTER_STR_VAL */
#define NR_OPS_MAX   3
#define BAD_MODIFIER "Invalid field modifier"
#define TOO_MANY_OPS "Too many subexpressions (3 max)"
#define CPU_TYPE     "unsigned int"
#define CPU_BYTES    4
#define TEXT_OPERAND "String type can not be an operand in expression"
#define STACK_TYPE   "unsigned long[]"
#define USER_STACK   "common_userstacktrace"

static const char *const modifier_names[HV_NR_HIST_MODIFIERS] = {
	[HV_HIST_HEX] = "hex",
	[HV_HIST_SYM] = "sym",
	[HV_HIST_SYM_OFFSET] = "sym-offset",
	[HV_HIST_EXECNAME] = "execname",
	[HV_HIST_SYSCALL] = "syscall",
	[HV_HIST_LOG2] = "log2",
	[HV_HIST_BUCKETS] = "buckets",
	[HV_HIST_USECS] = "usecs",
	[HV_HIST_PERCENT] = "percent",
	[HV_HIST_GRAPH] = "graph",
	[HV_HIST_STACKTRACE] = "stacktrace",
};

const char *hv_hist_modifier_name(enum hv_hist_modifier modifier)
{
	return modifier_names[modifier];
}

void hv_hist_field_free(struct hv_hist_field *f)
{
	if (!f)
		return;
	hv_hist_field_free(f->operands[0]);
	hv_hist_field_free(f->operands[1]);
	free(f->name);
	free(f->type);
	free(f);
}

static void free_at(struct hv_hist_field **f)
{
	hv_hist_field_free(*f);
}
#define AUTO_FIELD hv_cleanup(free_at)

static struct hv_hist_field *take(struct hv_hist_field **f)
{
	struct hv_hist_field *taken = *f;

	*f = NULL;
	return taken;
}

void *hv_hist_fail(struct hv_hist_parse *p, int code, const char *why, const char *marked)
{
	const char *found = strstr(p->command, marked);
	struct hv_hist_faults *f = &p->faults;

	f->code = code;
	if (!why)
		return NULL;
	if (f->nr == HV_HIST_FAULTS_MAX)
		memmove(f->list, f->list + 1, --f->nr * sizeof(f->list[0]));
	f->list[f->nr++] = (struct hv_hist_fault){why, found ? (size_t)(found - p->command) : 0};
	return NULL;
}

/* -- fields ------------------------------------------------------------------------------------ */

/* TEXT follows "bucket". Returns the position of an error, or NULL. */
static const char *parse_buckets(const char *text, struct hv_hist_field *f)
{
	struct hv_err *err;

	text += *text == 's';
	if (*text != '=')
		return text;
	text++;
	err = hv_number_parse(text, 0, &f->buckets);
	f->modifier = HV_HIST_BUCKETS;
	if (!err && f->buckets)
		return NULL;
	hv_err_free(err);
	return text;
}

/* The '-' of sym-offset was replaced in commands because it would be parsed as an operator. */
static enum hv_hist_modifier simple_modifier(const char *text)
{
	static const enum hv_hist_modifier simple[] = {HV_HIST_HEX, HV_HIST_SYM, HV_HIST_SYSCALL,
						       HV_HIST_LOG2, HV_HIST_USECS};

	for (size_t i = 0; i < HV_ARRAY_LEN(simple); i++)
		if (strcmp(text, modifier_names[simple[i]]) == 0)
			return simple[i];
	return strcmp(text, "symXoffset") == 0 ? HV_HIST_SYM_OFFSET : HV_HIST_PLAIN;
}

static bool parse_modifier(struct hv_hist_parse *p, const char *name, const char *text,
			   enum hv_hist_role role, struct hv_hist_field *f)
{
	const char *wrong = NULL;

	f->modifier = simple_modifier(text);
	if (f->modifier)
		return true;
	if (strcmp(text, "stacktrace") == 0 && p->scope->has_stack_fields)
		f->modifier = HV_HIST_STACKTRACE;
	else if (strcmp(text, "execname") == 0 && strcmp(name, "common_pid") == 0)
		f->modifier = HV_HIST_EXECNAME;
	else if (hv_starts_with(text, "bucket"))
		wrong = parse_buckets(text + strlen("bucket"), f);
	else if (hv_starts_with(text, "percent") && role == HV_HIST_VALUE)
		f->modifier = HV_HIST_PERCENT;
	else if (hv_starts_with(text, "graph") && role == HV_HIST_VALUE)
		f->modifier = HV_HIST_GRAPH;
	else
		wrong = text;
	return !wrong || hv_hist_fail(p, EINVAL, BAD_MODIFIER, wrong);
}

static void set_type(struct hv_hist_field *f, const char *type, uint32_t size_bytes)
{
	free(f->type);
	f->type = hv_strdup(type);
	f->size_bytes = size_bytes;
}

static bool is_number_size(uint32_t size_bytes)
{
	return size_bytes == 1 || size_bytes == 2 || size_bytes == 4 || size_bytes == 8;
}

/* create_hist_field(). The kernel has no message for fields that it rejects. */
static bool take_field(struct hv_hist_parse *p, const struct hv_event_field *field,
		       struct hv_hist_field *f)
{
	enum hv_field_form form = hv_field_form_of(field->type);

	set_type(f, field->type, field->size_bytes);
	f->off = field->off;
	f->is_signed = field->is_signed;
	if (p->scope->has_stack_fields && hv_synth_is_stack_type(field->type) &&
	    p->scope->type->reg_kind == HV_EVENT_REG_SYNTH) {
		f->kind = HV_HIST_STACK_FIELD;
		f->is_stack = true;
		f->modifier = HV_HIST_STACKTRACE;
		f->size_bytes = HV_HIST_STACK_BYTES;
		return true;
	}
	if (f->modifier == HV_HIST_STACKTRACE)
		return hv_hist_fail(p, EINVAL, BAD_MODIFIER, field->name);
	if (form == HV_FIELD_ARRAY || form == HV_FIELD_DYNAMIC || form == HV_FIELD_RELATIVE) {
		f->kind = HV_HIST_TEXT;
		f->is_text = true;
		f->is_signed = false;
		f->form = form;
		f->size_bytes = form == HV_FIELD_ARRAY ? field->size_bytes : TEXT_BYTES;
		/* The kernel would use the address of the string. */
		if (f->modifier == HV_HIST_LOG2 || f->modifier == HV_HIST_BUCKETS)
			return hv_hist_fail(p, EINVAL, BAD_MODIFIER, field->name);
		return true;
	}
	return is_number_size(f->size_bytes) || hv_hist_fail(p, ENOMEM, NULL, "");
}

static bool make_stack(struct hv_hist_field *f)
{
	f->kind = HV_HIST_STACK;
	f->is_stack = true;
	set_type(f, STACK_TYPE, HV_HIST_STACK_BYTES);
	return true;
}

/* Kernels without stack fields give the stack no name, so that sorts cannot refer to it. */
static void name_stack(const struct hv_hist_parse *p, struct hv_hist_field *f)
{
	free(f->name);
	f->name = hv_strdup(p->scope->has_stack_fields ? "common_stacktrace" : "");
}

static bool find_field(struct hv_hist_parse *p, const char *name, enum hv_hist_role role,
		       struct hv_hist_field *f)
{
	const struct hv_event_field *field;

	f->name = hv_strdup(name);
	set_type(f, "u64", sizeof(uint64_t));
	if (strcmp(name, "common_timestamp") == 0) {
		f->kind = HV_HIST_TIME;
		f->is_usecs = f->modifier == HV_HIST_USECS;
		p->has_time = true;
		p->has_usecs |= f->is_usecs;
		return true;
	}
	if (strcmp(name, "common_stacktrace") == 0 && p->scope->has_stack_fields) {
		if (f->modifier == HV_HIST_STACKTRACE)
			return hv_hist_fail(p, EINVAL, BAD_MODIFIER, name);
		return make_stack(f);
	}
	if (strcmp(name, "common_cpu") == 0 || strcmp(name, "hitcount") == 0) {
		f->kind = *name == 'c' ? HV_HIST_CPU : HV_HIST_HITS;
		if (f->kind == HV_HIST_CPU)
			set_type(f, CPU_TYPE, CPU_BYTES);
		if (f->kind == HV_HIST_CPU || role != HV_HIST_KEY)
			return true;
	}
	f->is_usecs = f->modifier == HV_HIST_USECS;
	field = hv_event_type_field(p->scope->catalogue, p->scope->type, name);
	if (field && field->size_bytes) {
		f->kind = HV_HIST_NUMBER;
		return take_field(p, field, f);
	}
	if ((strcmp(name, "STACKTRACE") == 0 || strcmp(name, "stacktrace") == 0) &&
	    p->scope->has_stack_fields && f->modifier != HV_HIST_STACKTRACE) {
		name_stack(p, f);
		return make_stack(f);
	}
	f->kind = HV_HIST_CPU;
	set_type(f, CPU_TYPE, CPU_BYTES);
	return strcmp(name, "cpu") == 0 || strcmp(name, "CPU") == 0 ||
	       hv_hist_fail(p, EINVAL, "Couldn't find field", name);
}

static struct hv_hist_field *parse_number(struct hv_hist_parse *p, const char *text)
{
	struct hv_hist_field *f;
	uint64_t value;
	struct hv_err *err = hv_number_parse(text, 0, &value);

	if (err) {
		hv_err_free(err);
		return hv_hist_fail(p, EINVAL, "Expecting numeric literal", text);
	}
	f = hv_alloc(sizeof(*f));
	f->kind = HV_HIST_CONSTANT;
	f->is_constant = true;
	f->constant = value;
	set_type(f, "u64", sizeof(value));
	f->name = hv_strdup("");
	return f;
}

/* Removes SYSTEM.EVENT. from TEXT. Returns the rest. */
static char *cut_qualifier(char *text, struct hv_hist_qualifier *ret)
{
	char *first = strchr(text, '.');

	*ret = (struct hv_hist_qualifier){0};
	if (!first || !strchr(first + 1, '.'))
		return text;
	ret->system = strsep(&text, ".");
	ret->event = strsep(&text, ".");
	return text;
}

/* Returns whether TEXT contains an operator. */
static bool has_operator(const char *text)
{
	return strpbrk(text, "+-*/") != NULL;
}

static bool is_reference(const char *text)
{
	return text[0] == '$' && text[1];
}

/* TEXT may be a variable that the trigger itself defines as a field. Returns that field, which the
 * kernel uses instead of the variable (local_field_var_ref), or NULL. */
static const char *defined_as(const struct hv_hist_parse *p, struct hv_hist_qualifier qualifier,
			      const char *text)
{
	const struct hv_event_type *type = p->scope->type;

	if (!is_reference(text) ||
	    (qualifier.system && (strcmp(qualifier.system, type->system) != 0 ||
				  strcmp(qualifier.event, type->name) != 0)))
		return NULL;
	for (unsigned i = 0; i < p->nr_definitions; i++)
		if (strcmp(p->definitions[i].name, text + 1) == 0 &&
		    !has_operator(p->definitions[i].text) && !is_reference(p->definitions[i].text))
			return p->definitions[i].text;
	return NULL;
}

/* Returns a field with the value of TARGET, or NULL if there are too many references. */
static struct hv_hist_field *reference_new(struct hv_hist_parse *p,
					   const struct hv_hist_target *target,
					   struct hv_hist_qualifier qualifier)
{
	const struct hv_hist_variable *v = &target->spec->variables[target->variable];
	struct hv_hist_field *f;
	unsigned ref;

	if (!hv_hist_refer(p, target, &ref))
		return NULL;
	f = hv_alloc(sizeof(*f));
	f->kind = HV_HIST_REFERENCE;
	f->ref = ref;
	f->name = qualifier.system
			  ? hv_format("%s.%s.%s", qualifier.system, qualifier.event, v->name)
			  : hv_strdup(v->name);
	f->type = hv_strdup(v->field->type);
	f->size_bytes = v->field->size_bytes;
	f->is_signed = v->field->is_signed;
	f->is_usecs = v->field->is_usecs;
	f->is_text = v->field->is_text;
	f->is_stack = v->field->is_stack;
	f->is_constant = v->field->is_constant;
	f->constant = v->field->constant;
	return f;
}

/* If there is no such variable, reports that and returns NULL. As in the kernel, the caller then
 * looks for a field of that name. */
static struct hv_hist_field *parse_reference(struct hv_hist_parse *p,
					     struct hv_hist_qualifier qualifier, const char *name)
{
	struct hv_hist_target target;
	struct hv_hist_field *f = NULL;

	if (hv_hist_find_variable(p, qualifier, name, &target))
		f = reference_new(p, &target, qualifier);
	return f ? f : hv_hist_fail(p, EINVAL, "Couldn't find variable", name);
}

struct hv_hist_field *hv_hist_field_parse_atom(struct hv_hist_parse *p, char *text,
					       enum hv_hist_role role)
{
	HV_AUTO_FREE char *copy = hv_strdup(text), *definition = NULL;
	AUTO_FIELD struct hv_hist_field *f = NULL;
	struct hv_hist_qualifier qualifier;
	char *modifier = cut_qualifier(copy, &qualifier);
	const char *name = defined_as(p, qualifier, modifier);

	if (isdigit((unsigned char)text[0]))
		return parse_number(p, text);
	if (name)
		modifier = definition = hv_strdup(name);
	else if (is_reference(modifier))
		f = parse_reference(p, qualifier, modifier + 1);
	if (f)
		return take(&f);
	f = hv_alloc(sizeof(*f));
	name = strsep(&modifier, ".");
	if (modifier && !parse_modifier(p, name, modifier, role, f))
		return NULL;
	return find_field(p, name, role, f) ? take(&f) : NULL;
}

/* -- expressions ------------------------------------------------------------------------------- */

/* Finds the operator that is applied last, at *RET_AT (contains_operator). */
static enum hv_hist_op find_operator(char *text, char **ret_at)
{
	char *minus = strrchr(text, '-'), *plus = strrchr(text, '+');
	char *divide = strrchr(text, '/'), *multiply = strrchr(text, '*');

	if (minus == text) {
		*ret_at = minus;
		return HV_HIST_NEGATE;
	}
	if (plus || minus) {
		bool adds = plus && (!minus || plus > minus);

		*ret_at = adds ? plus : minus;
		return adds ? HV_HIST_ADD : HV_HIST_SUBTRACT;
	}
	if (multiply && (!divide || multiply > divide)) {
		*ret_at = multiply;
		return HV_HIST_MULTIPLY;
	}
	*ret_at = divide;
	return divide ? HV_HIST_DIVIDE : HV_HIST_NO_OP;
}

/* expr_field_str() */
static void add_operand_name(struct hv_text *out, const struct hv_hist_field *f)
{
	hv_text_add(out, f->kind == HV_HIST_REFERENCE ? "$" : "");
	if (f->kind == HV_HIST_CONSTANT)
		hv_text_printf(out, "%llu", (unsigned long long)f->constant);
	hv_text_add(out, f->name);
	if (f->modifier)
		hv_text_printf(out, ".%s", modifier_names[f->modifier]);
}

static char *expression_name(const struct hv_hist_field *f)
{
	static const char signs[] = {
		[HV_HIST_ADD] = '+',
		[HV_HIST_SUBTRACT] = '-',
		[HV_HIST_MULTIPLY] = '*',
		[HV_HIST_DIVIDE] = '/',
	};
	struct hv_text name = {0};

	if (f->op == HV_HIST_NEGATE)
		hv_text_add(&name, "-(");
	add_operand_name(&name, f->operands[0]);
	if (f->op == HV_HIST_NEGATE) {
		hv_text_add(&name, ")");
	} else {
		hv_text_add_char(&name, signs[f->op]);
		add_operand_name(&name, f->operands[1]);
	}
	return hv_text_take(&name);
}

/* Makes the expression. Takes ownership of A and B, which may be NULL. */
static struct hv_hist_field *combine(enum hv_hist_op op, struct hv_hist_field *a,
				     struct hv_hist_field *b)
{
	struct hv_hist_field *f = hv_alloc(sizeof(*f));
	struct hv_hist_record none = {0};

	f->kind = HV_HIST_EXPRESSION;
	f->op = op;
	f->operands[0] = a;
	f->operands[1] = b;
	set_type(f, a->type, a->size_bytes);
	f->is_signed = a->is_signed;
	f->is_usecs = a->is_usecs;
	f->name = expression_name(f);
	if (!b || !a->is_constant || !b->is_constant)
		return f;
	f->constant = hv_hist_field_value(f, &none);
	f->kind = HV_HIST_CONSTANT;
	f->is_constant = true;
	f->name[0] = '\0';
	return f;
}

static struct hv_hist_field *parse_expression(struct hv_hist_parse *p, char *text,
					      enum hv_hist_role role, unsigned *nr_ops);

/* An operand is never a key, even if the expression is. */
static struct hv_hist_field *parse_operand(struct hv_hist_parse *p, char *text, unsigned *nr_ops)
{
	AUTO_FIELD struct hv_hist_field *f = parse_expression(p, text, HV_HIST_VALUE, nr_ops);

	if (f && (f->is_text || f->is_stack))
		return hv_hist_fail(p, EINVAL, TEXT_OPERAND, text);
	return take(&f);
}

/* Parses -(OPERAND) without trailing text. */
static struct hv_hist_field *parse_negation(struct hv_hist_parse *p, char *text, unsigned *nr_ops)
{
	struct hv_hist_field *operand;
	char *end;

	if (++*nr_ops > NR_OPS_MAX)
		return hv_hist_fail(p, EINVAL, TOO_MANY_OPS, text);
	text++;
	if (!strchr(text, '('))
		return hv_hist_fail(p, EINVAL, NULL, "");
	text++;
	end = strrchr(text, ')');
	if (!end)
		return hv_hist_fail(p, EINVAL, NULL, "");
	if (end[1])
		return hv_hist_fail(p, EINVAL, "Unary minus not supported in sub-expressions",
				    text);
	*end = '\0';
	operand = parse_operand(p, text, nr_ops);
	return operand ? combine(HV_HIST_NEGATE, operand, NULL) : NULL;
}

/* A variable that is an operand of a binary operator is unset when it is read. */
static void read_once(struct hv_hist_parse *p, const struct hv_hist_field *f)
{
	if (f->kind == HV_HIST_REFERENCE)
		p->spec->refs[f->ref].reads_once = true;
}

/* LEFT and RIGHT are the operands' texts. */
static struct hv_hist_field *parse_binary(struct hv_hist_parse *p, enum hv_hist_op op, char *left,
					  char *right, unsigned *nr_ops)
{
	AUTO_FIELD struct hv_hist_field *a = NULL, *b = NULL;

	++*nr_ops;
	if (!*left || !*right)
		return hv_hist_fail(p, EINVAL, NULL, "");
	a = parse_operand(p, left, nr_ops);
	b = a ? parse_operand(p, right, nr_ops) : NULL;
	if (!b)
		return NULL;
	if (a->is_usecs != b->is_usecs)
		return hv_hist_fail(p, EINVAL, "Timestamp units in expression don't match", "");
	if (op == HV_HIST_DIVIDE && b->is_constant && !b->constant)
		return hv_hist_fail(p, EDOM, "Division by zero", right);
	read_once(p, a);
	read_once(p, b);
	return combine(op, take(&a), take(&b));
}

/* Each level of the recursion has an operator, and there are at most NR_OPS_MAX. */
static struct hv_hist_field *parse_expression(struct hv_hist_parse *p, char *text,
					      enum hv_hist_role role, unsigned *nr_ops)
{
	enum hv_hist_op op;
	char *at;

	if (*nr_ops > NR_OPS_MAX)
		return hv_hist_fail(p, EINVAL, TOO_MANY_OPS, text);
	op = find_operator(text, &at);
	if (op == HV_HIST_NO_OP)
		return hv_hist_field_parse_atom(p, text, role);
	if (op == HV_HIST_NEGATE)
		return parse_negation(p, text, nr_ops);
	*at = '\0';
	return parse_binary(p, op, text, at + 1, nr_ops);
}

/* Only keys accept modifiers that change the counted value (__create_val_field). */
static bool is_for(enum hv_hist_role role, const struct hv_hist_field *f)
{
	bool changes = f->modifier == HV_HIST_BUCKETS || f->modifier == HV_HIST_LOG2;
	bool shows = f->modifier == HV_HIST_SYM || f->modifier == HV_HIST_SYM_OFFSET ||
		     f->modifier == HV_HIST_SYSCALL || f->is_stack;

	return role == HV_HIST_KEY || (!changes && !(shows && role == HV_HIST_VALUE));
}

struct hv_hist_field *hv_hist_field_parse(struct hv_hist_parse *p, char *text,
					  enum hv_hist_role role)
{
	unsigned nr_ops = 0;
	AUTO_FIELD struct hv_hist_field *f = NULL;

	/* As a key, stacktrace is the event's stack, even if the event has a field of this name
	 * (create_key_field). */
	if (role == HV_HIST_KEY && strcmp(text, "stacktrace") == 0) {
		f = hv_alloc(sizeof(*f));
		name_stack(p, f);
		make_stack(f);
		return take(&f);
	}
	if (role == HV_HIST_KEY && p->scope->has_user_stacks && strcmp(text, USER_STACK) == 0) {
		f = hv_alloc(sizeof(*f));
		f->name = hv_strdup(text);
		make_stack(f);
		f->kind = HV_HIST_USER_STACK;
		return take(&f);
	}
	f = parse_expression(p, text, role, &nr_ops);
	if (f && !is_for(role, f))
		return hv_hist_fail(p, EINVAL, BAD_MODIFIER, text);
	if (f && f->is_text && role == HV_HIST_VALUE)
		return hv_hist_fail(p, EOPNOTSUPP, "A string cannot be a value", text);
	return take(&f);
}

/* -- references to variables ------------------------------------------------------------------- */

#define NOT_UNIQUE                                                                                 \
	"Variable name not unique, need to use fully qualified name (subsys.event.var) for "       \
	"variable"

static bool is_qualified_by(const struct hv_event_type *type, struct hv_hist_qualifier qualifier)
{
	return strcmp(type->system, qualifier.system) == 0 &&
	       strcmp(type->name, qualifier.event) == 0;
}

static bool next_other(const struct hv_hist_parse *p, size_t index, struct hv_hist_other *ret)
{
	return p->scope->other && p->scope->other(p->scope->of, index, ret);
}

/* -- finding ----------------------------------------------------------------------------------- */

bool hv_hist_find_own(const struct hv_hist_spec *s, const char *name, struct hv_hist_target *ret)
{
	for (unsigned i = 0; i < s->nr_variables; i++) {
		if (s->variables[i].role != HV_HIST_DEFINED ||
		    strcmp(s->variables[i].name, name) != 0)
			continue;
		*ret = (struct hv_hist_target){.spec = s, .variable = i};
		return true;
	}
	return false;
}

/* Searches the triggers of event QUALIFIER (find_file_var). */
static bool find_at(const struct hv_hist_parse *p, struct hv_hist_qualifier qualifier,
		    const char *name, struct hv_hist_target *ret)
{
	struct hv_hist_other other;

	for (size_t i = 0; next_other(p, i, &other); i++) {
		if (!is_qualified_by(other.type, qualifier) ||
		    !hv_hist_find_own(other.spec, name, ret))
			continue;
		ret->serial = other.serial;
		return true;
	}
	return false;
}

/* Searches for the only event with this variable (find_var_file). */
static bool find_anywhere(struct hv_hist_parse *p, const char *name, struct hv_hist_target *ret)
{
	const struct hv_event_type *found = NULL;
	struct hv_hist_target target;
	struct hv_hist_other other;

	for (size_t i = 0; next_other(p, i, &other); i++) {
		if (other.type == found || !hv_hist_find_own(other.spec, name, &target))
			continue;
		if (found) {
			hv_hist_fail(p, EINVAL, NOT_UNIQUE, name);
			return false;
		}
		found = other.type;
		*ret = target;
		ret->serial = other.serial;
	}
	return found != NULL;
}

/* Searches the events that actions match (find_match_var). *RET_NR is the number of events with the
 * variable. */
static bool find_matched(struct hv_hist_parse *p, const char *name, struct hv_hist_target *ret,
			 unsigned *ret_nr)
{
	*ret_nr = 0;
	for (unsigned i = 0; i < p->spec->nr_actions; i++) {
		const struct hv_hist_action *a = p->spec->actions[i];
		struct hv_hist_qualifier qualifier = {a->system, a->event};
		struct hv_hist_target target;

		if (a->handler != HV_HIST_ON_MATCH || !find_at(p, qualifier, name, &target))
			continue;
		if ((*ret_nr)++) {
			hv_hist_fail(p, EINVAL, NOT_UNIQUE, name);
			return false;
		}
		*ret = target;
	}
	return *ret_nr == 1;
}

bool hv_hist_find_variable(struct hv_hist_parse *p, struct hv_hist_qualifier qualifier,
			   const char *name, struct hv_hist_target *ret)
{
	unsigned nr_matched;

	if (qualifier.system)
		return find_at(p, qualifier, name, ret);
	if (find_matched(p, name, ret, &nr_matched))
		return true;
	return !nr_matched && find_anywhere(p, name, ret);
}

bool hv_hist_has_variable(const struct hv_hist_parse *p, const char *name)
{
	const struct hv_event_type *type = p->scope->type;
	struct hv_hist_target unused;

	return hv_hist_find_own(p->spec, name, &unused) ||
	       find_at(p, (struct hv_hist_qualifier){type->system, type->name}, name, &unused);
}

/* compatible_keys() */
static bool has_keys_like(const struct hv_hist_spec *a, const struct hv_hist_spec *b)
{
	if (a->nr_keys != b->nr_keys)
		return false;
	for (unsigned i = 0; i < a->nr_keys; i++)
		if (strcmp(a->keys[i]->type, b->keys[i]->type) != 0 ||
		    a->keys[i]->size_bytes != b->keys[i]->size_bytes ||
		    a->keys[i]->is_signed != b->keys[i]->is_signed)
			return false;
	return true;
}

bool hv_hist_find_alike(const struct hv_hist_parse *p, const struct hv_event_type *type,
			struct hv_hist_other *ret)
{
	for (size_t i = 0; next_other(p, i, ret); i++)
		if (ret->type == type && has_keys_like(p->spec, ret->spec))
			return true;
	return false;
}

/* -- references -------------------------------------------------------------------------------- */

bool hv_hist_refer(struct hv_hist_parse *p, const struct hv_hist_target *target, unsigned *ret)
{
	struct hv_hist_spec *s = p->spec;

	for (*ret = 0; *ret < s->nr_refs; ++*ret)
		if (s->refs[*ret].serial == target->serial &&
		    s->refs[*ret].variable == target->variable)
			return true;
	if (s->nr_refs == HV_HIST_VARIABLES_MAX) {
		p->faults.refers_too_often = true;
		return false;
	}
	s->refs[s->nr_refs++] = (struct hv_hist_reference){
		.serial = target->serial,
		.variable = target->variable,
	};
	return true;
}

/* -- values of a record ------------------------------------------------------------------------ */

#define DIVIDE_SHIFT 20 /* HIST_DIV_SHIFT */
#define COMM_BYTES   16

/* Widens as the kernel does: a signed number keeps its value. */
static uint64_t number(const struct hv_hist_field *f, struct hv_span entry)
{
	uint64_t value = 0;
	unsigned unused_bits = 64 - 8 * f->size_bytes;

	if (!hv_span_copy(entry, f->off, &value, f->size_bytes) || !f->is_signed)
		return value;
	return (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
}

/* The kernel divides small numbers by a constant with a multiplication, which can be too large by
 * one (div_by_mult_and_shift). */
static uint64_t divide(uint64_t value, uint64_t divisor, bool is_constant)
{
	const uint64_t one = UINT64_C(1) << DIVIDE_SHIFT;

	if (!divisor)
		return UINT64_MAX;
	if (!is_constant || !(divisor & (divisor - 1)) || divisor > one || value >= one)
		return value / divisor;
	return (value * (one / divisor) + one - 1) >> DIVIDE_SHIFT;
}

static uint64_t expression(const struct hv_hist_field *f, const struct hv_hist_record *record)
{
	uint64_t a = hv_hist_field_value(f->operands[0], record);
	uint64_t b = f->operands[1] ? hv_hist_field_value(f->operands[1], record) : 0;

	switch (f->op) {
	case HV_HIST_ADD:
		return a + b;
	case HV_HIST_SUBTRACT:
		return a - b;
	case HV_HIST_MULTIPLY:
		return a * b;
	case HV_HIST_DIVIDE:
		return divide(a, b, f->operands[1]->is_constant);
	case HV_HIST_NEGATE:
		return -a;
	default:
		return 0;
	}
}

/* Returns the exponent of the smallest power of two that is at least VALUE (order_base_2). Older
 * kernels return 0 instead of 64. */
static uint64_t log2_above(uint64_t value)
{
	return value > 1 ? 64 - (unsigned)__builtin_clzll(value - 1) : 0;
}

static uint64_t unmodified(const struct hv_hist_field *f, const struct hv_hist_record *record)
{
	switch (f->kind) {
	case HV_HIST_NUMBER:
		return number(f, record->entry);
	case HV_HIST_HITS:
		return 1;
	case HV_HIST_TIME:
		return record->time;
	case HV_HIST_CPU:
		return record->cpu;
	case HV_HIST_CONSTANT:
		return f->constant;
	case HV_HIST_EXPRESSION:
		return expression(f, record);
	case HV_HIST_REFERENCE:
		return record->refs ? record->refs[f->ref].number : f->constant;
	default:
		return 0;
	}
}

uint64_t hv_hist_field_value(const struct hv_hist_field *f, const struct hv_hist_record *record)
{
	uint64_t value = unmodified(f, record);

	if (f->modifier == HV_HIST_LOG2)
		return log2_above(value);
	if (f->modifier == HV_HIST_BUCKETS)
		return value / f->buckets * f->buckets;
	return value;
}

/* Reads the stack in a field of a synthetic event: the number of addresses, then the addresses
 * (trace_stack). */
static void stack_in(const struct hv_hist_field *f, struct hv_span entry, uint64_t *ret)
{
	uint32_t loc;
	size_t len;

	if (!hv_span_u32(entry, f->off, &loc))
		return;
	len = loc >> 16;
	len = len < sizeof(*ret) ? 0 : len - sizeof(*ret);
	hv_span_copy(entry, (loc & 0xffff) + sizeof(*ret), ret,
		     len < HV_HIST_STACK_BYTES ? len : HV_HIST_STACK_BYTES);
}

void hv_hist_field_stack(const struct hv_hist_field *f, const struct hv_hist_record *record,
			 uint64_t ret[HV_HIST_STACK_MAX])
{
	const uint64_t *stack = f->kind == HV_HIST_STACK ? record->stack : NULL;

	memset(ret, 0, HV_HIST_STACK_BYTES);
	if (f->kind == HV_HIST_STACK_FIELD) {
		stack_in(f, record->entry, ret);
		return;
	}
	if (f->kind == HV_HIST_USER_STACK)
		stack = record->user_stack;
	if (f->kind == HV_HIST_REFERENCE && record->refs)
		stack = record->refs[f->ref].stack;
	for (unsigned i = 0; stack && i < HV_HIST_STACK_MAX && stack[i]; i++)
		ret[i] = stack[i];
}

/* A host string of at most MAX bytes. */
static struct hv_span own_text(const char *text, size_t max_bytes)
{
	return (struct hv_span){(const uint8_t *)text, text ? strnlen(text, max_bytes) : 0};
}

struct hv_span hv_hist_field_text(const struct hv_hist_field *f,
				  const struct hv_hist_record *record)
{
	struct hv_span entry = record->entry;
	size_t off = f->off, len = f->size_bytes;
	uint32_t loc;

	if (f->kind == HV_HIST_COMM)
		return own_text(record->first_comm, COMM_BYTES);
	if (f->kind == HV_HIST_REFERENCE)
		return own_text(record->refs ? record->refs[f->ref].text : NULL,
				HV_HIST_TEXT_BYTES);
	if (f->form != HV_FIELD_ARRAY) {
		if (!hv_span_u32(entry, f->off, &loc))
			return (struct hv_span){0};
		off = (loc & 0xffff) + (f->form == HV_FIELD_RELATIVE ? f->off + 4 : 0);
		len = loc >> 16;
	}
	if (!hv_span_has(entry, off, len))
		return (struct hv_span){0};
	return (struct hv_span){entry.data + off, len};
}
