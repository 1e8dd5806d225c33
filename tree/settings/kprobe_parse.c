/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/kprobe_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"

#define WORD 8

struct hv_err *hv_kprobe_refuse(const struct hv_kprobe_parsing *p, size_t off, int code,
				const char *why)
{
	p->fault->at = p->word < p->nr ? (unsigned)off : 0;
	for (size_t i = 0; i < p->word && i < p->nr; i++)
		p->fault->at += (unsigned)strlen(p->words[i]) + 1;
	return hv_err_new(code, "%s", why);
}

struct hv_err *hv_kprobe_wrong(const struct hv_kprobe_parsing *p, size_t off, const char *why)
{
	return hv_kprobe_refuse(p, off, EINVAL, why);
}

struct hv_err *hv_kprobe_not_there(const struct hv_kprobe_parsing *p, size_t off, const char *what)
{
	return hv_kprobe_refuse(p, off, EOPNOTSUPP, what);
}

bool hv_kprobe_is_good(const char *name, size_t len)
{
	if (!len || !(isalpha((unsigned char)name[0]) || name[0] == '_'))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

bool hv_kprobe_number(const char *text, size_t len, uint64_t *ret)
{
	char digits[HV_KPROBE_ARG_LEN_MAX + 1], *end;

	if (!len || len >= sizeof(digits) || !isdigit((unsigned char)text[0]))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	errno = 0;
	*ret = strtoull(digits, &end, 0);
	return !*end && !errno;
}

void hv_kprobe_take_stack(struct hv_kprobe_arg *arg, uint64_t nr)
{
	if (!nr) {
		arg->number = (struct hv_arch_register){HV_REGS_STACK_WORD, 0};
		return;
	}
	arg->number = (struct hv_arch_register){HV_REGS_STACK, 0};
	arg->derefs[arg->nr_derefs++] = (struct hv_kprobe_deref){.off = (int64_t)nr * WORD};
}

/* Makes ARG the function argument NR for a return probe: a trampoline keeps it until the return. */
static struct hv_err *take_kept_argument(const struct hv_kprobe_parsing *p,
					 struct hv_kprobe_arg *arg, uint64_t nr, size_t off)
{
	if (nr > HV_NR_RETURN_ARGS)
		return hv_kprobe_not_there(
			p, off,
			"hvtrace keeps only the first six arguments until a function returns");
	arg->number = (struct hv_arch_register){HV_RETURN_ARGS + (unsigned)nr - 1, 0};
	p->k->needs_args = true;
	return NULL;
}

struct hv_err *hv_kprobe_take_argument(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				       uint64_t nr, size_t off)
{
	uint64_t in_registers = 0;

	if (p->k->is_return && !p->kernel->keeps_args)
		return hv_kprobe_not_there(
			p, off, "the arguments of a function are not available when it returns");
	if (p->k->is_inside)
		return hv_kprobe_wrong(p, off, "Invalid $-variable specified");
	if (!nr || nr > HV_KPROBE_STACK_MAX)
		return hv_kprobe_wrong(p, off, "Invalid argument number");
	if (p->k->is_return)
		return take_kept_argument(p, arg, nr, off);
	nr += p->k->is_tracepoint; /* the first one is the tracepoint's data pointer */
	while (in_registers < HV_ARCH_ARGS_MAX && p->arch->argument_registers[in_registers])
		in_registers++;
	if (nr > in_registers) {
		hv_kprobe_take_stack(arg, nr - in_registers);
		return NULL;
	}
	if (!p->arch->find_register(p->arch->argument_registers[nr - 1], &arg->number))
		return hv_kprobe_wrong(p, off, "Invalid argument number");
	return NULL;
}

struct hv_err *hv_kprobe_add_deref(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				   struct hv_kprobe_deref deref, size_t off)
{
	/* The kernel uses a separate fetch instruction for a symbol. */
	if (arg->nr_derefs + (arg->symbol != NULL) >= HV_KPROBE_DEREFS_MAX)
		return hv_kprobe_wrong(p, off, "Dereference is too much nested");
	arg->derefs[arg->nr_derefs++] = deref;
	arg->is_memory = true;
	return NULL;
}

/* -- names of parameters and members ----------------------------------------------------------- */

/* Probe arguments that name parameters and members, and the expansion of %pd and %pD. BTF is
 * untrusted: names are used only if they are valid C identifiers. */

#define NAMES_LEN_MAX 128 /* MAX_BTF_ARGS_LEN: for $arg* and all $argN of a command */
#define MEANT_LEN_MAX 256 /* MAX_DENTRY_ARGS_LEN: for all %pd and %pD of a command */
#define RETVAL	      "$retval"
#define DENTRY_TYPE   ":%pd"
#define FILE_TYPE     ":%pD" /* same length as DENTRY_TYPE */

#define NO_BTF	  "BTF is not available or not supported"
#define NO_ENTRY  "No BTF entry for this probe point"
#define NO_PARAM  "This variable is not found at this probe point"
#define NO_TYPE	  "Failed to get BTF type info."
#define NOT_KNOWN "Invalid $-variable specified"

/* Searches the kernel's types first, even for a module's function (bpf_find_btf_id()). */
static bool find_func(struct hv_kprobe_parsing *p)
{
	const char *function = p->k->function, *colon = strchr(function, ':');
	const struct hv_kprobe_kernel *kernel = p->kernel;

	p->btf = kernel->btf;
	p->has_btf_args = kernel->has_btf_args && !colon;
	if (!p->btf)
		return false;
	if (hv_btf_func_find(p->btf, function, &p->func))
		return true;
	if (!kernel->module_btf)
		return false;
	p->btf = kernel->module_btf(kernel->module_data, function);
	if (p->btf && hv_btf_func_find(p->btf, colon ? colon + 1 : function, &p->func))
		return true;
	p->btf = kernel->btf;
	return false;
}

void hv_kprobe_find_func(struct hv_kprobe_parsing *p)
{
	p->has_func = find_func(p);
	if (!p->k->is_tracepoint || !p->has_func || !p->func.nr_params)
		return;
	p->hidden = 1;
	p->func.nr_params--;
}

/* -- $arg* and $argN --------------------------------------------------------------------------- */

static bool is_arg(const char *word)
{
	return hv_starts_with(word, "$arg");
}

/* Finds the word $arg*; p->nr if there is none. *RET_LAST: the last word that begins with $arg*, or
 * p->nr (argv_has_var_arg()). */
static struct hv_err *find_all(struct hv_kprobe_parsing *p, size_t *ret, size_t *ret_last)
{
	*ret = *ret_last = p->nr;
	for (p->word = 2; p->word < p->nr; p->word++) {
		const char *word = p->words[p->word];

		if (!is_arg(word))
			continue;
		*ret_last = p->word;
		if (isdigit((unsigned char)word[4]))
			continue;
		if (word[4] != '*')
			return hv_kprobe_wrong(p, 0, NOT_KNOWN);
		if (*ret < p->nr)
			return hv_kprobe_wrong(p, 0,
					       "$arg* can be used only once in the parameters");
		*ret = p->word;
	}
	return NULL;
}

static void add_arg(struct hv_kprobe_parsing *p, char *taken)
{
	p->args = hv_realloc_array(p->args, p->nr_args + 1, sizeof(char *));
	p->args[p->nr_args++] = taken;
}

/* Adds parameter INDEX, with REST after its name. *LEFT: bytes left for such words. */
static struct hv_err *add_param(struct hv_kprobe_parsing *p, uint32_t index, const char *rest,
				size_t *left)
{
	const char *name;
	uint32_t id;
	size_t len;

	if (index >= p->func.nr_params)
		return hv_kprobe_refuse(p, 0, ENOENT, NO_PARAM);
	name = hv_btf_param(p->btf, &p->func, p->hidden + index, &id);
	len = strnlen(name, NAMES_LEN_MAX);
	if (len + strlen(rest) >= *left)
		return hv_kprobe_refuse(p, 0, E2BIG,
					"$arg* failed because the argument list is too long");
	if (!hv_kprobe_is_good(name, len))
		return hv_kprobe_refuse(p, 0, ENOENT, NO_ENTRY);
	*left -= len + strlen(rest) + 1;
	add_arg(p, hv_format("%s%s", name, rest));
	return NULL;
}

static struct hv_err *add_all(struct hv_kprobe_parsing *p, size_t *left)
{
	struct hv_err *err = NULL;

	for (uint32_t i = 0; !err && i < p->func.nr_params; i++)
		err = add_param(p, i, "", left);
	return err;
}

/* Adds WORD, $argN[:TYPE]. */
static struct hv_err *add_numbered(struct hv_kprobe_parsing *p, const char *word, size_t *left)
{
	size_t len = 4 + strspn(word + 4, "0123456789");
	uint64_t nr;

	if (word[len] && word[len] != ':')
		return hv_kprobe_refuse(p, 0, ENOENT, NOT_KNOWN);
	if (!hv_kprobe_number(word + 4, len - 4, &nr) || !nr) {
		add_arg(p, hv_strdup(word));
		return NULL;
	}
	return add_param(p, nr > UINT32_MAX ? UINT32_MAX : (uint32_t)nr - 1, word + len, left);
}

/* -- %pd and %pD ------------------------------------------------------------------------------- */

/* Returns whether WORD ends with %pd or %pD. */
static bool has_dentry(const char *word)
{
	size_t len = strlen(word), type_len = strlen(DENTRY_TYPE);

	return len >= type_len && (strcmp(word + len - type_len, DENTRY_TYPE) == 0 ||
				   strcmp(word + len - type_len, FILE_TYPE) == 0);
}

/* Returns the expansion of WORD, which ends with %pd or %pD: the string that a dentry's name points
 * to, or the name of a file's dentry. The caller frees it. NULL: BTF does not have the members. */
static char *meaning(const struct hv_btf *btf, const char *word)
{
	size_t len = strlen(word) - strlen(DENTRY_TYPE);
	const char *equals = memchr(word, '=', len);
	size_t name_len = equals ? (size_t)(equals + 1 - word) : 0;
	bool is_file = strcmp(word + len, FILE_TYPE) == 0;
	uint32_t name_off, dentry_off = 0;

	if (!btf || !hv_btf_member(btf, "dentry", "d_name.name", &name_off, NULL) ||
	    (is_file && !hv_btf_member(btf, "file", "f_path.dentry", &dentry_off, NULL)))
		return NULL;
	if (is_file)
		return hv_format("%.*s+0x0(+0x%x(+0x%x(%.*s))):string", (int)name_len, word,
				 name_off, dentry_off, (int)(len - name_len), word + name_len);
	return hv_format("%.*s+0x0(+0x%x(%.*s)):string", (int)name_len, word, name_off,
			 (int)(len - name_len), word + name_len);
}

/* IN_WORDS: the kernel also modifies the words of the command. */
static struct hv_err *expand_dentries(struct hv_kprobe_parsing *p, bool in_words)
{
	size_t used = 0;

	for (size_t i = 0; i < p->nr_args; i++) {
		char *meant;

		p->word = i + 2;
		if (!has_dentry(p->args[i]))
			continue;
		meant = meaning(p->kernel->btf, p->args[i]);
		if (!meant)
			return hv_kprobe_not_there(p, 0, NO_BTF);
		free(p->args[i]);
		p->args[i] = meant;
		used += strlen(meant) + 1;
		if (used > MEANT_LEN_MAX)
			return hv_err_new(ENOMEM, "%%pd and %%pD expand to too many bytes");
		if (!in_words)
			continue;
		if (!*p->meant)
			*p->meant = hv_alloc(MEANT_LEN_MAX);
		p->replaced[p->word] = *p->meant + used - strlen(meant) - 1;
		strcpy(p->replaced[p->word], meant);
	}
	return NULL;
}

struct hv_err *hv_kprobe_expand(struct hv_kprobe_parsing *p)
{
	bool has_names = p->has_func && p->func.nr_params;
	size_t all, last, left = NAMES_LEN_MAX;
	bool is_as_written;
	struct hv_err *err = find_all(p, &all, &last);

	if (err)
		return err;
	p->word = last;
	if (all < p->nr && p->k->is_inside)
		return hv_kprobe_wrong(p, 0, "$arg* can be used only on function entry or exit");
	if (all < p->nr && !has_names)
		return hv_kprobe_not_there(p, 0, NO_BTF);
	for (p->word = 2; !err && p->word < p->nr; p->word++) {
		const char *word = p->words[p->word];

		if (p->word == all)
			err = add_all(p, &left);
		else if (is_arg(word) && has_names && p->has_btf_args)
			err = add_numbered(p, word, &left);
		else
			add_arg(p, hv_strdup(word));
	}
	if (err || !p->kernel->has_dentries || p->nr_args > HV_KPROBE_ARGS_MAX)
		return err;
	is_as_written = last == p->nr || (all == p->nr && !(has_names && p->has_btf_args));
	return expand_dentries(p, is_as_written);
}

/* -- names ------------------------------------------------------------------------------------- */

/* Finds the separator after NAME, at OFF of the word: a dot, ->, or the end of the text. */
static struct hv_err *find_end(const struct hv_kprobe_parsing *p, const char *name, size_t off,
			       const char **ret)
{
	const char *end = name + strcspn(name, ".-");

	if (*end == '-' && end[1] != '>')
		return hv_kprobe_wrong(p, off + (size_t)(end - name),
				       "Failed to parse single hyphen. Forgot '>'?");
	*ret = end;
	return NULL;
}

/* Returns the text after a separator. */
static const char *behind(const char *end)
{
	return end + (*end == '-' ? 2 : 1);
}

struct hv_err *hv_kprobe_follow_dots(const struct hv_kprobe_parsing *p, struct hv_btf_value *v,
				     const char **name, size_t *off, uint64_t *ret_bits)
{
	const struct hv_btf *btf = p->btf;
	const char *end = ".";

	*ret_bits = 0;
	while (*name && *end == '.') {
		struct hv_btf_field field;
		struct hv_err *err = find_end(p, *name, *off, &end);

		if (err)
			return err;
		if (v->form != HV_BTF_COMPOUND)
			return hv_kprobe_wrong(p, *off, NO_TYPE);
		if (!hv_btf_field(btf, v, *name, (size_t)(end - *name), &field))
			return hv_kprobe_refuse(p, *off, ENOENT, "This field is not found.");
		*ret_bits += field.bit_off;
		p->named->bit_len = field.bit_len;
		if (!hv_btf_value(btf, field.id, v))
			return hv_kprobe_wrong(p, *off, NO_TYPE);
		*off += *end ? (size_t)(behind(end) - *name) : 0;
		*name = *end ? behind(end) : NULL;
	}
	return NULL;
}

/* Parses the members *NAME[.MEMBER]... of *V. ARG is the address BEFORE_BYTES after the start of
 * *V. Updates *NAME and *OFF like hv_kprobe_follow_dots(). */
static struct hv_err *read_members(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				   struct hv_btf_value *v, uint64_t before_bytes, const char **name,
				   size_t *off)
{
	struct hv_kprobe_deref deref = {0};
	uint64_t bits;
	struct hv_err *err = hv_kprobe_follow_dots(p, v, name, off, &bits);

	if (err)
		return err;
	p->named->bit_off = bits % 8;
	p->named->member_off = *off;
	deref.off = (int64_t)(bits / 8 - before_bytes);
	return hv_kprobe_add_deref(p, arg, deref, *off);
}

/* Parses NAME, the text after the first ->, starting at V (parse_btf_field()). */
static struct hv_err *follow(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
			     struct hv_btf_value *v, const char *name, size_t off)
{
	struct hv_err *err = NULL;

	while (!err && name) {
		if (v->form != HV_BTF_POINTER)
			return hv_kprobe_wrong(p, off, "This is not a pointer to union/structure.");
		if (!hv_btf_value(p->btf, v->to, v))
			return hv_kprobe_wrong(p, off, NO_TYPE);
		err = read_members(p, arg, v, 0, &name, &off);
	}
	return err;
}

struct hv_err *hv_kprobe_follow_cast(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const struct hv_btf_value *compound, uint64_t before_bytes,
				     const char *name, size_t off)
{
	struct hv_err *err;

	*p->named = (struct hv_kprobe_named){.is_known = true, .value = *compound};
	err = read_members(p, arg, &p->named->value, before_bytes, &name, &off);
	return err ? err : follow(p, arg, &p->named->value, name, off);
}

/* Makes ARG the parameter NAME, LEN bytes long. *RET_ID: its type. */
static struct hv_err *take_param(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				 const char *name, size_t len, size_t off, uint32_t *ret_id)
{
	if (!p->has_func || !p->func.nr_params)
		return hv_kprobe_refuse(p, off, ENOENT, NO_ENTRY);
	for (uint32_t i = 0; i < p->func.nr_params; i++) {
		const char *is = hv_btf_param(p->btf, &p->func, p->hidden + i, ret_id);

		if (strncmp(is, name, len) == 0 && !is[len])
			return hv_kprobe_take_argument(p, arg, i + 1, off);
	}
	return hv_kprobe_refuse(p, off, ENOENT, NO_PARAM);
}

/* Makes ARG the function's return value. *RET_IS_KNOWN: BTF has its type, *RET_ID. */
static struct hv_err *take_retval(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				  const char *end, size_t off, uint32_t *ret_id, bool *ret_is_known)
{
	arg->number = (struct hv_arch_register){HV_REGS_RETVAL, 0};
	*ret_is_known = p->has_func;
	*ret_id = p->func.return_id;
	if (p->has_func && !*ret_id)
		return hv_kprobe_refuse(p, off, ENOENT, "This function returns 'void' type");
	if (!p->has_func && *end)
		return hv_kprobe_refuse(p, off + strlen(RETVAL "->"), ENOENT, NO_ENTRY);
	return NULL;
}

struct hv_err *hv_kprobe_parse_named(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				     const char *text, size_t off)
{
	struct hv_kprobe_named *named = p->named;
	bool is_known = true;
	const char *end = NULL;
	size_t len;
	uint32_t id;
	struct hv_err *err = find_end(p, text, off, &end);

	if (err)
		return err;
	len = (size_t)(end - text);
	if (*end == '.')
		return hv_kprobe_not_there(
			p, off + len + 1, "Non pointer structure/union argument is not supported.");
	if (len == strlen(RETVAL) && memcmp(text, RETVAL, len) == 0)
		err = take_retval(p, arg, end, off, &id, &is_known);
	else if (!p->btf)
		return hv_kprobe_not_there(p, off, NO_BTF);
	else
		err = take_param(p, arg, text, len, off, &id);
	if (err || !is_known)
		return err;
	if (!hv_btf_value(p->btf, id, &named->value))
		return hv_kprobe_wrong(p, off, NO_TYPE);
	named->is_known = true;
	return *end ? follow(p, arg, &named->value, behind(end), off + len + 2) : NULL;
}

/* -- types ------------------------------------------------------------------------------------- */

/* fetch_type_from_btf_type() */
static const char *integer_type(struct hv_kprobe_named *named)
{
	const struct hv_btf_value *v = &named->value;
	static const char *const unsigned_types[] = {"u8", "u16", "u32", "u64"};
	static const char *const signed_types[] = {"s8", "s16", "s32", "s64"};

	for (unsigned i = 0; i < HV_ARRAY_LEN(unsigned_types); i++)
		if (v->bits == 8u << i)
			return (v->is_signed ? signed_types : unsigned_types)[i];
	if (v->is_signed)
		return NULL;
	/* Old compilers describe a bit-field as an integer with the bit-field's number of bits. */
	named->bit_len = v->bits;
	named->bit_off += v->bit_off;
	return "u64";
}

const char *hv_kprobe_named_type(const struct hv_kprobe_parsing *p)
{
	switch (p->named->value.form) {
	case HV_BTF_ENUM:
		return "s32";
	case HV_BTF_ENUM64:
		return "s64";
	case HV_BTF_POINTER:
		return "x64";
	case HV_BTF_INT:
		return integer_type(p->named);
	default:
		return NULL;
	}
}

struct hv_err *hv_kprobe_named_bits(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				    size_t off)
{
	uint32_t bits = arg->type->size_bytes * 8, end = p->named->bit_off + p->named->bit_len;

	if (!p->named->is_known || !p->named->bit_len || p->named->bit_len >= bits)
		return NULL;
	if (end > bits)
		return hv_kprobe_not_there(p, off,
					   "this bit-field crosses a boundary of its type's size");
	arg->is_bitfield = true;
	arg->left = (uint8_t)(bits - end);
	arg->right = (uint8_t)(bits - p->named->bit_len);
	return NULL;
}

static bool is_letter(const struct hv_btf *btf, uint32_t id)
{
	struct hv_btf_value v;

	return hv_btf_value(btf, id, &v) && v.is_letter;
}

struct hv_err *hv_kprobe_named_string(const struct hv_kprobe_parsing *p, struct hv_kprobe_arg *arg,
				      enum hv_string_space space, size_t off)
{
	const struct hv_btf_value *v = &p->named->value;

	if (v->form == HV_BTF_ARRAY && is_letter(p->btf, v->to))
		return NULL;
	if (v->form != HV_BTF_POINTER || !is_letter(p->btf, v->to))
		return hv_kprobe_wrong(p, off, "This type does not fit for string.");
	return hv_kprobe_add_deref(
		p, arg, (struct hv_kprobe_deref){.is_user = space == HV_USER_STRING}, off);
}
