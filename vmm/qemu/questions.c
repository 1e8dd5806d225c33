/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/questions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/prefix.h"
#include "base/text.h"
#include "vmm/guest.h"
#include "vmm/qemu/memory_tree.h"
#include "vmm/qemu/monitor_text.h"

#define IVSHMEM_VENDOR 0x1af4
#define IVSHMEM_DEVICE 0x1110
#define IVSHMEM_BAR    2

/* WORD may be NULL. */
static void copy_word(char *to, size_t room, const char *word)
{
	snprintf(to, room, "%s", word ? word : "");
}

struct hv_err *hv_ask_kind(struct hv_monitor *m, struct hv_vmm_kind *ret)
{
	HV_AUTO_JSON struct json_object *target = NULL;
	HV_AUTO_JSON struct json_object *kvm = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-target", NULL, &target);

	if (!err)
		err = hv_monitor_execute(m, "query-kvm", NULL, &kvm);
	if (err)
		return err;
	ret->has_kvm = hv_json_true(kvm, "enabled");
	copy_word(ret->arch, sizeof(ret->arch), hv_json_string(target, "arch"));
	return NULL;
}

struct hv_err *hv_ask_status(struct hv_monitor *m, struct hv_vmm_status *ret)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-status", NULL, &answer);
	const char *status;

	if (err)
		return err;
	status = hv_json_string(answer, "status");
	*ret = (struct hv_vmm_status){
		.is_running = hv_json_true(answer, "running"),
		.is_suspended = status && !strcmp(status, "suspended"),
		.is_paused = status && !strcmp(status, "paused"),
	};
	copy_word(ret->word, sizeof(ret->word), status);
	return NULL;
}

struct hv_err *hv_ask_migration(struct hv_monitor *m, struct hv_vmm_migration *ret)
{
	static const char *const at_rest[] = {"none", "completed", "failed", "cancelled"};
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-migrate", NULL, &answer);
	const char *status;

	if (err)
		return err;
	status = hv_json_string(answer, "status");
	ret->is_under_way = status != NULL;
	for (size_t i = 0; status && i < HV_ARRAY_LEN(at_rest); i++)
		if (!strcmp(status, at_rest[i]))
			ret->is_under_way = 0;
	copy_word(ret->word, sizeof(ret->word), status);
	return NULL;
}

struct hv_err *hv_ask_sev(struct hv_monitor *m, uint32_t *ret)
{
	HV_AUTO_JSON struct json_object *sev = NULL;
	HV_AUTO_ERR struct hv_err *unknown = hv_monitor_execute(m, "query-sev", NULL, &sev);

	*ret = !unknown && hv_json_true(sev, "enabled");
	return NULL;
}

static pid_t thread_of(struct json_object *cpu)
{
	int64_t tid = hv_json_int(cpu, "thread-id", 0);

	return tid > 0 && tid <= INT32_MAX ? (pid_t)tid : 0;
}

struct hv_err *hv_ask_threads(struct hv_monitor *m, pid_t **ret, unsigned *ret_nr)
{
	HV_AUTO_JSON struct json_object *cpus = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-cpus-fast", NULL, &cpus);
	size_t nr = hv_json_len(cpus);

	if (!err)
		err = hv_err_in(hv_vcpus_check(nr), "monitor: query-cpus-fast");
	if (err)
		return err;
	*ret = hv_alloc(nr * sizeof(**ret));
	for (size_t i = 0; i < nr; i++)
		(*ret)[i] = thread_of(json_object_array_get_idx(cpus, i));
	*ret_nr = (unsigned)nr;
	return NULL;
}

/* ---- registers ---- */

/* Translates the ip of a vCPU in the kernel, until one translation succeeds. A vCPU that has
 * entered user mode since then may have nothing mapped there. */
static struct hv_err *find_ip_of(struct hv_monitor *m, const struct hv_arch *arch,
				 struct hv_vcpu_regs *regs, unsigned nr, bool is_hypervisor,
				 bool *ret_found)
{
	bool found = false;
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && !found && i < nr; i++) {
		HV_AUTO_FREE char *line = NULL;
		HV_AUTO_FREE char *text = NULL;

		if (regs[i].is_hypervisor != is_hypervisor ||
		    regs[i].ip.v < arch->kernel_start(arch->format_levels).v)
			continue;
		line = hv_format("gva2gpa 0x%" PRIx64, regs[i].ip.v);
		err = hv_monitor_hmp_on(m, i, line, &text);
		found = !err && hv_gva2gpa_parse(text, &regs[i].ip_gpa);
	}
	*ret_found = found;
	return err;
}

