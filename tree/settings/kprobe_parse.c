/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/kprobe_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

/* Makes ARG the function argument NR for a return probe: a stub keeps it until the return. */
static struct hv_err *take_kept_argument(const struct hv_kprobe_parsing *p,
					 struct hv_kprobe_arg *arg, uint64_t nr, size_t off)
{
	if (nr > HV_NR_RETURN_ARGS)
		return hv_kprobe_not_there(p, off,
					   "only the first six arguments are kept until a"
					   " function returns");
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
			p, off, "the arguments of a function are not known when it returns");
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
