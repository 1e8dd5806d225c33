/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which probes are alike, and which ones a command names. */
#include <string.h>

#include "tree/settings/kprobe.h"

/* trace_probe_compare_arg_type() */
size_t hv_kprobe_different_arg(const struct hv_kprobe *a, const struct hv_kprobe *b)
{
	if (a->nr_args != b->nr_args)
		return (a->nr_args < b->nr_args ? a->nr_args : b->nr_args) + 1;
	for (size_t i = 0; i < a->nr_args; i++)
		if (a->args[i].type != b->args[i].type || a->args[i].count != b->args[i].count ||
		    strcmp(a->args[i].name, b->args[i].name) != 0)
			return i + 1;
	return 0;
}

/* trace_kprobe_has_same_kprobe() */
bool hv_kprobe_is_same(const struct hv_kprobe *a, const struct hv_kprobe *b)
{
	for (size_t i = 0; i < a->nr_args; i++)
		if (strcmp(a->args[i].fetch, b->args[i].fetch) != 0)
			return false;
	return strcmp(a->symbol, b->symbol) == 0;
}

bool hv_kprobe_is_named(const struct hv_kprobe *k, const char *name)
{
	size_t len = strcspn(name, "/");

	if (!name[len])
		return strcmp(k->name, name) == 0;
	return strncmp(k->group, name, len) == 0 && !k->group[len] &&
	       (!name[len + 1] || strcmp(k->name, name + len + 1) == 0);
}

/* trace_kprobe_match() */
bool hv_kprobe_has_head(const struct hv_kprobe *k, char *const *words, size_t nr)
{
	if (nr && strcmp(words[0], k->symbol) != 0)
		return false;
	if (nr > k->nr_args + 1)
		return false;
	for (size_t i = 1; i < nr; i++) {
		HV_AUTO_FREE char *arg =
			hv_format("%s=%s", k->args[i - 1].name, k->args[i - 1].fetch);

		if (strcmp(arg, words[i]) != 0)
			return false;
	}
	return true;
}
