/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_events.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "kernel/events/print_values.h"
#include "tests/lib/fake_session.h"
#include "tracer/guest/trampoline_programs.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/event_types.h"

struct hv_event_types {
	struct hv_catalogue catalogue;
	uint64_t version;
};

struct hv_event_tracer {
	int *fail;
	struct fake_event {
		char *name; /* SYSTEM:EVENT, owned */
		bool has_stacks;
		unsigned nr_steps; /* in the event's filter in the guest */
		unsigned nr_reads; /* in the event's program */
	} * list;		   /* the recorded events, owned */
	size_t nr;
	struct hv_text text; /* names of the recorded events */
};

static struct hv_print_string print_strings[4];
static size_t nr_print_strings;

struct hv_event_types *fake_event_types_new(void)
{
	return hv_alloc(sizeof(struct hv_event_types));
}

void fake_event_types_free(struct hv_event_types *t)
{
	hv_catalogue_deinit(&t->catalogue);
	free(t);
	while (nr_print_strings)
		free((char *)print_strings[--nr_print_strings].string);
}

void hv_fake_event_type(struct hv_session *s, const char *system, const char *name, uint32_t id,
			uint64_t reg)
{
	struct hv_catalogue *c = &s->types->catalogue;
	struct hv_event_type type = {
		.system = hv_store_string(&c->store, system, strlen(system)),
		.name = hv_store_string(&c->store, name, strlen(name)),
		.print_fmt = "\"%s\", REC->comm",
		.id = id,
		.is_available = reg != 0,
		.has_fields = true,
		.reg_kind = reg ? HV_EVENT_REG_TRACEPOINT : HV_EVENT_REG_NONE,
		.call = hv_gva(0xffffffff82000000 + id),
		.reg = hv_gva(reg),
		.tracepoint.at = hv_gva(0xffffffff83000000 + id),
	};
	struct hv_event_field *field = hv_store_alloc(&c->store, sizeof(*field));

	*field = (struct hv_event_field){"comm", "char[16]", 8, 16, 16, 0, true};
	type.fields = (struct hv_event_fields){field, 1};
	c->types = hv_realloc_array(c->types, c->nr + 1, sizeof(*c->types));
	c->types[c->nr++] = type;
	c->has_lens = true;
	c->header_len_bytes = 8;
	hv_catalogue_index(c);
	s->kernel->symbols_version++;
}

static char *keep(struct hv_catalogue *c, const char *prefix, const char *name)
{
	HV_AUTO_FREE char *both = hv_format("%s%s", prefix, name);

	return (char *)hv_store_string(&c->store, both, strlen(both));
}

/* Adds a type that has FIELDS after the common fields. */
static struct hv_event_type *add_type(struct hv_catalogue *c, const char *system, const char *name,
				      uint32_t id, const struct hv_event_field *fields, size_t nr)
{
	struct hv_event_type type = {
		.system = keep(c, "", system),
		.name = keep(c, "", name),
		.print_fmt = "\"NR %ld\", REC->id",
		.id = id,
		.is_available = true,
		.has_fields = true,
		.reg_kind = HV_EVENT_REG_TRACEPOINT,
		.call = hv_gva(0xffffffff82000000 + id),
		.reg = hv_gva(0xffffffff81111110),
		.fields = {hv_store_alloc(&c->store, nr * sizeof(*fields)), nr},
	};

	memcpy(type.fields.list, fields, nr * sizeof(*fields));
	c->types = hv_realloc_array(c->types, c->nr + 1, sizeof(*c->types));
	c->types[c->nr++] = type;
	return &c->types[c->nr - 1];
}

static void add_carriers(struct hv_catalogue *c)
{
	static const struct hv_event_field enter[] = {
		{"id", "long", 8, 8, 0, 0, true},
		{"args", "unsigned long[6]", 16, 48, 6, 0, false}};
	static const struct hv_event_field leave[] = {{"id", "long", 8, 8, 0, 0, true},
						      {"ret", "long", 16, 8, 0, 0, true}};

	add_type(c, "raw_syscalls", "sys_enter", 20, enter, HV_ARRAY_LEN(enter));
	add_type(c, "raw_syscalls", "sys_exit", 21, leave, HV_ARRAY_LEN(leave));
}

