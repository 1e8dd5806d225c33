/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/kprobe.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/guard.h"
#include "tracer/events/fetch_results.h"
#include "tree/settings/kprobe_parse.h"

#define GROUP		 "kprobes"
#define FPROBE_GROUP	 "fprobes"
#define TRACEPOINT_GROUP "tracepoints"
#define PROBESTUB	 "__probestub_" /* DEFINE_TRACE_FN */
#define ARG_NAME_MAX	 32

#define MAXACTIVE_MAX 4096 /* KRETPROBE_MAXACTIVE_MAX */

static const char *const reserved[] = {
	"common_type", "common_flags", "common_preempt_count", "common_pid",
	"common_tgid", "__probe_ip",   "__probe_ret_ip",       "__probe_func",
};

/* is_good_system_name() */
static bool is_good_group(const char *name, size_t len)
{
	if (!len || isdigit((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
			return false;
	return true;
}

/* -- arguments --------------------------------------------------------------------------------- */

static bool is_used(const struct hv_kprobe *k, const struct hv_kprobe_arg *arg)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(reserved); i++)
		if (strcmp(reserved[i], arg->name) == 0)
			return true;
	for (const struct hv_kprobe_arg *other = k->args; other < arg; other++)
		if (strcmp(other->name, arg->name) == 0)
			return true;
	return false;
}

/* Returns the name of the NRth argument, WORD, which specifies none: the parameter's name from BTF,
 * or its number (generate_probe_arg_name()). */
static char *name_of(const char *word, size_t nr)
{
	size_t len = strcspn(word, ":");

	return hv_kprobe_is_good(word, len) ? hv_format("%.*s", (int)len, word)
					    : hv_format("arg%zu", nr);
}

/* traceprobe_parse_probe_arg() */
static struct hv_err *parse_arg(const struct hv_kprobe_parsing *p, const char *word,
				struct hv_kprobe_arg *arg)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : 0;

	if (equals && len > ARG_NAME_MAX)
		return hv_kprobe_wrong(p, 0, "Argument name is too long");
	if (equals && !len)
		return hv_kprobe_wrong(p, 0, "Argument name is not specified");
	arg->name = equals ? hv_format("%.*s", (int)len, word)
			   : name_of(word, (size_t)(arg - p->k->args) + 1);
	arg->fetch = hv_strdup(equals ? equals + 1 : word);
	if (!hv_kprobe_is_good(arg->name, strlen(arg->name)))
		return hv_kprobe_wrong(p, 0,
				       "Argument name must follow the same rules as C identifiers");
	if (is_used(p->k, arg))
		return hv_kprobe_wrong(p, 0, "This argument name is already used");
	return hv_kprobe_parse_fetch(p, arg, arg->fetch, equals ? len + 1 : 0);
}

/* Returns the number of memory results that ARG needs. */
static uint16_t kprobe_nr_results(const struct hv_kprobe_arg *arg)
{
	if (hv_kprobe_is_ustack(arg))
		return 1;
	if (!arg->nr_derefs)
		return 0;
	return hv_kprobe_is_string(arg) && arg->count ? (uint16_t)arg->count : 1;
}

struct hv_err *hv_kprobe_parse_args(struct hv_kprobe_parsing *p)
{
	struct hv_kprobe *k = p->k;
	struct hv_err *err = NULL;
	size_t len_bytes = 0, nr = p->nr_args;

	if (nr > HV_KPROBE_ARGS_MAX && !p->drops_args) {
		p->word = 2;
		return hv_kprobe_refuse(p, 0, E2BIG, "Too many arguments are specified");
	}
	if (nr > HV_KPROBE_ARGS_MAX)
		nr = HV_KPROBE_ARGS_MAX;
	k->args = hv_alloc((nr + 1) * sizeof(*k->args));
	for (p->word = 2; !err && k->nr_args < nr; p->word++) {
		const char *word = p->args[k->nr_args];
		struct hv_kprobe_arg *arg = &k->args[k->nr_args++];

		err = hv_cancel_check();
		if (!err)
			err = parse_arg(p, word, arg);
		if (err)
			return err;
		arg->off = (uint32_t)len_bytes;
		arg->first_result = k->nr_results;
		len_bytes += arg->type->size_bytes * (arg->count ? arg->count : 1);
		k->nr_results += kprobe_nr_results(arg);
	}
	k->len_bytes = (uint32_t)len_bytes;
	for (size_t i = 0; i < k->nr_args; i++)
		len_bytes +=
			k->args[i].source == HV_KPROBE_STRING ? strlen(k->args[i].string) + 1 : 0;
	p->word = 2;
	return len_bytes > HV_KPROBE_SIZE_MAX
		       ? hv_kprobe_refuse(p, 0, E2BIG, "Too many arguments are specified")
		       : NULL;
}

