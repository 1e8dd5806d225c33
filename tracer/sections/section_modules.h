/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modules that existed when the instructions for sections were replaced. Decides whether
 * instructions must be replaced again: a new module needs this, a removed one does not, and open
 * sections then continue.
 *
 * detours.h replaces instructions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

struct hv_tracee;

struct hv_section_module {
	struct hv_gva at; /* address of its struct module */
	struct hv_gva_range text;
	size_t nr_replaced; /* number of replaced instructions in it */
};

/* Zero-initialised: empty. */
struct hv_section_modules {
	struct hv_section_module *list; /* owned, sorted by text.start */
	size_t nr;
};
void hv_section_modules_deinit(struct hv_section_modules *m);

/* Notes the modules of T's kernel and the present number of replaced instructions in them. */
void hv_section_modules_note(struct hv_section_modules *m, const struct hv_tracee *t);
/* Returns whether T's kernel has a module that was not noted, or one with fewer replaced
 * instructions than noted, which is a new module at an old address. */
bool hv_section_modules_have_come(const struct hv_section_modules *m, const struct hv_tracee *t);
