/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/event_modules.h"

#include <time.h>

#include "kernel/events/catalogue.h"
#include "tracer/guest/tracee.h"
#include "tracer/tracepoints/event_calls.h"
#include "tracer/tracepoints/module_claims.h"

/* Number of attempts to claim a module, and the time between them. When the guest tries to remove a
 * module that is in use, the module briefly looks as if it were being removed. */
#define TRIES	 20u
#define AGAIN_NS 2000000l

static struct hv_err *claim(struct hv_tracee *t, const struct hv_module *module, bool *ret_new)
{
	const struct timespec a_little = {.tv_nsec = AGAIN_NS};
	struct hv_err *err = hv_module_claim(t, module, ret_new);

	for (unsigned i = 0; i < TRIES && err && err->code == EBUSY; i++) {
		nanosleep(&a_little, NULL);
		hv_err_free(err);
		err = hv_module_claim(t, module, ret_new);
	}
	return err;
}

struct hv_err *hv_event_modules_claim(struct hv_tracee *t, struct hv_event_calls *calls,
				      const struct hv_event_type *type)
{
	const struct hv_module *module;
	bool is_new = false, is_there = false;
	struct hv_err *err;

	if (!type->module)
		return NULL;
	module = hv_module_named(&t->kernel->modules, type->module);
	if (!module)
		return hv_err_new(ENOENT, "the guest no longer has the module %s", type->module);
	err = claim(t, module, &is_new);
	if (!err && is_new)
		hv_event_calls_look_again(calls, module);
	if (!err)
		err = hv_event_type_is_there(t->kernel, type, &is_there);
	if (!err && !is_there)
		err = hv_err_new(ENOENT,
				 "the module %s was removed, and may have been loaded again",
				 type->module);
	return err;
}
