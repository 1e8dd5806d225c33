/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's image lets modules use: the names and places of all exported functions and
 * variables, in two tables next to each other (__ksymtab and __ksymtab_gpl). They are found by
 * their form. The bytes are hostile. */
#pragma once

#include "kernel/image.h"

#define HV_EXPORTS_TABLES 2

struct hv_exports {
	struct {
		size_t off; /* in the image, of the first entry */
		size_t nr;
	} tables[HV_EXPORTS_TABLES];
	size_t nr_tables; /* 0: there are none */
};

/* Finds the tables; none if there are others of a kernel's size. */
struct hv_exports hv_exports_find(const struct hv_image *image);
/* The place of what is exported as NAME. False: nothing is, or two things are. */
bool hv_exports_lookup(const struct hv_image *image, const struct hv_exports *e, const char *name,
		       struct hv_gva *ret);
