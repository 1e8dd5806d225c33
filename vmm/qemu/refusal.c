/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons why a guest cannot be traced now. */
#include <stdio.h>
#include <string.h>

#include "vmm/qemu/machine.h"
#include "vmm/qemu/options.h"

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
