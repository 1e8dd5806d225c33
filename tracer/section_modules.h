/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which modules there were when the places of sections were replaced. Tells whether something is to
 * be replaced anew: a module that has come needs that, one that has gone does not, and then the
 * sections that are open go on. Leaves to others: to replace (detours.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

struct hv_tracee;

struct hv_section_module {
	struct hv_gva at; /* its struct module */
	struct hv_gva_range text;
	size_t nr_replaced; /* places in it */
};

/* Initialized with zeros. */
struct hv_section_modules {
	struct hv_section_module *list; /* owned, sorted by text.start */
	size_t nr;
};
void hv_section_modules_deinit(struct hv_section_modules *m);

/* Notes the modules of T's kernel, and what is replaced in them now. */
void hv_section_modules_note(struct hv_section_modules *m, const struct hv_tracee *t);
/* Whether T's kernel has a module that was not noted, or in which less is replaced than was: it
 * has come to where another one was. */
bool hv_section_modules_have_come(const struct hv_section_modules *m, const struct hv_tracee *t);
