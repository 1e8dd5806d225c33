/* Opens a machine by what the user calls it, and chooses how it is reached. */
#include <string.h>

#include "vmm/inject/inject.h"
#include "vmm/qemu/machine.h"

/* False: no number */
static bool parse_pid(const char *text, pid_t *ret)
{
	if (!*text || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
		return false;
	*ret = atoi(text);
	return *ret > 0;
}

static struct hv_err *open_machine(const char *spec, const char *libvirt_uri,
				   struct hv_machine **ret)
{
	pid_t pid;

	if (!strncmp(spec, "qmp:", 4))
		return hv_err_in(hv_machine_open_qmp(spec + 4, ret), "%s", spec);
	if (!strncmp(spec, "pid:", 4)) {
		if (!parse_pid(spec + 4, &pid))
			return hv_err_new(EINVAL, "%s: a process id is a number above 0", spec);
		return hv_err_in(hv_machine_open_pid(pid, libvirt_uri, ret), "%s", spec);
	}
	if (!*spec)
		return hv_err_new(EINVAL, "no domain named");
	return hv_err_in(hv_machine_open_libvirt(spec, libvirt_uri, ret), "domain '%s'", spec);
}

/* Takes M. */
static struct hv_err *choose_way(struct hv_machine *m, const char *spec, enum hv_via via,
				 struct hv_guest **ret)
{
	struct hv_err *err;

	if (via == HV_VIA_MONITOR || (via == HV_VIA_AUTO && m->accel != HV_ACCEL_KVM) ||
	    (via == HV_VIA_LEFT && !hv_inject_has_region(m))) {
		*ret = hv_machine_guest(m);
		return NULL;
	}
	err = hv_inject_guest(m, ret);
	if (err)
		hv_machine_free(m);
	if (err && via == HV_VIA_AUTO)
		err = hv_inject_not_possible(err);
	return hv_err_in(err, "%s", spec);
}

struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret)
{
	struct hv_machine *m = NULL;
	struct hv_err *err = open_machine(spec, libvirt_uri, &m);

	return err ? err : choose_way(m, spec, via, ret);
}
