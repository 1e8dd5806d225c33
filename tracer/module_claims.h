/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims: keep modules of the guest from being removed while something of ours is in them that the
 * kernel does not know of. A module that is claimed counts as used, by so many more that nobody
 * else can have made the difference. So whether it is claimed is in the guest alone, whenever we
 * are killed, and whoever takes claims away needs no journal. To the guest's root the module is in
 * use, as when the guest's own perf records its events. Leaves to others: which modules, and until
 * when (event_tracer.h). */
#pragma once

#include "kernel/module_use.h"

struct hv_tracee;

/* What a claim adds to the count of a module, and which of the count's bytes that changes: a bit
 * that is never set without it. */
#define HV_MODULE_CLAIM	     (1u << 29)
#define HV_MODULE_CLAIM_BYTE 3

/* Claims MODULE, one of the tracee's kernel. *RET_NEW: it was not claimed before. EBUSY: the guest
 * is loading or removing it. */
struct hv_err *hv_module_claim(struct hv_tracee *t, const struct hv_module *module,
			       bool *ret_new) hv_must_use;

/* Finds up to MAX of the modules that are claimed now, whoever claimed them. RET has room for so
 * many names, which are borrowed from the tracee's list of modules. Returns how many it found. */
size_t hv_module_claims_read(const struct hv_tracee *t, size_t max, const char **ret);

/* Takes away the claims of all modules, whoever made them, but those for which KEEPS(CTX) is true;
 * KEEPS NULL: of all. */
struct hv_err *hv_module_claims_take_out(struct hv_tracee *t,
					 bool (*keeps)(void *ctx, const struct hv_module *module),
					 void *ctx) hv_must_use;
