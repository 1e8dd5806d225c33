/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "tree/files/files.h"

bool hv_cpu_name(const struct hv_place *dir, const char *word, size_t index, struct hv_text *ret)
{
	if (index >= hv_instances_nr_cpus(hv_instance_all(dir->instance)))
		return false;
	hv_text_printf(ret, "%s%zu", word, index);
	return true;
}

/* "cpu7" is a name; "cpu07" and "cpu+7" are not. */
bool hv_cpu_find(struct hv_place *at, const char *word, const char *name)
{
	const char *number = hv_after_prefix(name, word);
	HV_AUTO_TEXT struct hv_text want = {0};
	unsigned long cpu;

	if (!number)
		return false;
	cpu = strtoul(number, NULL, 10);
	if (!hv_cpu_name(at, word, cpu, &want) || strcmp(want.data, name) != 0)
		return false;
	at->cpu = (int)cpu;
	return true;
}

static bool per_cpu_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	return hv_cpu_name(dir, "cpu", index, ret);
}

static bool find_per_cpu(struct hv_place *at, const char *name)
{
	return hv_cpu_find(at, "cpu", name);
}

const struct hv_entries hv_per_cpu_entries = {
	.shown_as = "cpuN",
	.name = per_cpu_name,
	.find = find_per_cpu,
};
