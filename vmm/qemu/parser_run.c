/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser's process: drops its privileges, then answers one request at a time. It queries the
 * monitor and converts the answers to values of fixed size. It ends when the other end of its
 * socket is closed. memory_tree.h and monitor_text.h parse the monitor's texts. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/confine.h"
#include "base/grow.h"
#include "base/prefix.h"
#include "base/text.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/qemu/memory_tree.h"
#include "vmm/qemu/monitor.h"
#include "vmm/qemu/monitor_text.h"
#include "vmm/qemu/parser.h"
#include "vmm/qemu/parser_wire.h"
#include "vmm/qemu/pin.h"

/* 32 MiB of JSON become several hundred MiB of objects. */
#define MEMORY_BYTES (1ull << 30)

/* -- questions to the monitor ------------------------------------------------------------------ */

#define IVSHMEM_VENDOR 0x1af4
#define IVSHMEM_DEVICE 0x1110
#define IVSHMEM_BAR    2

/* WORD may be NULL. */
static void copy_word(char *to, size_t room, const char *word)
{
	snprintf(to, room, "%s", word ? word : "");
}

static struct hv_err *ask_kind(struct hv_monitor *m, struct hv_vmm_kind *ret)
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

static struct hv_err *ask_status(struct hv_monitor *m, struct hv_vmm_status *ret)
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

static struct hv_err *ask_migration(struct hv_monitor *m, struct hv_vmm_migration *ret)
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

/* Returns 0 for a VMM without support for SEV. */
static struct hv_err *ask_sev(struct hv_monitor *m, uint32_t *ret)
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

/* Returns the threads of the vCPUs as reported by the VMM, 0 if not reported. The caller frees
 * *RET. */
static struct hv_err *ask_threads(struct hv_monitor *m, pid_t **ret, unsigned *ret_nr)
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

/* As hv_machine_registers(). */
static struct hv_err *ask_registers(struct hv_monitor *m, const struct hv_arch *arch,
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

static struct hv_err *ask_ivshmem(struct hv_monitor *m, struct hv_vmm_ivshmem *ret)
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
/* Returns a device of the host or another process that accesses guest RAM without the VMM's
 * mappings. */
static struct hv_err *ask_devices(struct hv_monitor *m, enum hv_vmm_device *ret)
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

static struct hv_err *ask_stub(struct hv_monitor *m, struct hv_vmm_stub *ret)
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

/* Starts the gdb stub on the socket PATH; "": stops it. RET is the first line of output. */
static struct hv_err *ask_gdbserver(struct hv_monitor *m, const char *path,
				    char ret[HV_VMM_TEXT_BYTES])
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

static struct hv_err *ask_cont(struct hv_monitor *m)
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

/* Finds an address for the region (memory_tree.h). Fails with ENOSPC if there is no free range. */
static struct hv_err *ask_place(struct hv_monitor *m, unsigned phys_bits, uint64_t floor,
				uint64_t len_bytes, struct hv_gpa *ret)
{
	struct hv_taken_list taken = {0};
	struct hv_err *err = load_taken(m, &taken);

	if (!err && !hv_free_gpa_choose(&taken, phys_bits, floor, len_bytes, ret))
		err = hv_err_new(ENOSPC, "inject: no free guest-physical addresses above the "
					 "guest's RAM for the region");
	hv_taken_deinit(&taken);
	return err;
}

/* -- the layout of RAM ------------------------------------------------------------------------- */

/* The layout of guest RAM as reported by the VMM. process_memory.h checks that the VMM has memory
 * there. */

struct ram_layout {
	struct hv_vmm_range *ranges; /* owned; ascending */
	size_t nr, cap;
	uint32_t can_go; /* part of it belongs to memory devices, which can be unplugged */
};

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

/* Returns the VMM's address of a guest-physical address. Fails with EFAULT if there is no RAM. */
static struct hv_err *find_hva(struct hv_monitor *m, struct hv_gpa gpa, uint64_t *ret_hva)
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
static struct hv_err *add_piece(struct ram_layout *l, const struct hv_tree_piece *p, uint64_t hva)
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
				 struct ram_layout *ret)
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

static void ram_layout_deinit(struct ram_layout *l)
{
	free(l->ranges);
	*l = (struct ram_layout){0};
}

/* Fails with E2BIG if there are more than HV_VMM_RANGES_MAX. */
static struct hv_err *load_ram_layout(struct hv_monitor *m, struct ram_layout *ret)
{
	struct ram_layout found = {0};
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
		ram_layout_deinit(&found);
	else
		*ret = found;
	return err;
}

/* ---- messages ---- */