/* Tries hypervisors first: a vCPU without their privileges may execute a nested guest. */
static struct hv_err *find_ip(struct hv_monitor *m, const struct hv_arch *arch,
			      struct hv_vcpu_regs *regs, unsigned nr)
{
	bool found;
	struct hv_err *err = find_ip_of(m, arch, regs, nr, true, &found);

	return err || found ? err : find_ip_of(m, arch, regs, nr, false, &found);
}

/* RET has room for NR. *RET_FOUND is the number of vCPUs in TEXT. */
static struct hv_err *parse_registers(const struct hv_arch *arch, const char *text,
				      struct hv_vcpu_regs *ret, size_t nr, unsigned *ret_found)
{
	struct hv_err *err = NULL;
	char *part = NULL;
	unsigned found = 0;

	for (; hv_vcpu_text_next(&text, &part); found++) {
		if (!err && found < nr && !arch->parse_registers(part, &ret[found]))
			err = hv_err_new(EPROTO,
					 "monitor: 'info registers -a': vCPU %u is not understood",
					 found);
		free(hv_take(part));
	}
	*ret_found = found;
	return err;
}

struct hv_err *hv_ask_registers(struct hv_monitor *m, const struct hv_arch *arch,
				struct hv_vcpu_regs *ret, size_t nr)
{
	HV_AUTO_FREE char *text = NULL;
	unsigned found = 0;
	struct hv_err *err = hv_monitor_hmp(m, "info registers -a", &text);

	if (!err)
		err = parse_registers(arch, text, ret, nr, &found);
	if (!err)
		err = hv_vcpus_check_room(found, nr);
	return err || !arch->formats ? err : find_ip(m, arch, ret, (unsigned)nr);
}

/* ---- devices ---- */

struct hv_err *hv_ask_ivshmem(struct hv_monitor *m, struct hv_vmm_ivshmem *ret)
{
	struct hv_pci_bars bars = {0};
	struct hv_err *err = hv_pci_bars_load(m, &bars);
	struct hv_vmm_ivshmem found = {.has_bus = bars.has_bus};

	for (size_t i = 0; i < bars.nr_bars; i++) {
		const struct hv_pci_bar *b = &bars.bars[i];

		if (b->vendor != IVSHMEM_VENDOR || b->device != IVSHMEM_DEVICE ||
		    b->bar != IVSHMEM_BAR || !b->is_memory)
			continue;
		found.nr++;
		found.is_on = hv_pci_bar_is_on(b);
		found.start = b->start;
		found.len_bytes = b->len_bytes;
		copy_word(found.where, sizeof(found.where), b->where);
	}
	hv_pci_bars_deinit(&bars);
	if (!err)
		*ret = found;
	return err;
}

/* The human monitor lists all devices, including hot-plugged ones. VFIO and vDPA pin every page of
 * RAM for DMA, and a vhost-user backend maps the RAM's files itself. */
struct hv_err *hv_ask_devices(struct hv_monitor *m, enum hv_vmm_device *ret)
{
	static const struct {
		const char *line;
		const char *word;
		enum hv_vmm_device device;
	} known[] = {{"info qtree", "dev: vfio-", HV_VMM_VFIO},
		     {"info qtree", "dev: vhost-user-", HV_VMM_VHOST_USER},
		     {"info qtree", "dev: vhost-vdpa-", HV_VMM_VDPA},
		     {"info network", "type=vhost-user", HV_VMM_VHOST_USER},
		     {"info network", "type=vhost-vdpa", HV_VMM_VDPA}};
	enum hv_vmm_device found = HV_VMM_NO_DEVICE;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && !found && i < HV_ARRAY_LEN(known); i++) {
		HV_AUTO_FREE char *text = NULL;

		err = hv_monitor_hmp(m, known[i].line, &text);
		if (!err && strstr(text, known[i].word))
			found = known[i].device;
	}
	*ret = found;
	return err;
}

/* ---- the gdb stub ---- */

/* "unix:PATH,server=on", "disconnected:unix:PATH,server=on" */
static enum hv_vmm_stub_state stub_state(const char *filename)
{
	const char *path = strstr(filename, "unix:");
	const char *end = path ? strstr(path, ",server") : NULL;
	size_t len = path ? (size_t)((end ? end : path + strlen(path)) - path) : 0;
	size_t tail = strlen("/" HV_STUB_SOCKET);