/* -- the probe itself -------------------------------------------------------------------------- */

static const char *find_retval(const char *word)
{
	const char *at = strstr(word, "$retval");

	return at && !isalnum((unsigned char)at[7]) && at[7] != '_' ? at : NULL;
}

/* Parses SYMBOL. A definition with $retval is a return probe, even without %return
 * (parse_symbol_and_return()). */
static void take_symbol(const struct hv_kprobe_parsing *p, size_t len)
{
	p->k->symbol = hv_format("%.*s", (int)len, p->words[1]);
	for (size_t i = 2; i < p->nr; i++)
		p->k->is_return = p->k->is_return || find_retval(p->words[i]);
}

/* TRACEPOINT */
static struct hv_err *parse_tracepoint(struct hv_kprobe_parsing *p)
{
	const char *word = p->words[1], *percent = strchr(word, '%'), *wrong = word;

	p->word = 1;
	if (percent)
		return hv_kprobe_wrong(p, (size_t)(percent - word),
				       "Invalid probed address suffix");
	while (isalnum((unsigned char)*wrong) || *wrong == '_')
		wrong++;
	if (*wrong)
		return hv_kprobe_wrong(p, (size_t)(wrong - word),
				       "Invalid character in tracepoint name");
	for (p->word = 2; p->word < p->nr; p->word++) {
		const char *at = find_retval(p->words[p->word]);

		if (at)
			return hv_kprobe_wrong(p, (size_t)(at - p->words[p->word]),
					       "$retval is not available on probe");
	}
	p->k->symbol = hv_strdup(word);
	p->k->function = hv_format(PROBESTUB "%s", word);
	return NULL;
}

/* ADDRESS */
static struct hv_err *take_address(const struct hv_kprobe_parsing *p, uint64_t address)
{
	const struct hv_kprobe_kernel *kernel = p->kernel;
	struct hv_kprobe_entry entry = {"", {0}};
	bool is_entry = kernel->entry_at && kernel->entry_at(kernel->module_data, address, &entry);

	if (!is_entry && p->k->is_return)
		return hv_kprobe_wrong(p, 0, "Retprobe address must be an function entry");
	p->k->symbol = hv_format("0x%" PRIx64, address);
	p->k->function = hv_strdup(entry.function);
	p->k->is_inside = !is_entry;
	p->k->off = address;
	p->k->entry = entry.site;
	return NULL;
}

/* Returns whether SYMBOL, MODULE:FUNCTION or FUNCTION, names FUNCTION. */
static bool is_of(const char *symbol, const char *function)
{
	const char *colon = strchr(symbol, ':');

	return strcmp(colon ? colon + 1 : symbol, function) == 0;
}

/* A nonzero OFF can be an entry: of another function, or the patch site of FUNCTION after its first
 * instruction. For a module that is not loaded this is not known yet. */
static struct hv_err *take_offset(const struct hv_kprobe_parsing *p, uint64_t off)
{
	const struct hv_kprobe_kernel *kernel = p->kernel;
	struct hv_kprobe_entry entry = {NULL, {0}};
	bool is_entry = kernel->entry_behind &&
			kernel->entry_behind(kernel->module_data, p->k->function, off, &entry);

	if (!is_entry && p->k->is_return && !strchr(p->k->function, ':'))
		return hv_kprobe_wrong(p, 0, "Retprobe address must be an function entry");
	p->k->symbol = hv_format("%s+%" PRIu64, p->k->function, off);
	p->k->is_inside = !is_entry && !p->k->is_return;
	p->k->off = off;
	if (!is_entry || is_of(p->k->function, entry.function))
		return NULL;
	free(p->k->function);
	p->k->function = hv_strdup(entry.function);
	p->k->entry = entry.site;
	return NULL;
}

