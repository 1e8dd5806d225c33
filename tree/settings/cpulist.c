/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/cpulist.h"

#include <string.h>

#include "base/guard.h"

/* The first USED of each GROUP CPUs from FIRST to LAST. */
struct region {
	uint64_t first, last, used, group;
};

static bool is_end(char c)
{
	return c == '\0' || c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

/* Parses a number at *AT. "N" is the last CPU. */
static bool take_number(const char **at, unsigned nr_cpus, uint64_t *ret)
{
	const char *digits = *at;
	uint64_t value = 0;

	if (**at == 'N') {
		++*at;
		*ret = nr_cpus - 1;
		return true;
	}
	for (; **at >= '0' && **at <= '9'; ++*at) {
		value = value * 10 + (uint64_t)(**at - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*ret = value;
	return *at != digits;
}

static bool take_range(const char **at, unsigned nr_cpus, struct region *r)
{
	if (strncmp(*at, "all", 3) == 0 && (is_end((*at)[3]) || (*at)[3] == ':')) {
		*at += 3;
		r->last = nr_cpus - 1;
		return true;
	}
	if (!take_number(at, nr_cpus, &r->first))
		return false;
	r->last = r->first;
	if (**at != '-')
		return is_end(**at);
	++*at;
	return take_number(at, nr_cpus, &r->last);
}

static bool take_region(const char **at, unsigned nr_cpus, struct region *r)
{
	*r = (struct region){.used = 1, .group = 1};
	if (!take_range(at, nr_cpus, r))
		return false;
	if (**at == ':') {
		++*at;
		if (!take_number(at, nr_cpus, &r->used) || *(*at)++ != '/' ||
		    !take_number(at, nr_cpus, &r->group))
			return false;
	}
	return is_end(**at) && r->first <= r->last && r->last < nr_cpus && r->group &&
	       r->used <= r->group;
}

uint64_t *hv_cpulist_parse(const char *list, unsigned nr_cpus)
{
	HV_AUTO_FREE uint64_t *mask = hv_alloc(hv_cpumask_words(nr_cpus) * sizeof(*mask));
	struct region r;

	while (*list) {
		if (is_end(*list)) {
			list++;
			continue;
		}
		if (!take_region(&list, nr_cpus, &r))
			return NULL;
		for (uint64_t cpu = r.first; cpu <= r.last; cpu++)
			if ((cpu - r.first) % r.group < r.used)
				mask[cpu / 64] |= UINT64_C(1) << cpu % 64;
	}
	return hv_take(mask);
}
