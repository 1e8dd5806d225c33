/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens QEMU guests and implements the access to them: through the monitor, or by injection. */
#include "vmm/qemu/machine.h"

#include <inttypes.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "base/text.h"
#include "vmm/qemu/libvirt.h"
#include "vmm/qemu/memory_tree.h"
#include "vmm/qemu/options.h"
#include "vmm/qemu/pin.h"
#include "vmm/root_path.h"
#include "vmm/tsc.h"

/* -- opening ----------------------------------------------------------------------------------- */

static struct hv_machine *machine_new(struct hv_parser *monitor, const char *kind)
{
	struct hv_machine *m = hv_alloc(sizeof(*m));

	m->monitor = monitor;
	m->monitor_kind = hv_strdup(kind);
	m->pidfd = -1;
	m->qmp_dir_fd = -1;
	m->region.fd = -1;
	return m;
}

void hv_machine_free(struct hv_machine *m)
{
	if (!m)
		return;
	hv_machine_drop_hold(m);
	hv_ram_deinit(&m->ram);
	hv_process_memory_free(m->memory);
	hv_process_close(&m->process);
	hv_parser_free(m->monitor);
	hv_close_at(&m->pidfd);
	free(m->held_regs);
	free(m->name);
	free(m->id);
	free(m->monitor_kind);
	free(m->qmp_dir);
	free(m->vmm_dir);
	hv_close_at(&m->qmp_dir_fd);
	free(m->private_dir);
	free(m);
}

static struct hv_err *has_ended(const struct hv_machine *m)
{
	struct pollfd p = {.fd = m->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 0 ? NULL
				   : hv_err_new(EHOSTDOWN, "the VMM, process %d, has ended",
						(int)m->process.pid);
}

/* Opens process PID. Fails if the process of m->pidfd has ended, because PID may then belong to
 * another process. */
static struct hv_err *open_process(struct hv_machine *m, pid_t pid)
{
	struct hv_err *err = hv_process_open(pid, &m->process);

	m->memory = hv_process_memory_new(pid, m->pidfd);
	return err ? err : has_ended(m);
}

static struct hv_err *find_kind(struct hv_machine *m)
{
	struct hv_vmm_kind kind = {0};
	struct hv_err *err = hv_parser_kind(m->monitor, &kind);

	if (err)
		return err;
	m->accel = kind.has_kvm ? HV_ACCEL_KVM : HV_ACCEL_TCG;
	m->arch = hv_arch_find(kind.arch);
	if (!m->arch)
		return hv_err_new(ENOTSUP, "the guest's architecture %s is not supported",
				  kind.arch[0] ? kind.arch : "(unknown)");
	return NULL;
}

/* Opens the VMM's process according to the host, not to the monitor. Takes M and PIDFD. */
static struct hv_err *finish_open(struct hv_machine *m, pid_t pid, int pidfd,
				  struct hv_machine **ret)
{
	struct hv_err *err;

	m->pidfd = pidfd;
	err = open_process(m, pid);
	if (!err)
		err = hv_machine_find_vcpus(m);
	if (!err)
		err = find_kind(m);
	if (!err && hv_process_arg(&m->process, "-incoming", 0, NULL))
		err = hv_machine_is_running(m);
	if (!err)
		err = hv_machine_load_ram(m);
	if (!err)
		err = has_ended(m);
	if (err) {
		hv_machine_free(m);
		return err;
	}
	if (!m->id)
		m->id = hv_format("pid-%d", (int)m->process.pid);
	*ret = m;
	return NULL;
}

/* Finds the directory of the QMP socket PATH. If it is in another mount namespace, keeps it open,
 * so that the VMM cannot redirect the path. */
static struct hv_err *find_dir(struct hv_machine *m, const char *path)
{
	HV_AUTO_FREE char *copy = hv_strdup(path);
	const char *dir = dirname(copy);
	const char *rest = hv_root_path_rest(dir, NULL);
	struct hv_err *err = rest ? hv_root_path_open(dir, &m->qmp_dir_fd) : NULL;