/* SYMBOL[+OFFS][%return] */
static struct hv_err *parse_function(struct hv_kprobe_parsing *p)
{
	const char *word = p->words[1], *percent = strchr(word, '%'), *sign;
	uint64_t off = 0;
	size_t len;

	p->word = 1;
	if (!p->k->is_fprobe && hv_kprobe_number(word, strlen(word), &off))
		return take_address(p, off);
	if (percent && strcmp(percent, "%return") != 0)
		return hv_kprobe_wrong(p, (size_t)(percent - word),
				       "Invalid probed address suffix");
	p->k->is_return = p->k->is_return || percent;
	len = percent ? (size_t)(percent - word) : strlen(word);
	if (p->k->is_fprobe) {
		take_symbol(p, len);
		return NULL;
	}
	sign = memchr(word, '+', len) ? memchr(word, '+', len) : memchr(word, '-', len);
	if (sign &&
	    (*sign == '-' || !hv_kprobe_number(sign + 1, (size_t)(word + len - sign) - 1, &off) ||
	     off > INT64_MAX))
		return hv_kprobe_wrong(p, 0, "Invalid probed address or symbol");
	p->k->function = hv_format("%.*s", (int)(sign ? (size_t)(sign - word) : len), word);
	if (p->kernel->has_function && !strchr(p->k->function, ':') &&
	    !p->kernel->has_function(p->kernel->module_data, p->k->function))
		return hv_kprobe_wrong(p, 0, "Invalid probed address or symbol");
	if (sign && off)
		return take_offset(p, off);
	p->k->symbol = hv_strdup(p->k->function);
	return NULL;
}

/* Parses the text between the letter and COLON, which may be NULL. */
static struct hv_err *parse_maxactive(struct hv_kprobe_parsing *p, const char *text,
				      const char *colon)
{
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t nr;

	if (p->k->is_fprobe && p->kernel->no_maxactive)
		return len ? hv_kprobe_wrong(p, 1, "Invalid maxactive number") : NULL;
	if (!isdigit((unsigned char)*text))
		return NULL;
	if (!p->k->is_return && !p->k->is_fprobe)
		return hv_kprobe_wrong(p, 1, "Maxactive is not for kprobe");
	if (!hv_kprobe_number(text, len, &nr) || !nr || nr > UINT32_MAX)
		return hv_kprobe_wrong(p, 1, "Invalid maxactive number");
	if (nr > MAXACTIVE_MAX)
		return hv_kprobe_wrong(p, 1, "Maxactive is too big");
	p->k->maxactive = (unsigned)nr;
	return NULL;
}

struct hv_err *hv_kprobe_parse_name(const struct hv_kprobe_parsing *p, const char *text, size_t off,
				    char **group, char **name)
{
	const char *slash = strchr(text, '/');
	size_t len;

	if (!slash)
		slash = strchr(text, '.');
	if (slash) {
		len = (size_t)(slash - text);
		if (!len)
			return hv_kprobe_wrong(p, off, "Group name is not specified");
		if (len >= HV_KPROBE_NAME_MAX)
			return hv_kprobe_wrong(p, off, "Group name is too long");
		if (!is_good_group(text, len))
			return hv_kprobe_wrong(
				p, off, "Group name must follow the same rules as C identifiers");
		free(*group);
		*group = hv_format("%.*s", (int)len, text);
		off += len + 1;
		text = slash + 1;
	}
	len = strlen(text);
	if (!len)
		return slash ? NULL : hv_kprobe_wrong(p, off, "Event name is not specified");
	if (len >= HV_KPROBE_NAME_MAX)
		return hv_kprobe_wrong(p, off, "Event name is too long");
	if (!hv_kprobe_is_good(text, len))
		return hv_kprobe_wrong(p, off,
				       "Event name must follow the same rules as C identifiers");
	free(*name);
	*name = hv_strdup(text);
	return NULL;
}

