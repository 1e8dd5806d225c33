/* per_cpu: a directory for each vCPU. */
#include <stdlib.h>
#include <string.h>

#include "tracer/node.h"

bool hv_cpu_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	if (index >= dir->tree->nr_cpus)
		return false;
	hv_text_printf(ret, "cpu%zu", index);
	return true;
}

/* "cpu7", and not "cpu07" or "cpu+7". */
bool hv_cpu_find(struct hv_place *at, const char *name)
{
	HV_AUTO_TEXT struct hv_text want = {0};
	unsigned long cpu;

	if (strncmp(name, "cpu", 3) != 0)
		return false;
	cpu = strtoul(name + 3, NULL, 10);
	if (!hv_cpu_name(at, cpu, &want) || strcmp(want.data, name) != 0)
		return false;
	at->cpu = (int)cpu;
	return true;
}
