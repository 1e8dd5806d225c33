/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the kernel's errors, as %pe shows them (lib/errname.c). Pure. */
#pragma once

/* Returns the name of an error, "ENOENT" for 2, or NULL. */
const char *hv_print_errname(int number);
