/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/hist_text.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tracer/events/names.h"
#include "tree/settings/hist/hist_spec.h"

#define TEXT_WIDTH	 50
#define SAVED_WIDTH	 32
#define SYMBOL_WIDTH	 45
#define OFFSET_WIDTH	 55
#define BAR_LEN		 20
#define STACK_INDENT	 9
#define PERCENT_PER_UNIT 10000 /* hundredths of a percent */

/* -- the trigger ------------------------------------------------------------------------------- */

static const char *handler_name(const struct hv_hist_action *a)
{
	return a->handler == HV_HIST_ON_MAX ? "onmax" : "onchange";
}

static void add_name(const struct hv_hist_field *f, struct hv_text *out)
{
	hv_text_add_guest(out, f->name, strlen(f->name));
}

/* hist_field_print() */
static void add_field(const struct hv_hist_field *f, struct hv_text *out)
{
	if (f->kind == HV_HIST_CONSTANT)
		hv_text_printf(out, "%" PRIu64, f->constant);
	else if (f->kind == HV_HIST_CPU)
		hv_text_add(out, "common_cpu");
	else {
		hv_text_add(out, f->kind == HV_HIST_REFERENCE ? "$" : "");
		add_name(f, out);
	}
	if (f->modifier && f->modifier != HV_HIST_STACKTRACE)
		hv_text_printf(out, ".%s", hv_hist_modifier_name(f->modifier));
	if (f->modifier == HV_HIST_BUCKETS)
		hv_text_printf(out, "=%" PRId64, (int64_t)f->buckets);
}

static void add_fields(struct hv_hist_field *const *fields, unsigned nr, struct hv_text *out)
{
	for (unsigned i = 0; i < nr; i++) {
		hv_text_add(out, i ? "," : "");
		add_field(fields[i], out);
	}
}

/* A stack has the name of its field, if there is one. */
static void add_stack_name(const struct hv_hist_field *f, struct hv_text *out)
{
	add_name(f, out);
	if (f->kind == HV_HIST_STACK_FIELD)
		hv_text_add(out, ".stacktrace");
	else if (!f->name[0])
		hv_text_add(out, "stacktrace");
}

static void add_key_fields(const struct hv_hist_spec *s, struct hv_text *out)
{
	for (unsigned i = 0; i < s->nr_keys; i++) {
		hv_text_add(out, i ? "," : "");
		if (s->keys[i]->is_stack)
			add_stack_name(s->keys[i], out);
		else
			add_field(s->keys[i], out);
	}
}

static void add_variables(const struct hv_hist_spec *s, struct hv_text *out)
{
	for (unsigned i = 0; i < s->nr_variables; i++) {
		if (s->variables[i].role != HV_HIST_DEFINED)
			continue;
		hv_text_printf(out, "%c%s=", i ? ',' : ':', s->variables[i].name);
		add_field(s->variables[i].field, out);
	}
}

static void add_sorts(const struct hv_hist_spec *s, struct hv_text *out)
{
	for (unsigned i = 0; i < s->nr_sorts; i++) {
		hv_text_add(out, i ? "," : ":sort=");
		add_field(hv_hist_spec_field(s, s->sorts[i].by), out);
		hv_text_add(out, s->sorts[i].descending ? ".descending" : "");
	}
}

/* print_actions_spec() */
static void add_action(const struct hv_hist_action *a, struct hv_text *out)
{
	if (a->handler == HV_HIST_ON_MATCH)
		hv_text_printf(out, ":onmatch(%s.%s).", a->system, a->event);
	else
		hv_text_printf(out, ":%s(%s).", handler_name(a), a->variable);
	hv_text_printf(out, "%s(%s", a->name, a->synth_name ? a->synth_name : "");
	for (unsigned i = 0; i < a->nr_params; i++)
		hv_text_printf(out, "%s%s", i || a->synth_name ? "," : "", a->params[i]);
	hv_text_add(out, ")");
}