/* Returns the default name of a probe, as the kernel does; sanitize_event_name(). */
static char *made_name(const struct hv_kprobe *k)
{
	char *name;

	if (k->is_tracepoint)
		return hv_format("%s%.*s", isdigit((unsigned char)*k->symbol) ? "_" : "",
				 HV_KPROBE_NAME_MAX - 2, k->symbol);
	if (k->is_inside && *k->function)
		name = hv_format("p_%.*s_%" PRIu64, HV_KPROBE_NAME_MAX - 24, k->function, k->off);
	else if (!k->is_fprobe && k->off)
		name = hv_format("%c_%.*s", k->is_return ? 'r' : 'p', HV_KPROBE_NAME_MAX - 3,
				 k->symbol);
	else
		name = k->is_fprobe ? hv_format("%.*s__%s", HV_KPROBE_NAME_MAX - 8, k->symbol,
						k->is_return ? "exit" : "entry")
				    : hv_format("%c_%.*s_0", k->is_return ? 'r' : 'p',
						HV_KPROBE_NAME_MAX - 5, k->symbol);
	for (char *c = name + 1; *c; c++)
		if (*c == ':' || *c == '.' || *c == '+')
			*c = '_';
	return name;
}

static struct hv_err *parse(struct hv_kprobe_parsing *p)
{
	const char *word = p->nr ? p->words[0] : "", *colon = strchr(word, ':');
	struct hv_err *err;

	if (p->nr < 2 || !*word || !strchr("prft", *word))
		return hv_err_new(EINVAL,
				  "'%s' defines no probe: p[:[GRP/]NAME] SYMBOL [ARGS], or with r"
				  " of its returns",
				  word);
	p->k->is_return = *word == 'r';
	p->k->is_tracepoint = *word == 't';
	p->k->is_fprobe = *word == 'f' || *word == 't';
	err = parse_maxactive(p, word + 1, colon);
	if (!err)
		err = p->k->is_tracepoint ? parse_tracepoint(p) : parse_function(p);
	if (!err && !p->k->function)
		p->k->function = hv_strdup(p->k->symbol);
	p->word = err ? p->word : 0;
	if (!err && p->k->maxactive && !p->k->is_return)
		err = hv_kprobe_wrong(p, 1, "Maxactive is only for function exit");
	p->k->group = hv_strdup(p->k->is_tracepoint ? TRACEPOINT_GROUP
				: p->k->is_fprobe   ? FPROBE_GROUP
						    : GROUP);
	if (!err && colon)
		err = hv_kprobe_parse_name(p, colon + 1, (size_t)(colon + 1 - word), &p->k->group,
					   &p->k->name);
	if (!err && !p->k->name)
		p->k->name = made_name(p->k);
	if (err)
		return err;
	if (!p->k->is_inside)
		hv_kprobe_find_func(p);
	err = hv_kprobe_expand(p);
	return err ? err : hv_kprobe_parse_args(p);
}

struct hv_err *hv_kprobe_parse(const struct hv_kprobe_kernel *kernel, char **words, size_t nr,
			       struct hv_kprobe *ret, struct hv_kprobe_fault *ret_fault,
			       char **ret_meant)
{
	struct hv_kprobe k = {0};
	struct hv_kprobe_named named = {0};
	struct hv_kprobe_parsing p = {.kernel = kernel,
				      .arch = kernel->arch,
				      .words = words,
				      .nr = nr,
				      .k = &k,
				      .fault = ret_fault,
				      .replaced = words,
				      .has_casts = kernel->has_casts,
				      .drops_args = kernel->drops_args,
				      .meant = ret_meant,
				      .named = &named};
	struct hv_err *err;

	*ret_fault = (struct hv_kprobe_fault){.at = HV_KPROBE_NOWHERE};
	*ret_meant = NULL;
	err = parse(&p);
	for (size_t i = 0; i < p.nr_args; i++)
		free(p.args[i]);
	free(p.args);
	if (err)
		hv_kprobe_deinit(&k);
	else
		*ret = k;
	return err;
}

const char *hv_kprobe_where(const char *word)
{
	return *word == 'e'		      ? "event_probe"
	       : *word == 'f' || *word == 't' ? "trace_fprobe"
					      : "trace_kprobe";
}

void hv_kprobe_deinit(struct hv_kprobe *k)
{
	for (size_t i = 0; i < k->nr_args; i++) {
		free(k->args[i].name);
		free(k->args[i].fetch);
		free(k->args[i].field);
		free(k->args[i].string);
		free(k->args[i].symbol);
	}
	free(k->args);
	free(k->group);
	free(k->name);
	free(k->symbol);
	free(k->function);
	*k = (struct hv_kprobe){0};
}

/* -- text form --------------------------------------------------------------------------------- */