	if (err)
		return err;
	m->qmp_dir = rest ? hv_format("/proc/self/fd/%d", m->qmp_dir_fd) : hv_strdup(dir);
	m->vmm_dir = rest ? hv_strdup(rest) : NULL;
	return NULL;
}

/* NAME is the user's name for the guest. EXPECTED is the process that must have created the socket;
 * 0: any process. */
static struct hv_err *open_qmp(const char *name, const char *path, pid_t expected,
			       struct hv_machine **ret)
{
	struct hv_unix_peer peer = HV_UNIX_PEER_NONE;
	struct hv_parser *monitor = NULL;
	struct hv_machine *m;
	struct hv_err *err = hv_parser_qmp(path, expected, &monitor, &peer);

	if (err)
		return err;
	m = machine_new(monitor, "qmp");
	m->name = hv_strdup(name);
	err = find_dir(m, path);
	if (err) {
		hv_close_at(&peer.pidfd);
		hv_machine_free(m);
		return err;
	}
	return finish_open(m, peer.pid, peer.pidfd, ret);
}

struct hv_err *hv_machine_open_qmp(const char *path, struct hv_machine **ret)
{
	HV_AUTO_FREE char *name = hv_format("qmp:%s", path);
	pid_t expected = 0;

	hv_root_path_rest(path, &expected);
	return open_qmp(name, path, expected, ret);
}

static struct hv_err *open_libvirt(const char *spec, const char *uri, pid_t expected,
				   struct hv_machine **ret)
{
	struct hv_libvirt_domain d = {.pidfd = -1};
	struct hv_machine *m;
	struct hv_err *err = hv_libvirt_open(spec, uri, &d);

	if (err)
		return err;
	m = machine_new(hv_parser_relay(hv_take(d.monitor)), "libvirt");
	m->name = hv_take(d.name);
	m->id = hv_take(d.uuid);
	m->private_dir = hv_take(d.state.private_dir);
	if (!expected || expected == d.state.pid)
		return finish_open(m, d.state.pid, d.pidfd, ret);
	err = hv_err_new(ESRCH, "libvirt: the domain belongs to process %d", (int)d.state.pid);
	close(d.pidfd);
	hv_machine_free(m);
	return err;
}

struct hv_err *hv_machine_open_libvirt(const char *spec, const char *uri, struct hv_machine **ret)
{
	return open_libvirt(spec, uri, 0, ret);
}

/* Converts PATH, as process PID sees it, to a path for this process. Takes PATH; the caller frees
 * the result. */
static char *socket_from_here(pid_t pid, char *path)
{
	HV_AUTO_FREE char *given = path;
	HV_AUTO_FREE char *cwd = hv_format("/proc/%d/cwd/", (int)pid);
	bool is_elsewhere = hv_root_is_elsewhere(pid);
	bool is_here;

	if (hv_starts_with(path, cwd))
		is_here = !is_elsewhere;
	else /* the VMM must not name another process's root */
		is_here = !hv_starts_with(path, "/proc/") &&
			  (!is_elsewhere || hv_root_path_is_same(pid, path));
	return is_here ? hv_take(given) : hv_root_path_of(pid, path);
}

/* Takes ERR, the error of this host's libvirt, or NULL. */
static struct hv_err *no_monitor(pid_t pid, const char *name, struct hv_err *err)
{
	if (hv_root_is_elsewhere(pid)) {
		hv_err_free(err);
		return hv_err_new(
			ENOTCONN,
			"process %d is in another mount namespace and has no QMP socket with a "
			"path there; hvtrace does not use a libvirt, a TCP port or an abstract "
			"socket of another namespace: start QEMU with -qmp unix:PATH,server=on,"
			"wait=off (a path in its namespace)",
			(int)pid);
	}
	if (err)
		return hv_err_in(err, "domain '%s'", name);
	return hv_err_new(
		ENOTCONN,
		"process %d: no monitor found: it is not a libvirt domain and has neither -qmp "
		"unix:PATH nor -mon mode=control with -chardev socket,path=PATH",
		(int)pid);
}

/* Tries libvirt first, because it uses the monitor of its domains. A process can write anything to
 * its arguments, so the domain or the socket must belong to it. */
struct hv_err *hv_machine_open_pid(pid_t pid, const char *uri, struct hv_machine **ret)
{
	struct hv_process p = {0};
	HV_AUTO_FREE char *name = NULL;
	HV_AUTO_FREE char *path = NULL;
	HV_AUTO_FREE char *own_name = hv_format("pid:%d", (int)pid);
	const char *value = "", *uuid = NULL;
	struct hv_err *err = hv_process_open(pid, &p);