	if (len < tail || strncmp(path + len - tail, "/" HV_STUB_SOCKET, tail) != 0)
		return HV_STUB_ANOTHER;
	return hv_starts_with(filename, "disconnected:") ? HV_STUB_OURS : HV_STUB_IN_USE;
}

struct hv_err *hv_ask_stub(struct hv_monitor *m, struct hv_vmm_stub *ret)
{
	HV_AUTO_JSON struct json_object *devices = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-chardev", NULL, &devices);

	*ret = (struct hv_vmm_stub){0};
	for (size_t i = 0; !err && i < hv_json_len(devices); i++) {
		struct json_object *device = json_object_array_get_idx(devices, i);
		const char *label = hv_json_string(device, "label");
		const char *filename = hv_json_string(device, "filename");

		if (!label || strcmp(label, "gdb") || !filename)
			continue;
		ret->state = stub_state(filename);
		copy_word(ret->where, sizeof(ret->where), filename);
		if (ret->state == HV_STUB_ANOTHER)
			break;
	}
	return err;
}

/* Appends PATH to a quoted word of an HMP line (monitor/hmp.c get_str). A comma in an option's
 * value is doubled (util/qemu-option.c). */
static void add_hmp_path(struct hv_text *line, const char *path)
{
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			hv_text_add(line, "\\");
		if (*path == ',')
			hv_text_add(line, ",");
		hv_text_add_bytes(line, path, 1);
	}
}

struct hv_err *hv_ask_gdbserver(struct hv_monitor *m, const char *path, char ret[HV_VMM_TEXT_BYTES])
{
	HV_AUTO_TEXT struct hv_text line = {0};
	HV_AUTO_FREE char *said = NULL;
	struct hv_err *err;

	if (*path) {
		hv_text_add(&line, "gdbserver \"unix:");
		add_hmp_path(&line, path);
		hv_text_add(&line, ",server=on,wait=off\"");
	} else {
		hv_text_add(&line, "gdbserver none");
	}
	err = hv_monitor_hmp(m, line.data, &said);
	if (!err)
		snprintf(ret, HV_VMM_TEXT_BYTES, "%.*s", (int)strcspn(said, "\r\n"), said);
	return err;
}

struct hv_err *hv_ask_cont(struct hv_monitor *m)
{
	HV_AUTO_JSON struct json_object *done = NULL;

	return hv_monitor_execute(m, "cont", NULL, &done);
}

/* ---- the region's address ---- */

/* Adds the PCI window that the firmware reports to the guest. QEMU exposes it as properties. */
static void add_pci_window(struct hv_monitor *m, const char *bridge, struct hv_taken_list *t)
{
	static const char *const names[] = {"pci-hole64-start", "pci-hole64-end"};
	uint64_t ends[2] = {0};

	for (unsigned i = 0; i < 2; i++) {
		HV_AUTO_JSON struct json_object *answer = NULL;
		struct json_object *args = json_object_new_object();
		struct hv_err *err;

		json_object_object_add(args, "path", json_object_new_string(bridge));
		json_object_object_add(args, "property", json_object_new_string(names[i]));
		err = hv_monitor_execute(m, "qom-get", args, &answer);
		if (!err)
			ends[i] = json_object_get_uint64(answer);
		hv_err_free(err);
	}
	if (ends[0] && ends[1] > ends[0])
		hv_taken_add(t, ends[0], ends[1]);
}

static struct hv_err *load_taken(struct hv_monitor *m, struct hv_taken_list *t)
{
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err = hv_monitor_hmp(m, "info mtree", &text);

	if (err)
		return err;
	if (!hv_taken_parse(t, text) || !t->nr)
		return hv_err_new(EPROTO, "monitor: 'info mtree': %s ranges",
				  t->nr ? "too many" : "no");
	add_pci_window(m, "/machine/q35", t);
	add_pci_window(m, "/machine/i440fx", t);
	return NULL;
}

struct hv_err *hv_ask_place(struct hv_monitor *m, unsigned phys_bits, uint64_t floor,
			    uint64_t len_bytes, struct hv_gpa *ret)
{
	struct hv_taken_list taken = {0};
	struct hv_err *err = load_taken(m, &taken);

	if (!err && !hv_place_choose(&taken, phys_bits, floor, len_bytes, ret))
		err = hv_err_new(ENOSPC, "inject: no free guest-physical addresses above the "
					 "guest's RAM for the region");
	hv_taken_deinit(&taken);
	return err;
}
