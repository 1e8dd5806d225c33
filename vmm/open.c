/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/open.h"

#include <string.h>

#include "base/prefix.h"
#include "vmm/inject/inject.h"
#include "vmm/other/vmm.h"
#include "vmm/processes.h"
#include "vmm/qemu/machine.h"

/* Returns false if TEXT is not a process id. */
static bool parse_pid(const char *text, pid_t *ret)
{
	if (!*text || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
		return false;
	*ret = atoi(text);
	return *ret > 0;
}

static bool names_process(const char *spec)
{
	return hv_starts_with(spec, "pid:") || hv_starts_with(spec, "vmm:");
}

/* Prefixes the message with the user's name of the guest. Takes ERR. */
static struct hv_err *about(const char *spec, struct hv_err *err)
{
	if (hv_starts_with(spec, "qmp:") || names_process(spec))
		err = hv_err_in(err, "%s", spec);
	else
		err = hv_err_in(err, "domain '%s'", spec);
	return hv_err_mark(err, HV_ERR_NAMES_DOMAIN);
}

/* Converts "pid:N" and "vmm:ID" to the process's id. */
static struct hv_err *find_process(const char *spec, pid_t *ret)
{
	if (hv_starts_with(spec, "vmm:"))
		return hv_vmm_process_find(spec + 4, ret);
	return parse_pid(spec + 4, ret)
		       ? NULL
		       : hv_err_new(EINVAL, "a process id is a number greater than 0");
}

static struct hv_err *open_machine(const char *spec, const char *libvirt_uri,
				   struct hv_machine **ret)
{
	if (hv_starts_with(spec, "qmp:"))
		return hv_machine_open_qmp(spec + 4, ret);
	return hv_machine_open_libvirt(spec, libvirt_uri, ret);
}

/* A VMM without a monitor. WHY is the reason why there is none; takes it. */
static struct hv_err *open_other(const char *spec, pid_t pid, enum hv_via via, struct hv_err *why,
				 struct hv_guest **ret)
{
	struct hv_other *other = NULL;
	struct hv_vmm vmm;
	struct hv_err *err = via == HV_VIA_MONITOR ? why : hv_other_open(pid, spec, &other);

	if (via == HV_VIA_MONITOR)
		return err;
	if (err && err->code == ENOENT) { /* no KVM machine, so a monitor is needed */
		hv_err_free(err);
		return why;
	}
	hv_err_free(why);
	if (err)
		return err;
	vmm = hv_other_vmm(other);
	err = hv_inject_guest(&vmm, ret);
	if (err)
		hv_other_free(other);
	return hv_err_in(err, "injection is not possible");
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

/* A QEMU with a monitor that belongs to the process is accessed like a domain. */
static struct hv_err *open_process(const char *spec, const char *libvirt_uri, enum hv_via via,
				   struct hv_guest **ret)
{
	struct hv_machine *m = NULL;
	pid_t pid = 0;
	struct hv_err *err = find_process(spec, &pid);

	if (err)
		return err;
	err = hv_machine_open_pid(pid, libvirt_uri, &m);
	if (!err)
		return choose_way(m, via, ret);
	return err->code == ENOTCONN ? open_other(spec, pid, via, err, ret) : err;
}

struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret)
{
	struct hv_machine *m = NULL;
	struct hv_err *err;

	if (!*spec)
		return hv_err_mark(hv_err_new(EINVAL, "no domain is named"), HV_ERR_NAMES_DOMAIN);
	if (names_process(spec))
		return about(spec, open_process(spec, libvirt_uri, via, ret));
	err = open_machine(spec, libvirt_uri, &m);
	return about(spec, err ? err : choose_way(m, via, ret));
}