/* Returns false if the peer is gone. */
static bool send_all(const void *bytes, size_t len)
{
	for (const char *at = bytes; len;) {
		ssize_t nr = send(HV_HELPER_CONTROL, at, len, MSG_NOSIGNAL);

		if (nr < 0 && errno != EINTR)
			return false;
		at += nr > 0 ? nr : 0;
		len -= nr > 0 ? (size_t)nr : 0;
	}
	return true;
}

static bool receive(void *bytes, size_t len)
{
	for (char *at = bytes; len;) {
		ssize_t nr = recv(HV_HELPER_CONTROL, at, len, 0);

		if (nr == 0 || (nr < 0 && errno != EINTR))
			return false;
		at += nr > 0 ? nr : 0;
		len -= nr > 0 ? (size_t)nr : 0;
	}
	return true;
}

static bool send_message(const struct parser_head *head, const void *bytes)
{
	return send_all(head, sizeof(*head)) && send_all(bytes, head->len_bytes);
}

/* The monitor of a libvirt domain. */
static struct hv_err *relay_transact(void *self hv_unused, const char *request, char **ret)
{
	struct parser_head head = {
		.kind = PARSER_RELAY,
		.len_bytes = (uint32_t)strlen(request),
	};
	HV_AUTO_FREE char *text = NULL;

	/* The only text in a command is that of a question, which is shorter than the limit even
	 * when escaped. */
	assert(head.len_bytes <= PARSER_COMMAND_MAX_BYTES);
	if (!send_message(&head, request) || !receive(&head, sizeof(head)))
		_exit(0);
	text = hv_alloc((size_t)head.len_bytes + 1);
	if (!receive(text, head.len_bytes))
		_exit(0);
	text[head.len_bytes] = '\0';
	if (head.code)
		return hv_err_new(head.code, "%s", text);
	*ret = hv_take(text);
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops relay_ops = {.free = free_nothing, .transact = relay_transact};

/* ---- requests ---- */

typedef struct hv_err *(*answer_fn)(struct hv_monitor *m, const uint64_t asked[3], const char *text,
				    uint64_t args[3], struct hv_text *out);

#define ANSWER(name)                                                                               \
	static struct hv_err *name(struct hv_monitor *m hv_unused,                                 \
				   const uint64_t asked[3] hv_unused, const char *text hv_unused,  \
				   uint64_t args[3] hv_unused, struct hv_text *out hv_unused)

ANSWER(answer_hello)
{
	return NULL;
}

ANSWER(answer_kind)
{
	struct hv_vmm_kind kind = {0};
	struct hv_err *err = ask_kind(m, &kind);

	hv_text_add_bytes(out, &kind, sizeof(kind));
	return err;
}

ANSWER(answer_status)
{
	struct hv_vmm_status status = {0};
	struct hv_err *err = ask_status(m, &status);

	hv_text_add_bytes(out, &status, sizeof(status));
	return err;
}

ANSWER(answer_migration)
{
	struct hv_vmm_migration migration = {0};
	struct hv_err *err = ask_migration(m, &migration);

	hv_text_add_bytes(out, &migration, sizeof(migration));
	return err;
}

ANSWER(answer_sev)
{
	uint32_t has_sev = 0;
	struct hv_err *err = ask_sev(m, &has_sev);

	args[0] = has_sev;
	return err;
}

ANSWER(answer_threads)
{
	HV_AUTO_FREE pid_t *tids = NULL;
	unsigned nr = 0;
	struct hv_err *err = ask_threads(m, &tids, &nr);

	if (!err)
		hv_text_add_bytes(out, tids, nr * sizeof(*tids));
	return err;
}

ANSWER(answer_registers)
{
	const struct hv_arch *arch = hv_arch_find(text);
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_err *err = hv_vcpus_check(asked[0]);

	if (!err && !arch)
		err = hv_err_new(ENOTSUP, "the architecture %s is not supported", text);
	if (err)
		return err;
	regs = hv_alloc(asked[0] * sizeof(*regs));
	err = ask_registers(m, arch, regs, asked[0]);
	if (!err)
		hv_text_add_bytes(out, regs, asked[0] * sizeof(*regs));
	return err;
}

ANSWER(answer_ram)
{
	struct ram_layout layout = {0};
	struct hv_err *err = load_ram_layout(m, &layout);

	if (!err && layout.nr)
		hv_text_add_bytes(out, layout.ranges, layout.nr * sizeof(*layout.ranges));
	args[0] = layout.can_go;
	ram_layout_deinit(&layout);
	return err;
}

ANSWER(answer_hva)
{
	return find_hva(m, hv_gpa(asked[0]), &args[0]);
}

ANSWER(answer_ivshmem)
{
	struct hv_vmm_ivshmem ivshmem = {0};
	struct hv_err *err = ask_ivshmem(m, &ivshmem);

	hv_text_add_bytes(out, &ivshmem, sizeof(ivshmem));
	return err;
}

ANSWER(answer_stub)
{
	struct hv_vmm_stub stub = {0};
	struct hv_err *err = ask_stub(m, &stub);

	hv_text_add_bytes(out, &stub, sizeof(stub));
	return err;
}

ANSWER(answer_gdbserver)
{
	char said[HV_VMM_TEXT_BYTES] = "";
	struct hv_err *err = ask_gdbserver(m, text, said);

	hv_text_add(out, said);
	return err;
}

ANSWER(answer_cont)
{
	return ask_cont(m);
}

ANSWER(answer_pin_is_set)
{
	bool is_set = false;
	struct hv_err *err = hv_pin_is_set(m, &is_set);

	args[0] = is_set;
	return err;
}

ANSWER(answer_pin_set)
{
	return hv_pin_set(m, text);
}

ANSWER(answer_pin_clear)
{
	return hv_pin_clear(m);
}

ANSWER(answer_devices)
{
	enum hv_vmm_device device = HV_VMM_NO_DEVICE;
	struct hv_err *err = ask_devices(m, &device);

	args[0] = device;
	return err;
}

ANSWER(answer_free_gpa)
{
	struct hv_gpa gpa = {0};
	struct hv_err *err = ask_place(m, (unsigned)asked[0], asked[1], asked[2], &gpa);

	args[0] = gpa.v;
	return err;
}

static const answer_fn answers[PARSER_NR_KINDS] = {
	[PARSER_HELLO] = answer_hello,
	[PARSER_KIND] = answer_kind,
	[PARSER_STATUS] = answer_status,
	[PARSER_MIGRATION] = answer_migration,
	[PARSER_SEV] = answer_sev,
	[PARSER_THREADS] = answer_threads,
	[PARSER_REGISTERS] = answer_registers,
	[PARSER_RAM] = answer_ram,
	[PARSER_HVA] = answer_hva,
	[PARSER_IVSHMEM] = answer_ivshmem,
	[PARSER_STUB] = answer_stub,
	[PARSER_GDBSERVER] = answer_gdbserver,
	[PARSER_CONT] = answer_cont,
	[PARSER_PIN_IS_SET] = answer_pin_is_set,
	[PARSER_PIN_SET] = answer_pin_set,
	[PARSER_PIN_CLEAR] = answer_pin_clear,
	[PARSER_DEVICES] = answer_devices,
	[PARSER_FREE_GPA] = answer_free_gpa,
};

struct hv_err *parser_answer(struct hv_monitor *m, const struct parser_head *question,
			     const char *bytes, uint64_t args[3], struct hv_text *out)
{
	if (question->kind >= PARSER_NR_KINDS || !answers[question->kind])
		return hv_err_new(EPROTO, "unknown question %u", question->kind);
	return answers[question->kind](m, question->args, bytes, args, out);
}

/* ---- the process ---- */

static bool answer(struct hv_monitor *m, const struct parser_head *question, const char *bytes)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	struct parser_head head = {.kind = PARSER_ANSWER};
	HV_AUTO_ERR struct hv_err *err = parser_answer(m, question, bytes, head.args, &out);