void hv_kprobe_text(const struct hv_kprobe *k, struct hv_text *ret)
{
	hv_text_add(ret, k->is_event	    ? "e"
			 : k->is_tracepoint ? "t"
			 : k->is_fprobe	    ? "f"
			 : k->is_return	    ? "r"
					    : "p");
	if (k->maxactive)
		hv_text_printf(ret, "%u", k->maxactive);
	hv_text_printf(ret, ":%s/%s %s%s", k->group, k->name, k->symbol,
		       k->is_fprobe && k->is_return ? "%return" : "");
	for (size_t i = 0; i < k->nr_args; i++)
		hv_text_printf(ret, " %s=%s", k->args[i].name, k->args[i].fetch);
	hv_text_add(ret, "\n");
}

/* Uses the kernel's separators between array elements. */
static void add_formats(const struct hv_kprobe_arg *arg, struct hv_text *ret)
{
	hv_text_printf(ret, " %s=%s", arg->name, arg->count ? "{" : "");
	for (unsigned i = 0; i < (arg->count ? arg->count : 1); i++)
		hv_text_printf(ret, "%s%s", i ? "," : "", arg->type->print);
	hv_text_add(ret, arg->count ? "}" : "");
}

static void add_values(const struct hv_kprobe_arg *arg, struct hv_text *ret)
{
	bool is_string = hv_kprobe_is_string(arg);

	if (hv_kprobe_is_ustack(arg))
		hv_text_printf(ret,
			       ", __print_array(__get_dynamic_array(%s), "
			       "__get_dynamic_array_len(%s) / 8, 8)",
			       arg->name, arg->name);
	else if (!arg->count)
		hv_text_printf(ret, is_string ? ", __get_str(%s)" : ", REC->%s", arg->name);
	for (unsigned i = 0; i < arg->count; i++)
		hv_text_printf(ret, is_string ? ", __get_str(%s[%u])" : ", REC->%s[%u]", arg->name,
			       i);
}

void hv_kprobe_print_fmt(const struct hv_kprobe *k, struct hv_text *ret)
{
	hv_text_add(ret, k->is_event ? "\"" : k->is_return ? "\"(%lx <- %lx)" : "\"(%lx)");
	for (size_t i = 0; i < k->nr_args; i++)
		add_formats(&k->args[i], ret);
	hv_text_add(ret, k->is_event	? "\""
			 : k->is_return ? "\", REC->__probe_func, REC->__probe_ret_ip"
					: "\", REC->__probe_ip");
	for (size_t i = 0; i < k->nr_args; i++)
		add_values(&k->args[i], ret);
}

struct hv_kprobe_field hv_kprobe_field_of(const struct hv_kprobe_arg *arg)
{
	return (struct hv_kprobe_field){arg->field,
					arg->type->size_bytes * (arg->count ? arg->count : 1),
					arg->type->is_signed};
}

/* -- comparing and selecting probes ------------------------------------------------------------ */

/* trace_probe_compare_arg_type() */
size_t hv_kprobe_different_arg(const struct hv_kprobe *a, const struct hv_kprobe *b)
{
	if (a->nr_args != b->nr_args)
		return (a->nr_args < b->nr_args ? a->nr_args : b->nr_args) + 1;
	for (size_t i = 0; i < a->nr_args; i++)
		if (a->args[i].type != b->args[i].type || a->args[i].count != b->args[i].count ||
		    strcmp(a->args[i].name, b->args[i].name) != 0)
			return i + 1;
	return 0;
}

/* trace_kprobe_has_same_kprobe() */
bool hv_kprobe_is_same(const struct hv_kprobe *a, const struct hv_kprobe *b)
{
	for (size_t i = 0; i < a->nr_args; i++)
		if (strcmp(a->args[i].fetch, b->args[i].fetch) != 0)
			return false;
	return strcmp(a->symbol, b->symbol) == 0;
}

bool hv_kprobe_is_named(const struct hv_kprobe *k, const char *name)
{
	size_t len = strcspn(name, "/");

	if (!name[len])
		return strcmp(k->name, name) == 0;
	return strncmp(k->group, name, len) == 0 && !k->group[len] &&
	       (!name[len + 1] || strcmp(k->name, name + len + 1) == 0);
}