void hv_hist_text_spec(const struct hv_hist_spec *s, enum hv_hist_state state, struct hv_text *ret)
{
	hv_text_add(ret, "hist:");
	if (s->name)
		hv_text_printf(ret, "%s:", s->name);
	hv_text_add(ret, "keys=");
	add_key_fields(s, ret);
	hv_text_add(ret, ":vals=");
	add_fields(s->values + s->no_hitcount, s->nr_values - s->no_hitcount, ret);
	add_variables(s, ret);
	add_sorts(s, ret);
	hv_text_printf(ret, ":size=%" PRIu32, s->size);
	if (s->has_time)
		hv_text_printf(ret, ":clock=%s", s->clock);
	hv_text_add(ret, s->no_hitcount ? ":nohitcount" : "");
	for (unsigned i = 0; i < s->nr_actions; i++)
		add_action(s->actions[i], ret);
	if (s->filter)
		hv_text_printf(ret, " if %s", s->filter);
	hv_text_add(ret, state == HV_HIST_IS_PAUSED ? " [paused]\n" : " [active]\n");
}

/* -- keys -------------------------------------------------------------------------------------- */

/* Pads the text of OUT from START on. */
static void pad(struct hv_text *out, size_t start, size_t width)
{
	size_t len = out->len_bytes - start;

	if (len < width)
		hv_text_add_fill(out, ' ', width - len);
}

/* Adds an address as %ps or %pS does. */
static void add_location(const struct hv_kernel *k, uint64_t addr, enum hv_hist_modifier modifier,
			 struct hv_text *out)
{
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(k, hv_gva(addr), &name, &module, &off)) {
		hv_text_printf(out, "0x%" PRIx64, addr);
		return;
	}
	hv_text_add_guest(out, name, SIZE_MAX);
	if (modifier == HV_HIST_SYM_OFFSET)
		hv_text_printf(out, "+0x%" PRIx64 "/0x%" PRIx64, off,
			       hv_kernel_symbol_size(k, hv_gva(addr)));
	if (module) {
		hv_text_add(out, " [");
		hv_text_add_guest(out, module, SIZE_MAX);
		hv_text_add(out, "]");
	}
}

static void add_symbol(const struct hv_kernel *k, uint64_t addr, enum hv_hist_modifier modifier,
		       struct hv_text *out)
{
	size_t start;

	hv_text_printf(out, ": [%" PRIx64 "] ", addr);
	start = out->len_bytes;
	add_location(k, addr, modifier, out);
	pad(out, start, modifier == HV_HIST_SYM_OFFSET ? OFFSET_WIDTH : SYMBOL_WIDTH);
}

/* hist_trigger_stacktrace_print() */
static void add_stack(const struct hv_hist_field *f, const uint8_t *key, const struct hv_kernel *k,
		      struct hv_text *out)
{
	bool is_user = f->kind == HV_HIST_USER_STACK;

	add_stack_name(f, out);
	hv_text_add(out, f->kind == HV_HIST_STACK || is_user ? ":\n" : "");
	for (unsigned i = 0; i < HV_HIST_STACK_MAX; i++) {
		uint64_t addr;

		memcpy(&addr, key + i * sizeof(addr), sizeof(addr));
		if (!addr)
			return;
		hv_text_add_fill(out, ' ', STACK_INDENT);
		if (is_user)
			hv_text_printf(out, "<%016" PRIx64 ">", addr);
		else
			add_location(k, addr, HV_HIST_SYM_OFFSET, out);
		hv_text_add(out, "\n");
	}
}

void hv_hist_names_find_syscalls(struct hv_hist_names *n)
{
	const struct hv_catalogue *c = n->catalogue;

	memset(n->syscalls, 0, sizeof(n->syscalls));
	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_syscall *call = c->types[i].syscall;

		if (call && call->nr >= 0 && call->nr < HV_HIST_SYSCALLS_MAX &&
		    !n->syscalls[call->nr])
			n->syscalls[call->nr] = call->name;
	}
}

