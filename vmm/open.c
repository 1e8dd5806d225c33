/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/open.h"

#include <string.h>

#include "base/prefix.h"
#include "vmm/inject/inject.h"
#include "vmm/qemu/machine.h"

/* Returns false if TEXT is not a process id. */
static bool parse_pid(const char *text, pid_t *ret)
{
	if (!*text || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
		return false;
	*ret = atoi(text);
	return *ret > 0;
}

/* Prefixes the message with the user's name of the guest. Takes ERR. */
static struct hv_err *about(const char *spec, struct hv_err *err)
{
	if (hv_starts_with(spec, "qmp:") || hv_starts_with(spec, "pid:"))
		err = hv_err_in(err, "%s", spec);
	else
		err = hv_err_in(err, "domain '%s'", spec);
	return hv_err_mark(err, HV_ERR_NAMES_DOMAIN);
}

static struct hv_err *open_machine(const char *spec, const char *libvirt_uri,
				   struct hv_machine **ret)
{
	pid_t pid;

	if (hv_starts_with(spec, "qmp:"))
		return hv_machine_open_qmp(spec + 4, ret);
	if (!hv_starts_with(spec, "pid:"))
		return hv_machine_open_libvirt(spec, libvirt_uri, ret);
	if (!parse_pid(spec + 4, &pid))
		return hv_err_new(EINVAL, "a process id is a number greater than 0");
	return hv_machine_open_pid(pid, libvirt_uri, ret);
}

/* Chooses between injection and the monitor. Takes M. */
static struct hv_err *choose_way(struct hv_machine *m, enum hv_via via, struct hv_guest **ret)
{
	struct hv_vmm vmm = hv_machine_vmm(m);
	struct hv_err *err;

	if (via == HV_VIA_MONITOR || (via == HV_VIA_AUTO && m->accel != HV_ACCEL_KVM) ||
	    (via == HV_VIA_LEFT && !hv_inject_has_region(&vmm))) {
		*ret = hv_machine_guest(m);
		return NULL;
	}
	err = hv_inject_guest(&vmm, ret);
	if (err)
		hv_machine_free(m);
	return via == HV_VIA_AUTO ? hv_inject_not_possible(err) : err;
}

struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret)
{
	struct hv_machine *m = NULL;
	struct hv_err *err;

	if (!*spec)
		return hv_err_mark(hv_err_new(EINVAL, "no domain is named"), HV_ERR_NAMES_DOMAIN);
	err = open_machine(spec, libvirt_uri, &m);
	if (!err)
		err = choose_way(m, via, ret);
	return about(spec, err);
}