/* trace_kprobe_match() */
bool hv_kprobe_has_head(const struct hv_kprobe *k, char *const *words, size_t nr)
{
	if (nr && strcmp(words[0], k->symbol) != 0)
		return false;
	if (nr > k->nr_args + 1)
		return false;
	for (size_t i = 1; i < nr; i++) {
		HV_AUTO_FREE char *arg =
			hv_format("%s=%s", k->args[i - 1].name, k->args[i - 1].fetch);

		if (strcmp(arg, words[i]) != 0)
			return false;
	}
	return true;
}

/* -- reads of memory, and the entry ------------------------------------------------------------ */

/* Builds the program that reads memory for a probe, and the entry of its event. */

#define LOC_LEN_SHIFT 16 /* __data_loc */
#define LOC_OFF_MASK  0xffff
#define STRING_MAX    4096 /* MAX_STRING_SIZE */
#define WORD	      8

/* -- the program ------------------------------------------------------------------------------- */

struct program {
	struct hv_fetch_step *steps;
	size_t nr;
	bool is_full;
	uint32_t tag;
	const struct hv_kprobe_carrier *carrier; /* NULL: a function is probed */
};

static void add_step(struct program *p, unsigned does, uint64_t value, size_t len_bytes)
{
	p->is_full = p->is_full || p->nr >= HV_FETCH_STEPS_MAX;
	if (p->is_full)
		return;
	p->steps[p->nr++] = (struct hv_fetch_step){
		.does = (uint8_t)does,
		.len_bytes = (uint16_t)len_bytes,
		.tag = p->tag,
		.value = value,
	};
}

/* Loads SIZE_BYTES at OFF of an entry; unusual sizes load a word (get_event_field()). */
static void load_field(struct program *p, uint64_t off, uint32_t size_bytes, bool is_signed)
{
	bool is_small = size_bytes == 1 || size_bytes == 2 || size_bytes == 4;
	unsigned unused_bits = is_small ? 64 - 8 * size_bytes : 0;

	add_step(p, HV_FETCH_FIELD, offsetof(struct hv_draft, entry) + off,
		 unused_bits | (is_signed ? HV_FETCH_SIGNED : 0));
}

/* Skips the reads if the entry belongs to another event of the carrier. */
static void check_event(struct program *p)
{
	if (!p->carrier || !p->carrier->is_of_several)
		return;
	load_field(p, p->carrier->nr_off, WORD, false);
	add_step(p, HV_FETCH_IS, p->carrier->nr, 0);
}

/* Loads the probed event's field from its carrier. */
static void load_event_field(struct program *p, const struct hv_kprobe_event_field *field)
{
	const struct hv_kprobe_carrier *c = p->carrier;

	if (!c->is_of_several) {
		load_field(p, field->off, field->size_bytes, field->is_signed);
		return;
	}
	if (field->off >= c->words_off)
		load_field(p, field->off - c->words_off + c->carrier_words_off, WORD, false);
}

/* Reads string INDEX of an array; 0 if ARG is not an array of strings. */
static void read_result(struct program *p, const struct hv_kprobe_arg *arg, unsigned index)
{
	bool is_string = hv_kprobe_is_string(arg), is_const = arg->number.word == HV_ARCH_NO_WORD;
	uint64_t addend = (uint64_t)arg->number.addend;
	unsigned last = arg->nr_derefs - 1, word = arg->number.word;

	check_event(p);
	if (arg->source == HV_KPROBE_USTACK)
		add_step(p, HV_FETCH_USER_STACK, addend, HV_USER_STACK_MAX * WORD);
	if (arg->source == HV_KPROBE_USTACK_COPY)
		add_step(p, HV_FETCH_USER_COPY, addend, HV_ENTRY_LEN_MAX);
	if (arg->source == HV_KPROBE_USTACK_REST)
		add_step(p, HV_FETCH_USER_COPY, addend | (uint64_t)HV_USER_COPY_REST << 32,
			 HV_ENTRY_LEN_MAX);
	if (hv_kprobe_is_ustack(arg))
		return;
	if (arg->source == HV_KPROBE_FIELD)
		load_event_field(p, &arg->event_field);
	else if (is_const)
		add_step(p, HV_FETCH_NUMBER, addend, 0);
	else
		add_step(p, HV_FETCH_WORD, word, 0);
	for (unsigned i = 0; i <= last; i++) {
		const struct hv_kprobe_deref *d = &arg->derefs[i];
		unsigned does = HV_FETCH_READS | (d->is_user ? HV_FETCH_USER : 0);
		uint64_t off = (uint64_t)d->off + (i || is_const ? 0 : addend);
		size_t len = 0;

		if (i == last && is_string) {
			does |= HV_FETCH_STRING;
			does |= strcmp(arg->type->name, "ustring") == 0 ? HV_FETCH_USER : 0;
			len = STRING_MAX;
		} else if (i == last) {
			does |= HV_FETCH_KEEPS;
			len = arg->type->size_bytes * (arg->count ? arg->count : 1);
		} else if (i + 1 == last) {
			off += (uint64_t)index * WORD;
		}
		add_step(p, does, off, len);
	}
}

