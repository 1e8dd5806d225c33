/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols that the kernel's image exports to modules: names and addresses of all exported
 * functions and variables, in two adjacent tables (__ksymtab and __ksymtab_gpl). The tables are
 * found by their form. The bytes are untrusted. */
#pragma once

#include "kernel/image/image.h"

#define HV_EXPORTS_TABLES 2

struct hv_exports {
	struct {
		size_t off; /* offset in the image of the first entry */
		size_t nr;
	} tables[HV_EXPORTS_TABLES];
	size_t nr_tables; /* 0: not found */
};

/* Finds the tables. Finds none if other data as large as a kernel's tables also has their form. */
struct hv_exports hv_exports_find(const struct hv_image *image);
/* Returns the address of the symbol exported as NAME. Returns false if there is no match or more
 * than one. */
bool hv_exports_lookup(const struct hv_image *image, const struct hv_exports *e, const char *name,
		       struct hv_gva *ret);