/* Returns field INDEX, for the memory that ARG points to. The call has NR_ARGS arguments. */
static struct hv_event_field memory_field(struct hv_catalogue *c, const char *arg, unsigned nr_args,
					  unsigned index)
{
	HV_AUTO_FREE char *name = hv_format("__%s_val", arg);

	return (struct hv_event_field){.name = keep(c, "", name),
				       .type = "__data_loc char[]",
				       .off = 16 + 8 * nr_args + 4 * (index - 1 - nr_args),
				       .size_bytes = 4};
}

void hv_fake_syscall(struct hv_session *s, uint32_t id, int32_t nr, const char *name,
		     char *const *args, unsigned nr_args)
{
	struct hv_catalogue *c = &s->types->catalogue;
	struct hv_event_field fields[1 + 8 + 8] = {{"__syscall_nr", "int", 8, 4, 0, 0, true}};
	unsigned nr_fields = 1 + nr_args;
	struct hv_syscall *call = hv_store_alloc(&c->store, sizeof(*call));
	struct hv_event_type *type;

	if (!hv_catalogue_find(c, "raw_syscalls", "sys_enter"))
		add_carriers(c);
	*call = (struct hv_syscall){
		.name = keep(c, "sys_", name), .nr = nr, .nr_args = nr_args, .user_size_arg = -1};
	for (unsigned i = 0; i < nr_args; i++) {
		bool points = *args[i] == '*', is_size = *args[i] == '#';
		bool is_wrong = points && args[i][1] == '*';
		const char *arg = args[i] + points + is_size + is_wrong;

		fields[1 + i] = (struct hv_event_field){
			keep(c, "", arg), "unsigned long", 16 + 8 * i, 8, 0, 0, false};
		call->user_mask |= (uint32_t)points << (i + is_wrong);
		call->user_size_arg = is_size ? (int32_t)i : call->user_size_arg;
		if (points)
			fields[nr_fields] = memory_field(c, arg, nr_args, nr_fields);
		nr_fields += points;
	}
	c->user_bytes = 16;
	type = add_type(c, "syscalls", keep(c, "sys_enter_", name), id, fields, nr_fields);
	type->print_fmt = call->user_size_arg < 0 ? "__get_str(__path_val), __get_str(__second_val)"
						  : "__print_dynamic_array(__path_val, 1)";
	type->reg_kind = HV_EVENT_REG_SYSCALL_ENTER;
	type->syscall = call;
	fields[1] = (struct hv_event_field){"ret", "long", 16, 8, 0, 0, true};
	type = add_type(c, "syscalls", keep(c, "sys_exit_", name), id + 1, fields, 2);
	type->reg_kind = HV_EVENT_REG_SYSCALL_EXIT;
	type->syscall = call;
	hv_catalogue_index(c);
	s->kernel->symbols_version++;
}

void hv_fake_syscalls_sleep(struct hv_session *s)
{
	const struct hv_catalogue *c = &s->types->catalogue;

	for (size_t i = 0; i < c->nr; i++)
		if (strcmp(c->types[i].system, "raw_syscalls") == 0)
			c->types[i].tracepoint.faultable = true;
}

void hv_fake_scheduler(struct hv_session *s)
{
	static const struct hv_event_field woken[] = {{"pid", "pid_t", 8, 4, 0, 0, true},
						      {"prio", "int", 16, 4, 0, 0, true},
						      {"target_cpu", "int", 24, 4, 0, 0, true},
						      {"comm", "char[16]", 32, 16, 16, 0, true}};
	static const struct hv_event_field switched[] = {
		{"prev_pid", "pid_t", 8, 4, 0, 0, true},
		{"prev_prio", "int", 16, 4, 0, 0, true},
		{"prev_state", "long", 24, 8, 0, 0, true},
		{"next_pid", "pid_t", 32, 4, 0, 0, true},
		{"next_prio", "int", 40, 4, 0, 0, true},
		{"next_comm", "char[16]", 48, 16, 16, 0, true}};
	static const struct hv_event_field migrated[] = {{"pid", "pid_t", 8, 4, 0, 0, true},
							 {"dest_cpu", "int", 16, 4, 0, 0, true}};
	static const struct hv_event_field made[] = {
		{"prev_pid", "unsigned int", 8, 4, 0, 0, false},
		{"next_pid", "unsigned int", 12, 4, 0, 0, false},
		{"next_cpu", "unsigned int", 16, 4, 0, 0, false},
		{"prev_prio", "unsigned char", 20, 1, 0, 0, false},
		{"prev_state", "unsigned char", 21, 1, 0, 0, false},
		{"next_prio", "unsigned char", 22, 1, 0, 0, false},
		{"next_state", "unsigned char", 23, 1, 0, 0, false}};
	struct hv_catalogue *c = &s->types->catalogue;

	add_type(c, "sched", "sched_wakeup", 310, woken, HV_ARRAY_LEN(woken));
	add_type(c, "sched", "sched_wakeup_new", 311, woken, HV_ARRAY_LEN(woken));
	add_type(c, "sched", "sched_switch", 312, switched, HV_ARRAY_LEN(switched));
	add_type(c, "sched", "sched_migrate_task", 313, migrated, HV_ARRAY_LEN(migrated));
	add_type(c, "ftrace", "context_switch", 2, made, HV_ARRAY_LEN(made))->is_available = false;
	add_type(c, "ftrace", "wakeup", 3, made, HV_ARRAY_LEN(made))->is_available = false;
	hv_catalogue_index(c);
	s->kernel->symbols_version++;
}