	if (err)
		return err;
	if (hv_process_arg(&p, "-name", 0, &value))
		name = hv_option_value(value, "guest", "guest");
	hv_process_arg(&p, "-uuid", 0, &uuid);
	if (name && uuid) {
		err = open_libvirt(uuid, uri, pid, ret);
		if (!err) {
			hv_process_close(&p);
			return NULL;
		}
	}
	path = hv_process_qmp_path(&p);
	hv_process_close(&p);
	if (path) {
		hv_err_free(err);
		path = socket_from_here(pid, path);
		return open_qmp(own_name, path, pid, ret);
	}
	return no_monitor(pid, name, err);
}

/* -- access through the monitor ---------------------------------------------------------------- */

static void machine_free(void *self)
{
	hv_machine_free(self);
}

static struct hv_err *machine_ram_files(void *self, struct hv_ram_file *ret, size_t max,
					size_t *ret_nr)
{
	const struct hv_machine *m = self;

	*ret_nr = hv_ram_files(&m->ram, HV_RAM_BY_FILES, ret, max);
	return NULL;
}

static struct hv_err *machine_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	return hv_machine_read(self, gpa, buf, len);
}

static struct hv_err *machine_vcpu_threads(void *self, pid_t *ret, size_t max, size_t *ret_nr)
{
	return hv_machine_first_threads(self, ret, max, ret_nr);
}

static struct hv_err *machine_count_vcpus(void *self, unsigned *ret)
{
	return hv_machine_count_vcpus(self, ret);
}

static struct hv_err *machine_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	return hv_machine_registers(self, ret, nr);
}

static struct hv_err *machine_region(void *self, struct hv_region *ret)
{
	return hv_machine_region(self, ret);
}

static struct hv_err *machine_refusal(void *self)
{
	return hv_machine_refusal(self);
}

static struct hv_err *machine_let_run(void *self, bool *ret_was_stopped)
{
	return hv_machine_let_run(self, ret_was_stopped);
}

static struct hv_err *machine_tsc(void *self, unsigned vcpu, struct hv_tsc *ret)
{
	const struct hv_machine *m = self;

	if (m->accel != HV_ACCEL_KVM)
		return hv_err_new(ENOTSUP, "%s: the offset of its clock can be read only under KVM",
				  m->name);
	return hv_kvm_tsc(HV_KVM_DEBUGFS, m->process.pid, vcpu, ret);
}

static struct hv_err *machine_sleeps(void *self, bool *ret)
{
	return hv_machine_sleeps(self, ret);
}

static int machine_exit_fd(void *self)
{
	return ((struct hv_machine *)self)->pidfd;
}

static struct hv_err *machine_prepare_hold(void *self)
{
	return hv_machine_prepare_hold(self);
}

static struct hv_err *machine_hold_begin(void *self, uint64_t max_ns)
{
	return hv_machine_hold_begin(self, max_ns);
}

static struct hv_err *machine_hold_begin_anywhere(void *self, uint64_t max_ns)
{
	return hv_machine_hold_begin_anywhere(self, max_ns);
}

static struct hv_err *machine_hold_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	return hv_machine_hold_registers(self, ret, nr);
}

static struct hv_err *machine_hold_write(void *self, const struct hv_hold_write *writes, size_t nr)
{
	return hv_machine_hold_write(self, writes, nr);
}

static struct hv_err *machine_hold_flush(void *self, uint64_t off, uint64_t len_bytes)
{
	return hv_machine_hold_flush(self, off, len_bytes);
}

static struct hv_err *machine_hold_end(void *self)
{
	return hv_machine_hold_end(self);
}

static uint64_t machine_held_ns(void *self)
{
	return ((struct hv_machine *)self)->held_ns;
}