	if (!err) {
		head.len_bytes = (uint32_t)out.len_bytes;
		return send_message(&head, out.data);
	}
	head.code = err->code;
	head.len_bytes = (uint32_t)strnlen(err->message, PARSER_MESSAGE_MAX_BYTES);
	return send_message(&head, err->message);
}

/* Opens the monitor, and reads the greeting of a QMP socket. The first request receives the error.
 */
static struct hv_err *open_monitor(const char *path, struct hv_monitor **ret)
{
	if (path)
		return hv_qmp_open(HV_HELPER_OTHER, path, ret);
	*ret = hv_monitor_new(&relay_ops, NULL);
	return NULL;
}

static void confine(void)
{
	struct hv_confinement confinement = HV_CONFINEMENT_NONE;
	HV_AUTO_ERR struct hv_err *err = NULL;

	confinement.memory_bytes = MEMORY_BYTES;
	err = hv_confine(&confinement);
	if (err)
		_exit(1);
}

_Noreturn void parser_run(const char *path)
{
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	struct parser_head question;
	struct hv_err *lack;

	confine();
	lack = open_monitor(path, &m);
	while (receive(&question, sizeof(question)) &&
	       question.len_bytes <= PARSER_ASKED_MAX_BYTES) {
		char bytes[PARSER_ASKED_MAX_BYTES + 1];

		if (!receive(bytes, question.len_bytes))
			break;
		bytes[question.len_bytes] = '\0';
		if (lack) {
			struct parser_head head = {
				.kind = PARSER_ANSWER,
				.code = lack->code,
				.len_bytes =
					(uint32_t)strnlen(lack->message, PARSER_MESSAGE_MAX_BYTES),
			};

			send_message(&head, lack->message);
			break;
		}
		if (!answer(m, &question, bytes))
			break;
	}
	_exit(0);
}
