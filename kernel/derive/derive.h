/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives types of a kernel without BTF from the guest's code and memory. Both are untrusted: the
 * number of steps is bounded, and a member that is not found stays unknown, and features that need
 * it are refused. Private to kernel/. */
#pragma once

#include "kernel/core/core.h"
#include "kernel/types/facts.h"

/* Sets core->btf and core->types. Needs the kernel's own page tables, symbols of variables, and the
 * whole image. Fails with ENOTSUP and the reason if the kernel or its architecture is not
 * supported, and with ENOENT if the guest's tasks are not found, such as while it starts. */
struct hv_err *hv_types_derive(struct hv_kernel_core *core, const char *version) hv_must_use;

/* Like hv_types_derive(), but uses FACTS, which an earlier session derived in this kernel. Takes
 * ownership of FACTS. Fails with ENOENT if they are not enough. */
struct hv_err *hv_types_use(struct hv_kernel_core *core, struct hv_facts *facts) hv_must_use;

/* Derives the members of struct module when the guest has its first module. Then it replaces
 * core->btf and keeps the old one in core->types.replaced until hv_core_deinit(), because callers
 * may still use it. */
struct hv_err *hv_types_derive_rest(struct hv_kernel_core *core) hv_must_use;
