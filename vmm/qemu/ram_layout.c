/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/ram_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "vmm/qemu/memory_tree.h"
#include "vmm/qemu/monitor_text.h"

static struct hv_err *gpa2hva(struct hv_monitor *m, struct hv_gpa gpa, uint64_t *ret_hva,
			      char **ret_name)
{
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err;
	char line[40];

	snprintf(line, sizeof(line), "gpa2hva 0x%" PRIx64, gpa.v);
	err = hv_monitor_hmp(m, line, &text);
	if (err)
		return err;
	if (!hv_gpa2hva_parse(text, ret_hva, ret_name))
		return hv_err_new(EFAULT, "monitor: '%s': %.*s", line, (int)strcspn(text, "\r\n"),
				  text);
	return NULL;
}

struct hv_err *hv_gpa2hva(struct hv_monitor *m, struct hv_gpa gpa, uint64_t *ret_hva)
{
	HV_AUTO_FREE char *name = NULL;

	return gpa2hva(m, gpa, ret_hva, &name);
}

/* Removes BARs from the tree: those with a memory object (ivshmem) look like RAM. */
static struct hv_err *load_tree(struct hv_monitor *m, struct hv_memory_tree *ret)
{
	HV_AUTO_FREE char *text = NULL;
	struct hv_pci_bars bars = {0};
	struct hv_err *err = hv_monitor_hmp(m, "info mtree -o", &text);

	if (err)
		return err;
	err = hv_pci_bars_load(m, &bars);
	if (err)
		return err;
	if (!hv_memory_tree_parse(text, ret)) {
		hv_pci_bars_deinit(&bars);
		return hv_err_new(EPROTO, "monitor: 'info mtree -o': no address space \"memory\", "
					  "or one of too many regions");
	}
	for (size_t i = 0; i < bars.nr_bars; i++)
		if (hv_pci_bar_is_on(&bars.bars[i]))
			hv_memory_tree_cut(ret, bars.bars[i].start, bars.bars[i].len_bytes);
	hv_pci_bars_deinit(&bars);
	return NULL;
}

/* Whether P is RAM. Another region may hide the RAM there, or it may have been removed. */
static struct hv_err *is_ram(struct hv_monitor *m, const struct hv_memory_tree *tree,
			     const struct hv_tree_piece *p, bool *ret, uint64_t *ret_hva)
{
	HV_AUTO_FREE char *name = NULL;
	struct hv_err *err = gpa2hva(m, p->start, ret_hva, &name);

	if (err && err->code != EFAULT)
		return err;
	*ret = !err && hv_memory_tree_has(tree, name);
	hv_err_free(err);
	return NULL;
}

/* Merges pieces that are adjacent both in the guest and in the VMM. */
static struct hv_err *add_piece(struct hv_ram_layout *l, const struct hv_tree_piece *p,
				uint64_t hva)
{
	struct hv_vmm_range *last = l->nr ? &l->ranges[l->nr - 1] : NULL;

	if (last && p->start.v - last->start.v == last->len_bytes &&
	    hva - last->hva == last->len_bytes) {
		last->len_bytes += p->len_bytes;
		return NULL;
	}
	if (l->nr == HV_VMM_RANGES_MAX)
		return hv_err_new(E2BIG, "the guest's RAM is in more than %u pieces",
				  HV_VMM_RANGES_MAX);
	l->ranges = hv_grow(l->ranges, l->nr, &l->cap, 16, sizeof(*l->ranges));
	l->ranges[l->nr++] = (struct hv_vmm_range){p->start, p->len_bytes, hva};
	return NULL;
}

static struct hv_err *add_ranges(struct hv_monitor *m, const struct hv_memory_tree *tree,
				 struct hv_ram_layout *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < tree->nr_pieces; i++) {
		const struct hv_tree_piece *p = &tree->pieces[i];
		bool has_ram = false;
		uint64_t hva = 0;

		err = is_ram(m, tree, p, &has_ram, &hva);
		if (!err && has_ram)
			err = add_piece(ret, p, hva);
	}
	return err;
}

/* Memory devices are DIMMs, NVDIMMs, virtio-mem and similar devices. */
static struct hv_err *has_memory_devices(struct hv_monitor *m, uint32_t *ret)
{
	HV_AUTO_JSON struct json_object *devices = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-memory-devices", NULL, &devices);

	if (err && err->code == ENOTSUP) { /* this VMM does not support memory devices */
		hv_err_free(err);
		*ret = 0;
		return NULL;
	}
	if (!err)
		*ret = hv_json_len(devices) != 0;
	return err;
}

struct hv_err *hv_ram_layout_load(struct hv_monitor *m, struct hv_ram_layout *ret)
{
	struct hv_ram_layout found = {0};
	struct hv_memory_tree tree = {0};
	struct hv_err *err = load_tree(m, &tree);

	/* List the devices after the tree: if one is removed in between, gpa2hva finds nothing for
	 * it. */
	if (!err)
		err = has_memory_devices(m, &found.can_go);
	if (!err)
		err = add_ranges(m, &tree, &found);
	hv_memory_tree_deinit(&tree);
	if (err)
		hv_ram_layout_deinit(&found);
	else
		*ret = found;
	return err;
}

void hv_ram_layout_deinit(struct hv_ram_layout *l)
{
	free(l->ranges);
	*l = (struct hv_ram_layout){0};
}
