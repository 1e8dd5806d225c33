/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/sites/integrity.h"

#include <string.h>

#include "base/text.h"

/* The Linux Kernel Runtime Guard, with its names since and before 0.8. */
static const char *const modules[] = {"lkrg", "p_lkrg"};
/* Its function that hashes the kernel's text and tables, to recognise a renamed module
 * (src/modules/database/p_database.c). */
static const char *const functions[] = {"hash_from_ex_table"};

static bool is_among(const char *name, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

static bool is_checker(const struct hv_module *m)
{
	if (is_among(m->name, modules, HV_ARRAY_LEN(modules)))
		return true;
	for (size_t i = 0; i < m->symbols.nr; i++)
		if (is_among(m->symbols.by_addr[i].name, functions, HV_ARRAY_LEN(functions)))
			return true;
	return false;
}

const struct hv_module *hv_integrity_checker(const struct hv_modules *m)
{
	for (size_t i = 0; i < m->nr; i++)
		if (is_checker(&m->list[i]))
			return &m->list[i];
	return NULL;
}

struct hv_err *hv_integrity_refusal(const struct hv_modules *m)
{
	const struct hv_module *checker = hv_integrity_checker(m);
	HV_AUTO_TEXT struct hv_text name = {0};

	if (!checker)
		return NULL;
	hv_text_add_guest(&name, checker->name, sizeof(checker->name));
	return hv_err_mark(
		hv_err_new(EPERM,
			   "the guest's module %s checks that the kernel's text does not change, "
			   "and may kill tasks or panic when functions are traced",
			   name.data),
		HV_ERR_NEEDS_FORCE);
}