static uint64_t machine_held_from_ns(void *self)
{
	return ((struct hv_machine *)self)->held_from_ns;
}

static const struct hv_guest_ops machine_ops = {
	.free = machine_free,
	.read = machine_read,
	.ram_files = machine_ram_files,
	.count_vcpus = machine_count_vcpus,
	.registers = machine_registers,
	.region = machine_region,
	.refusal = machine_refusal,
	.let_run = machine_let_run,
	.tsc = machine_tsc,
	.vcpu_threads = machine_vcpu_threads,
	.sleeps = machine_sleeps,
	.exit_fd = machine_exit_fd,
	.prepare_hold = machine_prepare_hold,
	.hold_begin = machine_hold_begin,
	.hold_begin_anywhere = machine_hold_begin_anywhere,
	.hold_registers = machine_hold_registers,
	.hold_write = machine_hold_write,
	.hold_flush_translations = machine_hold_flush,
	.hold_end = machine_hold_end,
	.held_ns = machine_held_ns,
	.held_from_ns = machine_held_from_ns,
};

static char *describe(struct hv_machine *m)
{
	struct hv_text t = {0};
	struct hv_region region;
	struct hv_err *err = hv_machine_region(m, &region);

	hv_text_printf(&t, "monitor (%s), RAM %s", m->monitor_kind,
		       m->ram.mapped_bytes == m->ram.len_bytes ? "mapped"
		       : m->ram.mapped_bytes		       ? "partly mapped"
							       : "copied");
	if (err)
		hv_text_add(&t, ", no usable ivshmem");
	else
		hv_text_printf(&t, ", ivshmem %" PRIu64 " MiB", region.len_bytes >> 20);
	hv_err_free(err);
	return hv_text_take(&t);
}

struct hv_guest *hv_machine_guest(struct hv_machine *m)
{
	HV_AUTO_FREE char *transport = describe(m);
	struct hv_guest_info info = {
		.name = m->name,
		.id = m->id,
		.pid = m->process.pid,
		.accel = m->accel,
		.nr_vcpus = m->nr_vcpus,
		.arch = m->arch,
		.ram_bytes = m->ram.len_bytes,
		.transport = transport,
	};

	return hv_guest_new(&machine_ops, m, &info);
}

/* -- access by injection ----------------------------------------------------------------------- */

#define GIB (1ull << 30)

/* Returns the end of the addresses that memory hotplug may use. Each DIMM is aligned to 1 GiB
 * (hw/i386/pc.c). */
static uint64_t hotplug_end(const struct hv_machine *m)
{
	const char *value = "";
	uint64_t bytes = 0;

	for (size_t i = 0; (i = hv_process_arg(&m->process, "-m", i, &value));) {
		HV_AUTO_FREE char *max = hv_option_value(value, "maxmem", NULL);
		HV_AUTO_FREE char *slots = hv_option_value(value, "slots", NULL);

		if (max && hv_size_parse(max, &bytes))
			bytes += (slots ? strtoul(slots, NULL, 10) + 2 : 258) * GIB;
	}
	return 4 * GIB + bytes;
}

/* Checks the address that the VMM reports as free: it must not overlap memory that hvtrace reads as
 * RAM. A wrong answer can otherwise harm only the VMM's own guest. */
static struct hv_err *check_free_gpa(const struct hv_machine *m, struct hv_gpa gpa,
				     uint64_t len_bytes, unsigned bits, uint64_t floor)
{
	const struct hv_ram *ram = &m->ram;
	uint64_t end = gpa.v + len_bytes;
	bool is_free = gpa.v >= floor && end > gpa.v && bits < 64 && end <= 1ull << bits &&
		       gpa.v % HV_FREE_GPA_UNIT == 0;

	for (size_t i = 0; is_free && i < ram->nr_ranges; i++)
		is_free = ram->ranges[i].start.v >= end ||
			  ram->ranges[i].start.v + ram->ranges[i].len_bytes <= gpa.v;
	return is_free ? NULL
		       : hv_err_new(EPROTO,
				    "inject: the VMM reports that guest physical 0x%" PRIx64
				    " is free, but it is in use",
				    gpa.v);
}