bool hv_kprobe_program(const struct hv_kprobe *k, const struct hv_kprobe_carrier *carrier,
		       struct hv_fetch_step *ret, size_t *nr)
{
	struct program p = {
		.steps = ret, .nr = *nr, .tag = (uint32_t)k->serial << 16, .carrier = carrier};

	for (size_t i = 0; i < k->nr_args; i++) {
		const struct hv_kprobe_arg *arg = &k->args[i];

		for (unsigned n = 0; n < kprobe_nr_results(arg); n++, p.tag++)
			read_result(&p, arg, n);
	}
	if (!p.is_full)
		*nr = p.nr;
	return !p.is_full;
}

/* -- the entry --------------------------------------------------------------------------------- */

/* An entry that is being filled. */
struct filling {
	const struct hv_kprobe *k;
	const struct hv_kprobe_call *call;
	uint8_t *entry;
	uint32_t end, max_bytes; /* END: offset of the next string */
};

/* Finds the bytes of a result. Returns false if it is absent or could not be read. */
static bool find_result(const struct filling *f, unsigned number, struct hv_span *ret)
{
	uint32_t tag = ((uint32_t)f->k->serial << 16) + number;
	struct hv_fetch_result r;

	if (!hv_fetch_results_find(f->call->results, tag, &r))
		return false;
	*ret = r.bytes;
	return !r.is_fault;
}

bool hv_kprobe_has_results(const struct hv_kprobe *k, struct hv_span results)
{
	struct hv_fetch_result r;
	uint64_t at = 0;

	while (hv_fetch_results_next(results, &at, &r))
		if (r.tag >> 16 == k->serial)
			return true;
	return false;
}

/* Adds a string of LEN bytes with its NUL, truncated to the available room. Returns its
 * location. */
static uint32_t add_string(struct filling *f, const uint8_t *bytes, size_t len)
{
	uint32_t at = f->end;

	if (len > f->max_bytes - f->end)
		len = f->max_bytes - f->end;
	if (len) {
		memcpy(f->entry + at, bytes, len);
		f->entry[at + len - 1] = '\0';
	}
	f->end += (uint32_t)len;
	return (uint32_t)len << LOC_LEN_SHIFT | at;
}

/* Returns the value of a field of the probed event (get_event_field()), or 0 if the entry is too
 * short. */
static uint64_t value_of_field(struct hv_span event, const struct hv_kprobe_event_field *field)
{
	uint32_t size = field->size_bytes;
	unsigned unused_bits;
	uint64_t value = 0;

	if (size != 1 && size != 2 && size != 4)
		size = WORD;
	hv_span_copy(event, field->off, &value, size);
	unused_bits = 64 - 8 * size;
	return field->is_signed ? (uint64_t)((int64_t)(value << unused_bits) >> unused_bits)
				: value;
}

/* Returns the string in such a field, including a NUL if present. */
static struct hv_span text_of_field(struct hv_span event, const struct hv_kprobe_event_field *field)
{
	uint64_t off = field->off, len = field->size_bytes;
	uint32_t loc;
	const uint8_t *nul;

	if (field->form != HV_FIELD_ARRAY) {
		if (!hv_span_u32(event, off, &loc))
			return (struct hv_span){0};
		off = (loc & LOC_OFF_MASK) +
		      (field->form == HV_FIELD_RELATIVE ? off + sizeof(loc) : 0);
		len = event.len_bytes > off ? event.len_bytes - off : 0;
	}
	if (!len || !hv_span_has(event, off, len))
		return (struct hv_span){0};
	nul = memchr(event.data + off, '\0', len);
	return (struct hv_span){event.data + off, nul ? (size_t)(nul - event.data - off) + 1 : len};
}