void hv_fake_user_stacks(struct hv_session *s)
{
	static const struct hv_event_field stack[] = {
		{"tgid", "unsigned int", 8, 4, 0, 0, false},
		{"caller", "unsigned long[8]", 16, 64, 8, 0, false}};
	struct hv_catalogue *c = &s->types->catalogue;

	add_type(c, "ftrace", "user_stack", 12, stack, HV_ARRAY_LEN(stack))->is_available = false;
	hv_catalogue_index(c);
	s->kernel->symbols_version++;
}

void hv_fake_event_forks(struct hv_session *s)
{
	static const struct hv_event_field forked[] = {{"parent_pid", "pid_t", 8, 4, 0, 0, true},
						       {"child_pid", "pid_t", 16, 4, 0, 0, true}};
	static const struct hv_event_field freed[] = {{"pid", "pid_t", 8, 4, 0, 0, true}};
	struct hv_catalogue *c = &s->types->catalogue;

	add_type(c, "sched", "sched_process_fork", 320, forked, HV_ARRAY_LEN(forked));
	add_type(c, "sched", "sched_process_free", 321, freed, HV_ARRAY_LEN(freed));
	hv_catalogue_index(c);
	s->kernel->symbols_version++;
}

void hv_fake_forget_event_types(struct hv_session *s)
{
	hv_catalogue_deinit(&s->types->catalogue);
	s->kernel->symbols_version++;
}

struct hv_err *hv_event_types_catalogue(struct hv_event_types *t, const struct hv_catalogue **ret)
{
	if (!t->catalogue.nr)
		return hv_err_new(ENOENT, "events: no symbol ftrace_trace_arrays");
	*ret = &t->catalogue;
	return NULL;
}

void hv_event_types_add(struct hv_event_types *t, const struct hv_event_type *type)
{
	t->version++;
	hv_catalogue_add(&t->catalogue, type);
	hv_catalogue_index(&t->catalogue);
}

void hv_event_types_remove(struct hv_event_types *t, uint32_t id)
{
	t->version++;
	hv_catalogue_remove(&t->catalogue, id);
}

uint64_t hv_event_types_version(const struct hv_event_types *t)
{
	return t->version;
}

void hv_fake_print_string(struct hv_session *s, uint64_t at, const char *string)
{
	(void)s;
	if (nr_print_strings < HV_ARRAY_LEN(print_strings))
		print_strings[nr_print_strings++] =
			(struct hv_print_string){hv_gva(at), hv_strdup(string)};
}

struct hv_err *hv_print_strings_read(const struct hv_kernel *k, struct hv_print_strings *ret)
{
	(void)k;
	*ret = (struct hv_print_strings){.list = print_strings, .nr = nr_print_strings};
	return NULL;
}

void hv_print_strings_deinit(struct hv_print_strings *s hv_unused)
{
}

bool hv_page_header_has_char(const struct hv_kernel *k hv_unused)
{
	return false;
}

/* -- recording ----------------------------------------------------------- */

struct hv_event_tracer *fake_event_tracer_new(int *fail)
{
	struct hv_event_tracer *e = hv_alloc(sizeof(*e));

	e->fail = fail;
	return e;
}

static void forget_events(struct hv_event_tracer *e)
{
	for (size_t i = 0; i < e->nr; i++)
		free(e->list[i].name);
	free(e->list);
	e->list = NULL;
	e->nr = 0;
}