static struct hv_err *find_free_gpa(void *self, unsigned phys_bits, uint64_t len_bytes,
				    struct hv_gpa *ret)
{
	struct hv_machine *m = self;
	uint64_t floor = hotplug_end(m);
	struct hv_err *err = hv_parser_free_gpa(m->monitor, phys_bits, floor, len_bytes, ret);

	return err ? err : check_free_gpa(m, *ret, len_bytes, phys_bits, floor);
}

static struct hv_err *refusal(void *self)
{
	return hv_machine_refusal(self);
}

static struct hv_err *is_running(void *self)
{
	return hv_machine_is_running(self);
}

static struct hv_err *count_vcpus(void *self, unsigned *ret)
{
	return hv_machine_count_vcpus(self, ret);
}

static struct hv_err *vcpu_threads(void *self, pid_t *ret, size_t max, size_t *ret_nr)
{
	return hv_machine_first_threads(self, ret, max, ret_nr);
}

static struct hv_err *registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	return hv_machine_registers(self, ret, nr);
}

static struct hv_err *read_ram(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	return hv_machine_read(self, gpa, buf, len);
}

static struct hv_err *look_at_ram(void *self)
{
	return hv_machine_look_at_ram(self);
}

static void held(void *self)
{
	((struct hv_machine *)self)->held = true;
}

static void released(void *self)
{
	((struct hv_machine *)self)->held = false;
}

static struct hv_err *pages_are_its_own(void *self)
{
	return hv_machine_pages_are_its_own(self);
}

/* Resets m->region, because injection creates its own region. */
static bool has_region(void *self)
{
	struct hv_machine *m = self;
	struct hv_region region;
	HV_AUTO_ERR struct hv_err *err = hv_machine_region(m, &region);

	m->region = (struct hv_region){.fd = -1};
	return !err;
}

_Static_assert(HV_PIN_IMAGE_BYTES <= HV_VMM_PIN_BYTES_MAX, "there is room for it");

static size_t pin_image(uint8_t ret[HV_VMM_PIN_BYTES_MAX])
{
	hv_pin_image(ret);
	return HV_PIN_IMAGE_BYTES;
}

static struct hv_err *pin_is_set(void *self, bool *ret)
{
	return hv_parser_pin_is_set(((struct hv_machine *)self)->monitor, ret);
}

static struct hv_err *pin_set(void *self, const char *path)
{
	return hv_parser_pin_set(((struct hv_machine *)self)->monitor, path);
}

static struct hv_err *pin_clear(void *self)
{
	return hv_parser_pin_clear(((struct hv_machine *)self)->monitor);
}

/* QEMU's sandbox is one filter. */
static bool has_sandbox(const struct hv_machine *m)
{
	const char *sandbox = "";

	hv_process_arg(&m->process, "-sandbox", 0, &sandbox);
	return hv_starts_with(sandbox, "on");
}

struct hv_vmm hv_machine_vmm(struct hv_machine *m)
{
	static const struct hv_vmm_ops ops = {
		.free = machine_free,
		.refusal = refusal,
		.is_running = is_running,
		.count_vcpus = count_vcpus,
		.vcpu_threads = vcpu_threads,
		.registers = registers,
		.read = read_ram,
		.look_at_ram = look_at_ram,
		.held = held,
		.released = released,
		.pages_are_its_own = pages_are_its_own,
		.has_region = has_region,
		.find_free_gpa = find_free_gpa,
		.pin_image = pin_image,
		.pin_is_set = pin_is_set,
		.pin_set = pin_set,
		.pin_clear = pin_clear,
	};

	return (struct hv_vmm){
		.ops = &ops,
		.self = m,
		.name = m->name,
		.id = m->id,
		.accel = m->accel,
		.arch = m->arch,
		.nr_vcpus = m->nr_vcpus,
		.monitor = m->monitor_kind,
		.process = &m->process,
		.pidfd = m->pidfd,
		.memory = m->memory,
		.ram = &m->ram,
		.stays_migratable = hv_process_arg(&m->process, "-only-migratable", 0, NULL) != 0,
		.has_own_filter = has_sandbox(m),
	};
}