/* Returns strings that need no memory read. */
static const char *known_string(const struct hv_kprobe_call *call, const struct hv_kprobe_arg *arg)
{
	if (arg->source == HV_KPROBE_COMM)
		return call->comm;
	return arg->source == HV_KPROBE_MARK ? call->mark : arg->string;
}

/* The words follow the fields, like strings. */
static void fill_ustack(struct filling *f, const struct hv_kprobe_arg *arg, uint8_t *to)
{
	struct hv_span bytes = {0};
	uint32_t loc = f->end, len;

	if (!find_result(f, arg->first_result, &bytes))
		bytes.len_bytes = 0;
	len = (uint32_t)bytes.len_bytes / WORD * WORD;
	if (len > f->max_bytes - f->end)
		len = (f->max_bytes - f->end) / WORD * WORD;
	if (len)
		memcpy(f->entry + f->end, bytes.data, len);
	f->end += len;
	loc |= len << LOC_LEN_SHIFT;
	memcpy(to, &loc, sizeof(loc));
}

static void fill_strings(struct filling *f, const struct hv_kprobe_arg *arg, uint8_t *to)
{
	const char *known = known_string(f->call, arg);

	for (unsigned i = 0; i < (arg->count ? arg->count : 1); i++) {
		struct hv_span bytes = {(const uint8_t *)known, known ? strlen(known) + 1 : 0};
		uint32_t loc;

		if (arg->source == HV_KPROBE_FIELD && !arg->nr_derefs)
			bytes = text_of_field(f->call->event, &arg->event_field);
		if (arg->nr_derefs && !find_result(f, arg->first_result + i, &bytes))
			bytes.len_bytes = 0;
		loc = add_string(f, bytes.data, bytes.len_bytes);
		memcpy(to + i * sizeof(loc), &loc, sizeof(loc));
	}
}

static uint64_t bits_of(const struct hv_kprobe_arg *arg, uint64_t value)
{
	uint32_t bits = arg->type->size_bytes * 8;
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	return arg->is_bitfield ? ((value << arg->left) & mask) >> arg->right : value;
}

/* Numbers that cannot be read become 0. */
static void fill_numbers(const struct filling *f, const struct hv_kprobe_arg *arg, uint8_t *to)
{
	uint32_t size = arg->type->size_bytes;
	struct hv_span bytes = {0};
	uint64_t value = arg->number.word < HV_WORDS_MAX ? f->call->words[arg->number.word] : 0;

	if (arg->source == HV_KPROBE_FIELD)
		value = value_of_field(f->call->event, &arg->event_field);
	value += (uint64_t)arg->number.addend;
	if (arg->nr_derefs && !find_result(f, arg->first_result, &bytes))
		bytes.len_bytes = 0;
	for (unsigned i = 0; i < (arg->count ? arg->count : 1); i++) {
		if (arg->nr_derefs) {
			value = 0;
			hv_span_copy(bytes, (uint64_t)i * size, &value, size);
		}
		value = bits_of(arg, value);
		memcpy(to + i * size, &value, size);
	}
}

bool hv_kprobe_has_mark(const struct hv_kprobe *k)
{
	for (size_t i = 0; i < k->nr_args; i++)
		if (k->args[i].source == HV_KPROBE_MARK)
			return true;
	return false;
}

uint32_t hv_kprobe_fill(const struct hv_kprobe *k, const struct hv_kprobe_call *call,
			uint32_t args_off, uint8_t *entry, uint32_t max_bytes)
{
	struct filling f = {.k = k,
			    .call = call,
			    .entry = entry,
			    .end = args_off + k->len_bytes,
			    .max_bytes = max_bytes};

	if (f.end > max_bytes || (hv_kprobe_has_mark(k) && !call->mark))
		return 0;
	for (size_t i = 0; i < k->nr_args; i++) {
		const struct hv_kprobe_arg *arg = &k->args[i];
		uint8_t *to = entry + args_off + arg->off;

		if (hv_kprobe_is_ustack(arg))
			fill_ustack(&f, arg, to);
		else if (hv_kprobe_is_string(arg))
			fill_strings(&f, arg, to);
		else
			fill_numbers(&f, arg, to);
	}
	return f.end;
}
