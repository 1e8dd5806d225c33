/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a kernel without ftrace that a jump at their entry can trace. hv_entries_read()
 * takes the functions from the kernel's symbols and keeps those for which the kernel's code proves
 * that
 *
 * - whole instructions at the entry can be executed elsewhere, and the kernel changes none of them
 *   while it runs (find_entry of struct hv_arch);
 * - no jump or call leads into their middle, from anywhere in the text, nor does the jump of a static
 *   key that is off, if the kernel has symbols for the table of static keys; and no jump leads to the
 *   first of them from inside the function, because its calls would be recorded too often;
 * - none of them may fault, and no fault continues at one of them;
 * - they are in one page;
 * - the function's instructions are all known, and none jumps to an unknown address;
 * - the code before the function does not run into it;
 * - the function runs with the kernel's per-CPU base, page tables and stack. The bounds of the
 *   kernel's sections and a list of names (struct hv_kernel_arch) exclude the others;
 * - trampolines do not return through the function (hv_kernel.return_thunk).
 *
 * Functions that ftrace must not trace because its own code calls them are possible: a trampoline
 * calls no function of the kernel. All input is untrusted.
 *
 * Does not check where tasks are: tracer/probe_sites/detours.h does, when it writes the jump. */
#pragma once

#include "base/err.h"
#include "kernel/sites/sites.h"

struct hv_kernel;

/* Reads the core kernel's functions except those in EXCLUDED; functions of modules are never
 * included. Call it before hvtrace changes the text. ENOTSUP: not on this architecture, or the kernel
 * has no symbols for the bounds of its sections. EOPNOTSUPP: the kernel is still starting. */
struct hv_err *hv_entries_read(const struct hv_kernel *k, struct hv_gva_range excluded,
			       struct hv_sites *ret) hv_must_use;