static const char *syscall_name(const struct hv_hist_names *n, uint64_t nr)
{
	const char *name = nr < HV_HIST_SYSCALLS_MAX ? n->syscalls[nr] : NULL;

	return name ? name : "unknown_syscall";
}

/* Adds TEXT, at most MAX_BYTES long, in WIDTH columns. */
static void add_text(const char *text, size_t max_bytes, size_t width, struct hv_text *out)
{
	size_t start;

	hv_text_add(out, ": ");
	start = out->len_bytes;
	hv_text_add_guest(out, text, max_bytes);
	pad(out, start, width);
}

static void add_unmodified(const struct hv_hist_spec *s, unsigned i, const uint8_t *key,
			   uint64_t value, struct hv_text *out)
{
	if (s->keys[i]->kind == HV_HIST_TEXT)
		add_text((const char *)key, s->key_bytes - s->key_off[i], TEXT_WIDTH, out);
	else
		hv_text_printf(out, ": %10" PRIu64, value);
}

/* Adds key I. */
static void add_key(const struct hv_hist_spec *s, unsigned i, const struct hv_hist_names *names,
		    const struct hv_hist_entry *e, struct hv_text *out)
{
	const struct hv_hist_field *f = s->keys[i];
	const uint8_t *key = e->key + s->key_off[i];
	uint64_t value;

	if (f->is_stack) {
		add_stack(f, key, names->kernel, out);
		return;
	}
	memcpy(&value, key, sizeof(value));
	add_name(f, out);
	switch (f->modifier) {
	case HV_HIST_HEX:
		hv_text_printf(out, ": %" PRIx64, value);
		return;
	case HV_HIST_SYM:
	case HV_HIST_SYM_OFFSET:
		add_symbol(names->kernel, value, f->modifier, out);
		return;
	case HV_HIST_EXECNAME:
		add_text(e->comm, HV_COMM_LEN, 16, out);
		hv_text_printf(out, "[%10" PRIu64 "]", value);
		return;
	case HV_HIST_SYSCALL:
		add_text(syscall_name(names, value), SIZE_MAX, 30, out);
		hv_text_printf(out, "[%3" PRIu64 "]", value);
		return;
	case HV_HIST_LOG2:
		hv_text_printf(out, ": ~ 2^%-2" PRIu64, value);
		return;
	case HV_HIST_BUCKETS:
		hv_text_printf(out, ": ~ %" PRIu64 "-%" PRIu64, value, value + f->buckets - 1);
		return;
	default:
		add_unmodified(s, i, key, value, out);
	}
}

/* -- values ------------------------------------------------------------------------------------ */

/* Computes VALUE as a part of TOTAL, in hundredths of a percent. Returns false if it is too
 * large. */
static bool part_of(uint64_t value, uint64_t total, unsigned *ret)
{
	if (value >= UINT64_MAX / PERCENT_PER_UNIT) {
		total /= PERCENT_PER_UNIT;
		*ret = total ? (unsigned)(value / total) : 0;
		return total != 0;
	}
	*ret = total ? (unsigned)(value * PERCENT_PER_UNIT / total) : 0;
	return total || !value;
}

static void add_bar(uint64_t value, uint64_t max, struct hv_text *out)
{
	unsigned part, len;

	if (!part_of(value, max, &part)) {
		hv_text_printf(out, ": %*s", BAR_LEN, "[ERROR]");
		return;
	}
	len = part * BAR_LEN / PERCENT_PER_UNIT;
	len = len < BAR_LEN ? len : BAR_LEN;
	hv_text_add(out, ": ");
	hv_text_add_fill(out, '#', len);
	hv_text_add_fill(out, ' ', BAR_LEN - len);
}

static void add_percent(uint64_t value, uint64_t total, struct hv_text *out)
{
	unsigned part;

	if (part_of(value, total, &part))
		hv_text_printf(out, " (%%): %3u.%02u", part / 100, part % 100);
	else
		hv_text_add(out, " (%):[ERROR]");
}