void fake_event_tracer_free(struct hv_event_tracer *e)
{
	forget_events(e);
	hv_text_deinit(&e->text);
	free(e);
}

const char *hv_fake_events_on(const struct hv_session *s)
{
	struct hv_event_tracer *e = s->events;

	hv_text_clear(&e->text);
	for (size_t i = 0; i < e->nr; i++) {
		hv_text_printf(&e->text, " %s%s", e->list[i].name,
			       e->list[i].has_stacks ? "+stack" : "");
		if (e->list[i].nr_steps)
			hv_text_printf(&e->text, "+filter(%u)", e->list[i].nr_steps);
		if (e->list[i].nr_reads)
			hv_text_printf(&e->text, "+reads(%u)", e->list[i].nr_reads);
	}
	return e->text.data ? e->text.data : "";
}

static struct hv_err *why_not(const struct hv_event_type *type)
{
	if (strstr(type->name, "never"))
		return hv_err_new(EOPNOTSUPP, "its kernel has no way");
	if (strstr(type->name, "busy"))
		return hv_err_new(EBUSY, "the guest has probes there");
	return NULL;
}

struct hv_err *hv_event_tracer_check(struct hv_event_tracer *e hv_unused,
				     const struct hv_event_type *type)
{
	return strstr(type->name, "busy") ? NULL : why_not(type);
}

static char *name_of(const struct hv_event_type *type)
{
	struct hv_text text = {0};

	hv_text_printf(&text, "%s:%s", type->system, type->name);
	return hv_text_take(&text);
}

struct hv_err *hv_event_tracer_set(struct hv_event_tracer *e, struct hv_event_want *wants,
				   size_t nr)
{
	struct hv_err *err = fake_change(e->fail);

	if (err)
		return err;
	forget_events(e);
	e->list = hv_alloc((nr + 1) * sizeof(*e->list));
	for (size_t i = 0; i < nr; i++) {
		const struct hv_event_want *want = &wants[i];

		wants[i].why_not = why_not(want->type);
		if (want->why_not)
			continue;
		e->list[e->nr++] = (struct fake_event){
			.name = name_of(want->type),
			.has_stacks = want->has_stacks,
			.nr_steps = want->filter ? want->filter->nr : 0,
			.nr_reads = want->program ? (unsigned)want->program->nr : 0,
		};
	}
	return NULL;
}

void hv_event_tracer_set_filter(struct hv_event_tracer *e, const struct hv_event_type *type,
				const struct hv_trampoline_filter *filter)
{
	HV_AUTO_FREE char *name = name_of(type);

	for (size_t i = 0; i < e->nr; i++)
		if (strcmp(e->list[i].name, name) == 0)
			e->list[i].nr_steps = filter ? filter->nr : 0;
}

void hv_event_wants_deinit(struct hv_event_want *wants, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		hv_err_free(wants[i].why_not);
}

/* -- text formatting ----------------------------------------------------- */

bool hv_print_value_string(const struct hv_kernel *k, struct hv_gva addr, char *ret,
			   size_t max_bytes)
{
	(void)k;
	for (size_t i = 0; i < nr_print_strings; i++) {
		if (print_strings[i].at.v != addr.v)
			continue;
		strncpy(ret, print_strings[i].string, max_bytes);
		return true;
	}
	return false;
}

bool hv_print_value_variable(const struct hv_kernel *k hv_unused, const char *name hv_unused,
			     uint64_t *ret hv_unused)
{
	return false;
}

/* A kernel with BTF has stack fields. */
bool hv_print_value_enumerator(const struct hv_kernel *k, const char *name, int64_t *ret)
{
	*ret = 0;
	return k->core.btf && strcmp(name, "FILTER_STACKTRACE") == 0;
}

bool hv_print_value_size(const struct hv_kernel *k hv_unused, const char *type hv_unused,
			 uint32_t *ret_bytes hv_unused)
{
	return false;
}

bool hv_print_value_member(const struct hv_kernel *k hv_unused, const char *type hv_unused,
			   const char *member hv_unused, uint32_t *ret_off_bits hv_unused,
			   uint32_t *ret_nr_bits hv_unused)
{
	return false;
}

unsigned hv_print_value_hz(const struct hv_kernel *k hv_unused)
{
	return 250;
}

void hv_print_hashing_read(const struct hv_kernel *k hv_unused, struct hv_print_hashing *ret)
{
	*ret = (struct hv_print_hashing){.is_off = true};
}
