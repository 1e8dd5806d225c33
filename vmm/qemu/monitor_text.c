/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/monitor_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/guard.h"
#include "base/prefix.h"

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
	const char *end = line_end(line);

	return *end ? end + 1 : end;
}

/* "Host virtual address for 0x100000000 (m1) is 0x7f3dabc00000" */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva, char **ret_name)
{
	static const char head[] = "Host virtual address for ";
	const char *at = strstr(text, head);
	const char *name = at ? strstr(at, " (") : NULL;
	const char *is = name ? strstr(name, ") is 0x") : NULL;
	uint64_t hva;

	if (!is || sscanf(is, ") is 0x%" SCNx64, &hva) != 1 || !hva)
		return false;
	*ret_hva = hva;
	*ret_name = strndup(name + 2, (size_t)(is - name - 2));
	if (!*ret_name)
		abort();
	return true;
}

/* "gpa: 0x41200000", or "Unmapped" */
bool hv_gva2gpa_parse(const char *text, struct hv_gpa *ret)
{
	uint64_t gpa;

	if (sscanf(text, "gpa: 0x%" SCNx64, &gpa) != 1)
		return false;
	*ret = hv_gpa(gpa);
	return true;
}

/* Returns the heading of the next vCPU from LINE on, or the end of the text. */
static const char *next_vcpu(const char *line)
{
	while (*line && !hv_starts_with(line, "CPU#"))
		line = next_line(line);
	return line;
}

bool hv_vcpu_text_next(const char **at, char **ret)
{
	const char *line = next_vcpu(*at), *start, *end;
	size_t len;

	if (!*line)
		return false;
	start = next_line(line);
	end = next_vcpu(start);
	len = (size_t)(end - start);
	*ret = strndup(start, len < HV_VCPU_TEXT_MAX_BYTES ? len : HV_VCPU_TEXT_MAX_BYTES);
	if (!*ret)
		abort();
	*at = end;
	return true;
}

/* -- PCI devices ------------------------------------------------------------------------------- */

#define DEPTH_MAX 32 /* nested bridges */

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *m = NULL;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &m)
		       ? m
		       : NULL;
}

static void add_bar(struct json_object *device, struct json_object *region, struct hv_pci_bars *ret)
{
	struct json_object *id = member(device, "id");
	const char *type = hv_json_string(region, "type");
	struct hv_pci_bar bar = {
		.vendor = (unsigned)hv_json_int(id, "vendor", 0),
		.device = (unsigned)hv_json_int(id, "device", 0),
		.bar = (unsigned)hv_json_int(region, "bar", 0),
		.is_memory = type && !strcmp(type, "memory"),
		.start = hv_gpa((uint64_t)hv_json_int(region, "address", -1)),
		.len_bytes = (uint64_t)hv_json_int(region, "size", 0),
	};

	snprintf(bar.where, sizeof(bar.where), "%u:%u.%u",
		 (unsigned)hv_json_int(device, "bus", 0) & 0xff,
		 (unsigned)hv_json_int(device, "slot", 0) & 0xff,
		 (unsigned)hv_json_int(device, "function", 0) & 0xff);
	ret->too_many = ret->too_many || ret->nr_bars == HV_PCI_BARS_MAX;
	if (ret->too_many)
		return;
	ret->bars = hv_grow(ret->bars, ret->nr_bars, &ret->cap_bars, 16, sizeof(*ret->bars));
	ret->bars[ret->nr_bars++] = bar;
}

static void add_devices(struct json_object *devices, unsigned depth, struct hv_pci_bars *ret)
{
	if (depth >= DEPTH_MAX)
		return;
	for (size_t i = 0; i < hv_json_len(devices); i++) {
		struct json_object *device = json_object_array_get_idx(devices, i);
		struct json_object *regions = member(device, "regions");

		for (size_t k = 0; k < hv_json_len(regions); k++)
			add_bar(device, json_object_array_get_idx(regions, k), ret);
		add_devices(member(member(device, "pci_bridge"), "devices"), depth + 1, ret);
	}
}

void hv_pci_bars_parse(struct json_object *query_pci, struct hv_pci_bars *ret)
{
	*ret = (struct hv_pci_bars){.has_bus = hv_json_len(query_pci) != 0};
	for (size_t i = 0; i < hv_json_len(query_pci); i++)
		add_devices(member(json_object_array_get_idx(query_pci, i), "devices"), 0, ret);
}

struct hv_err *hv_pci_bars_load(struct hv_monitor *m, struct hv_pci_bars *ret)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-pci", NULL, &answer);

	if (err && err->code == ENOTSUP) { /* this VMM was built without PCI */
		hv_err_free(err);
		*ret = (struct hv_pci_bars){0};
		return NULL;
	}
	if (err)
		return err;
	hv_pci_bars_parse(answer, ret);
	if (!ret->too_many)
		return NULL;
	hv_pci_bars_deinit(ret);
	return hv_err_new(EPROTO, "monitor: query-pci: more than %u BARs", HV_PCI_BARS_MAX);
}

void hv_pci_bars_deinit(struct hv_pci_bars *b)
{
	free(b->bars);
	*b = (struct hv_pci_bars){0};
}
