/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a QEMU guest is made of, as its monitor and its process show it: RAM, vCPUs, and reasons why
 * it cannot be traced now. */
#include "vmm/qemu/machine.h"

#include <string.h>

#include "base/clock.h"
#include "vmm/qemu/options.h"

/* -- RAM --------------------------------------------------------------------------------------- */

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

/* -- refusals ---------------------------------------------------------------------------------- */

struct hv_err *hv_machine_is_running(struct hv_machine *m)
{
	struct hv_vmm_status status = {0};
	struct hv_err *err = hv_parser_status(m->monitor, &status);

	if (err || status.is_running)
		return err;
	return hv_err_new(EBUSY, "the guest is not running (%s)",
			  status.word[0] ? status.word : "unknown");
}

struct hv_err *hv_machine_sleeps(struct hv_machine *m, bool *ret)
{
	struct hv_vmm_status status = {0};
	struct hv_err *err = hv_parser_status(m->monitor, &status);

	if (!err)
		*ret = status.is_suspended;
	return err;
}

static struct hv_err *check_migration(struct hv_machine *m)
{
	struct hv_vmm_migration migration = {0};
	struct hv_err *err = hv_parser_migration(m->monitor, &migration);

	if (err || !migration.is_under_way)
		return err;
	return hv_err_new(EBUSY, "a migration is under way (%s)", migration.word);
}

static struct hv_err *confidential(const char *what)
{
	return hv_err_new(EPERM, "confidential guest (%s): its memory cannot be read", what);
}

/* Returns the id of the object that makes the guest confidential, from any OPTION, or NULL. */
static char *confidential_object(const struct hv_machine *m, const char *option)
{
	const char *value;

	for (size_t i = 0; (i = hv_process_arg(&m->process, option, i, &value));) {
		char *id = hv_option_value(value, "confidential-guest-support", NULL);

		if (id)
			return id;
	}
	return NULL;
}

/* QMP has a query for SEV. An option of the machine names each kind (TDX, SEV-SNP, the kinds of
 * s390 and ppc). Memory that only the guest can access is a special kind of file (guest_memfd). */
static struct hv_err *check_confidential(struct hv_machine *m)
{
	HV_AUTO_FREE char *by_machine = confidential_object(m, "-machine");
	HV_AUTO_FREE char *by_m = confidential_object(m, "-M");
	bool has_sev = false;
	struct hv_err *err = hv_parser_has_sev(m->monitor, &has_sev);

	if (err)
		return err;
	if (has_sev)
		return confidential("SEV");
	if (by_machine || by_m)
		return confidential(by_machine ? by_machine : by_m);
	if (hv_process_has_file(&m->process, "kvm-gmem"))
		return confidential("guest_memfd");
	return NULL;
}

struct hv_err *hv_machine_stub_state(struct hv_machine *m, bool *ret)
{
	struct hv_vmm_stub stub = {0};
	struct hv_err *err = hv_parser_stub(m->monitor, &stub);

	*ret = false;
	if (err)
		return err;
	if (stub.state == HV_STUB_ANOTHER)
		return hv_err_new(EBUSY, "a debugger's gdb stub is on (%s)", stub.where);
	if (stub.state == HV_STUB_IN_USE && !m->guardian)
		return hv_err_new(EBUSY, "another hvtrace uses the gdb stub (%s)", stub.where);
	*ret = stub.state != HV_STUB_NONE;
	return NULL;
}

struct hv_err *hv_machine_pages_are_its_own(struct hv_machine *m)
{
	static const char *const names[HV_NR_VMM_DEVICES] = {
		[HV_VMM_VFIO] = "VFIO",
		[HV_VMM_VHOST_USER] = "vhost-user",
		[HV_VMM_VDPA] = "vDPA",
	};
	enum hv_vmm_device device = HV_VMM_NO_DEVICE;
	struct hv_err *err = hv_parser_devices(m->monitor, &device);

	if (err || device == HV_VMM_NO_DEVICE)
		return err;
	return hv_err_new(ENOTSUP,
			  "the guest has a %s device, which accesses its RAM without the VMM's "
			  "mappings",
			  names[device]);
}

