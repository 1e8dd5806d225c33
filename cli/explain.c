/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain.h"

#include "cli/spec.h"

struct hv_err *in_domain(struct hv_err *err, const char *spec)
{
	if (!err || err->facts & HV_ERR_NAMES_DOMAIN)
		return err;
	return hv_err_mark(hv_err_in(err, "domain '%s'", spec), HV_ERR_NAMES_DOMAIN);
}

struct hv_err *advise(struct hv_err *err, const char *spec)
{
	unsigned facts = err ? err->facts : 0;

	if (facts & HV_ERR_NEEDS_MONITOR)
		err = hv_err_add(err,
				 "; try `hvtrace attach --via=monitor %s%s`: it needs an "
				 "ivshmem device, and each of its holds drains the guest's disks",
				 spec_dashes(spec), spec);
	if (facts & HV_ERR_NEEDS_VMLINUX)
		err = hv_err_add(err,
				 "; `hvtrace attach --vmlinux=FILE %s%s` gets the missing data "
				 "from the kernel's vmlinux",
				 spec_dashes(spec), spec);
	if (facts & HV_ERR_NEEDS_BTF)
		err = hv_err_add(err,
				 "; `hvtrace attach --btf=FILE %s%s` gets the types of the "
				 "kernel's structures from a BTF file of this kernel, and "
				 "`hvtrace attach --vmlinux=FILE %s%s` from its vmlinux",
				 spec_dashes(spec), spec, spec_dashes(spec), spec);
	if (facts & HV_ERR_NEEDS_FORCE)
		err = hv_err_add(err, "; `hvtrace attach --force %s%s` attaches anyway",
				 spec_dashes(spec), spec);
	if (facts & HV_ERR_NEEDS_RECOVERY)
		err = hv_err_add(err, ": run `hvtrace recover %s%s`", spec_dashes(spec), spec);
	return err;
}

struct hv_err *advise_in_session(struct hv_err *err, const char *spec)
{
	if (err && err->facts & HV_ERR_NEEDS_RECOVERY)
		err = hv_err_add(err, ": `hvtrace detach %s%s` tries again", spec_dashes(spec),
				 spec);
	if (err && err->facts & HV_ERR_NEEDS_FORCE)
		err = hv_err_add(
			err,
			"; a session started with `hvtrace attach --force %s%s` does it anyway",
			spec_dashes(spec), spec);
	return err;
}

struct hv_err *explain(struct hv_err *err, const char *spec)
{
	return advise(in_domain(err, spec), spec);
}