static void add_value(const struct hv_hist_field *f, uint64_t value, uint64_t max, uint64_t total,
		      struct hv_text *out)
{
	hv_text_add(out, " ");
	add_name(f, out);
	if (f->modifier == HV_HIST_PERCENT)
		add_percent(value, total, out);
	else if (f->modifier == HV_HIST_GRAPH)
		add_bar(value, max, out);
	else if (f->modifier == HV_HIST_HEX)
		hv_text_printf(out, ": %10" PRIx64, value);
	else
		hv_text_printf(out, ": %10" PRIu64, value);
}

/* Adds the variables of save(). */
static void add_saved(const struct hv_hist_spec *s, const struct hv_hist_entry *e,
		      struct hv_text *out)
{
	size_t nr_texts = 0;

	for (unsigned i = 0; i < s->nr_variables; i++) {
		const struct hv_hist_variable *v = &s->variables[i];
		bool is_text = v->field && v->field->is_text;
		size_t start;

		nr_texts += v->field && (v->field->is_text || v->field->is_stack);
		if (v->role != HV_HIST_SAVED)
			continue;
		hv_text_printf(out, "  %s: ", v->name);
		start = out->len_bytes;
		if (is_text)
			hv_text_add_guest(out, e->texts + (nr_texts - 1) * HV_HIST_TEXT_BYTES,
					  HV_HIST_TEXT_BYTES);
		else
			hv_text_printf(out, "%10" PRIu64, e->variables[i]);
		pad(out, start, is_text ? SAVED_WIDTH : 0);
	}
}

/* print_actions() */
static void add_tracked(const struct hv_hist_spec *s, const struct hv_hist_entry *e,
			struct hv_text *out)
{
	for (unsigned i = 0; i < s->nr_actions; i++) {
		const struct hv_hist_action *a = s->actions[i];

		if (a->handler == HV_HIST_ON_MATCH || a->deed == HV_HIST_SNAPSHOTS)
			continue;
		hv_text_printf(out, "\n\t%s: %10" PRIu64,
			       a->handler == HV_HIST_ON_MAX ? "max" : "changed",
			       e->variables[a->tracked]);
		add_saved(s, e, out);
	}
}

static void add_keys(const struct hv_hist_spec *s, const struct hv_hist_names *names,
		     const struct hv_hist_entry *e, struct hv_text *out)
{
	bool has_lines = false;

	hv_text_add(out, "{ ");
	for (unsigned i = 0; i < s->nr_keys; i++) {
		hv_text_add(out, i ? ", " : "");
		add_key(s, i, names, e, out);
		has_lines |= s->keys[i]->is_stack;
	}
	hv_text_add(out, has_lines ? "}" : " }");
}

void hv_hist_text_entry(const struct hv_hist_spec *s, const struct hv_hist_names *names,
			const struct hv_hist_entry *e, struct hv_text *ret)
{
	add_keys(s, names, e, ret);
	for (unsigned i = s->no_hitcount; i < s->nr_values; i++) {
		/* As in the kernel, expressions are summed but not shown. */
		if (s->values[i]->kind == HV_HIST_EXPRESSION)
			continue;
		hv_text_add(ret, i ? " " : "");
		add_value(s->values[i], e->sums[i], names->max[i], names->total[i], ret);
	}
	add_tracked(s, e, ret);
	hv_text_add(ret, "\n");
}

/* track_data_snapshot_print() */
void hv_hist_text_shot(const struct hv_hist_spec *s, const struct hv_hist_names *names,
		       const struct hv_hist_shot *shot, struct hv_text *ret)
{
	hv_text_printf(ret,
		       "\nSnapshot taken (see tracing/snapshot).  Details:\n"
		       "\ttriggering value { %s(%s) }: %10" PRIu64
		       "\ttriggered by event with key: ",
		       handler_name(shot->action), shot->action->variable, shot->value);
	add_keys(s, names, &shot->entry, ret);
	hv_text_add(ret, "\n");
}
