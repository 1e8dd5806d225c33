/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the calls with which kernel/tracepoint.c frees arrays of probes (release_probes()). */
#include <string.h>

#include "kernel/events/probe_calls.h"
#include "kernel/kernel.h"

/* The function that frees later, and the number of its struct rcu_head argument. Since 7.0 probes
 * are called under SRCU. */
static const struct {
	const char *name;
	unsigned head_argument;
} releases[] = {
	{"call_rcu", 0},
	{"call_srcu", 1},
};

/* The functions that may contain the call, depending on inlining: a separate function, or those
 * that add and remove a probe. */
static const char *const alone[] = {"release_probes", NULL};
static const char *const adders[] = {"tracepoint_add_func", NULL};
static const char *const removers[] = {"tracepoint_probe_unregister", "tracepoint_remove_func",
				       NULL};

/* Returns whether SYMBOL is the function NAME or a part of it that the compiler has split off. */
static bool is_part_of(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return strncmp(symbol, name, len) == 0 && (!symbol[len] || symbol[len] == '.');
}

static bool is_one_of(const char *symbol, const char *const *names)
{
	for (; *names; names++)
		if (is_part_of(symbol, *names))
			return true;
	return false;
}

/* Adds the calls of FUNCTION from the functions NAMES. *RET: there are such calls. */
static struct hv_err *find_in(const struct hv_kernel *k, const char *const *names,
			      struct hv_gva function, struct hv_calls *calls, bool *ret)
{
	const struct hv_symbols *symbols = &k->core.symbols;
	size_t before = calls->nr;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < symbols->nr; i++)
		if (is_one_of(symbols->by_addr[i].name, names))
			err = hv_calls_find(k, symbols->by_addr[i].addr, hv_gva_alone(function),
					    calls);
	*ret = calls->nr != before;
	return err;
}

/* Sets *RET to whether both adding and removing a probe free with these calls. */
static struct hv_err *find_all(const struct hv_kernel *k, struct hv_gva function,
			       struct hv_calls *calls, bool *ret)
{
	bool frees = false, adds = false, removes = false;
	struct hv_err *err = find_in(k, alone, function, calls, &frees);

	if (!err)
		err = find_in(k, adders, function, calls, &adds);
	if (!err)
		err = find_in(k, removers, function, calls, &removes);
	*ret = frees || (adds && removes);
	return err;
}

static struct hv_err *check_pages(const struct hv_kernel *k, const struct hv_calls *calls)
{
	for (size_t i = 0; i < calls->nr; i++)
		if (hv_site_crosses_pages(k->core.as.arch, calls->list[i].at.v))
			return hv_err_new(EOPNOTSUPP,
					  "a call that frees probes, at 0x%llx, is in two pages",
					  (unsigned long long)calls->list[i].at.v);
	return NULL;
}

/* Since 6.13 (cfeae1ed4647) the arrays of tracepoints whose probes may sleep are freed with
 * call_rcu_tasks_trace(). Since 7.0 that is not a function but a call of call_srcu(), as for other
 * tracepoints. Errors with these calls do not affect other tracepoints. */
static struct hv_err *find_others(const struct hv_kernel *k, struct hv_release_calls *c)
{
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_err *pages, *err;
	struct hv_gva function;
	bool all;

	if (!hv_kernel_symbol(k, "call_rcu_tasks_trace", &function))
		return NULL;
	err = find_all(k, function, &calls, &all);
	if (err || !calls.nr)
		return err;
	pages = check_pages(k, &calls);
	c->has_unknown = pages || !all;
	hv_err_free(pages);
	if (c->has_unknown)
		return NULL;
	c->other_function = function;
	c->others = calls;
	calls = (struct hv_calls){0};
	return NULL;
}

struct hv_err *hv_release_calls_read(const struct hv_kernel *k, struct hv_release_calls *ret)
{
	hv_cleanup(hv_release_calls_deinit) struct hv_release_calls c = {0};
	struct hv_err *err = NULL;
	unsigned nr_used = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(releases); i++) {
		hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
		struct hv_gva function;
		bool all = false;

		if (!hv_kernel_symbol(k, releases[i].name, &function))
			continue;
		err = find_all(k, function, &calls, &all);
		if (err)
			return err;
		nr_used += calls.nr != 0;
		if (!all)
			continue;
		hv_release_calls_deinit(&c);
		c = (struct hv_release_calls){.calls = calls,
					      .function = function,
					      .head_argument = releases[i].head_argument};
		calls = (struct hv_calls){0};
	}
	if (!c.calls.nr || nr_used != 1)
		return hv_err_new(EOPNOTSUPP, "the calls that free a tracepoint's probes were not "
					      "found");
	err = check_pages(k, &c.calls);
	if (!err)
		err = find_others(k, &c);
	if (err)
		return err;
	*ret = c;
	c = (struct hv_release_calls){0};
	return NULL;
}

void hv_release_calls_deinit(struct hv_release_calls *c)
{
	hv_calls_deinit(&c->calls);
	hv_calls_deinit(&c->others);
	*c = (struct hv_release_calls){0};
}