struct hv_err *hv_machine_refusal(struct hv_machine *m)
{
	bool has_stub;
	struct hv_err *err = hv_machine_is_running(m);

	if (!err)
		err = check_migration(m);
	if (!err)
		err = check_confidential(m);
	if (!err)
		err = hv_machine_stub_state(m, &has_stub);
	if (!err)
		err = hv_machine_region_has_room(m);
	return err;
}

/* -- the machine ------------------------------------------------------------------------------- */

/* The minimum time between two reads of the RAM layout. It is read again for unknown addresses,
 * which the guest chooses, and if memory devices may be gone. */
#define RAM_RELOAD_NS HV_NS_PER_S
/* Like RAM_RELOAD_NS, before a hold. A guest takes longer than this to release a memory device. */
#define RAM_HOLD_NS   (HV_NS_PER_S / 10)

struct hv_err *hv_machine_load_ram(struct hv_machine *m)
{
	m->ram_loaded_ns = hv_now_ns();
	return hv_ram_load(m->monitor, m->memory, &m->ram);
}

/* Reads the layout again if memory may have been plugged or unplugged. */
static void refresh_ram(struct hv_machine *m, struct hv_gpa gpa, size_t len_bytes)
{
	bool is_known = hv_ram_covers(&m->ram, gpa, len_bytes) && (m->held || !m->ram.can_go);

	if (is_known || hv_now_ns() - m->ram_loaded_ns < RAM_RELOAD_NS)
		return;
	hv_err_free(hv_machine_load_ram(m));
}

struct hv_err *hv_machine_look_at_ram(struct hv_machine *m)
{
	if (!m->ram.can_go || hv_now_ns() - m->ram_loaded_ns < RAM_HOLD_NS)
		return NULL;
	return hv_machine_load_ram(m);
}

struct hv_err *hv_machine_read(struct hv_machine *m, struct hv_gpa gpa, void *buf, size_t len)
{
	refresh_ram(m, gpa, len);
	return hv_ram_read(&m->ram, gpa, buf, len);
}

struct hv_err *hv_machine_registers(struct hv_machine *m, struct hv_vcpu_regs *ret, size_t nr)
{
	return hv_parser_registers(m->monitor, m->arch, ret, nr);
}

struct hv_err *hv_machine_count_vcpus(struct hv_machine *m, unsigned *ret)
{
	struct hv_err *err = m->held ? NULL : hv_parser_threads(m->monitor, NULL, 0, &m->nr_vcpus);

	if (!err)
		*ret = m->nr_vcpus;
	return err;
}

/* Asks the monitor each time, because vCPUs can be plugged and unplugged. */
static struct hv_err *vcpu_threads(const struct hv_machine *m, pid_t **ret, unsigned *ret_nr)
{
	HV_AUTO_FREE pid_t *tids = hv_alloc(HV_VCPUS_MAX * sizeof(*tids));
	unsigned nr = 0;
	struct hv_err *err = hv_parser_threads(m->monitor, tids, HV_VCPUS_MAX, &nr);

	unsigned found;

	if (err)
		return err;
	found = hv_process_find_threads(m->process.pid, tids, nr);
	if (found < nr)
		return hv_err_new(ESRCH, "vCPU %u is not a thread of process %d", found,
				  (int)m->process.pid);
	*ret = hv_take(tids);
	*ret_nr = nr;
	return NULL;
}

struct hv_err *hv_machine_first_threads(const struct hv_machine *m, pid_t *ret, size_t max,
					size_t *ret_nr)
{
	HV_AUTO_FREE pid_t *tids = NULL;
	unsigned nr = 0;
	struct hv_err *err = vcpu_threads(m, &tids, &nr);

	if (!err && nr > max)
		err = hv_err_new(E2BIG, "the guest has %u vCPUs; at most %zu are supported", nr,
				 max);
	if (err)
		return err;
	memcpy(ret, tids, nr * sizeof(*ret));
	*ret_nr = nr;
	return NULL;
}

struct hv_err *hv_machine_find_vcpus(struct hv_machine *m)
{
	HV_AUTO_FREE pid_t *tids = NULL;

	return vcpu_threads(m, &tids, &m->nr_vcpus);
}
