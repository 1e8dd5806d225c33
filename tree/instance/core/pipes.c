/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/pipes.h"

void hv_pipes_init(struct hv_pipes *pipes, unsigned nr_cpus)
{
	*pipes = (struct hv_pipes){.nr_cpus = nr_cpus, .of_cpu = hv_alloc(nr_cpus)};
}

void hv_pipes_deinit(struct hv_pipes *pipes)
{
	free(pipes->of_cpu);
}

struct hv_err *hv_pipes_take(struct hv_pipes *pipes, int cpu)
{
	if (pipes->all || (cpu < 0 ? pipes->nr > 0 : pipes->of_cpu[cpu]))
		return hv_err_new(EBUSY, "another reader has it open");
	if (cpu < 0)
		pipes->all = 1;
	else
		pipes->of_cpu[cpu] = 1;
	pipes->nr++;
	return NULL;
}

void hv_pipes_give_back(struct hv_pipes *pipes, int cpu)
{
	if (cpu < 0)
		pipes->all = 0;
	else
		pipes->of_cpu[cpu] = 0;
	pipes->nr--;
}
