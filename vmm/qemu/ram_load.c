/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/ram_load.h"

/* Finds the RAM that the VMM reports in the VMM's mappings. */
static struct hv_err *load(struct hv_parser *p, struct hv_ram *found)
{
	HV_AUTO_FREE struct hv_vmm_range *ranges = hv_alloc(HV_VMM_RANGES_MAX * sizeof(*ranges));
	size_t nr = 0;
	struct hv_err *err = hv_parser_ram(p, ranges, &nr, &found->can_go);

	if (!err)
		err = hv_process_memory_look_again(found->process);
	for (size_t i = 0; !err && i < nr; i++)
		err = hv_ram_add(found, ranges[i].start, ranges[i].len_bytes, ranges[i].hva);
	if (!err && !found->nr_ranges)
		err = hv_err_new(EFAULT, "the machine has no RAM that can be read");
	return err;
}

struct hv_err *hv_ram_load(struct hv_parser *p, struct hv_process_memory *process,
			   struct hv_ram *ram)
{
	struct hv_ram found = {.process = process};
	struct hv_err *err = load(p, &found);

	hv_process_memory_end_look(process);
	if (err) {
		hv_ram_deinit(&found);
		return err;
	}
	hv_ram_deinit(ram);
	*ram = found;
	hv_process_memory_drop_unused(process);
	return NULL;
}
