/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a guest cannot be traced now. */
#include <stdio.h>
#include <string.h>

#include "vmm/qemu/machine.h"

struct hv_err *hv_machine_is_running(struct hv_machine *m)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-status", NULL, &answer);
	const char *status;

	if (err)
		return err;
	if (hv_json_true(answer, "running"))
		return NULL;
	status = hv_json_string(answer, "status");
	return hv_err_new(EBUSY, "the guest is not running (%s)", status ? status : "unknown");
}

struct hv_err *hv_machine_sleeps(struct hv_machine *m, bool *ret)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-status", NULL, &answer);
	const char *status;

	if (err)
		return err;
	status = hv_json_string(answer, "status");
	*ret = status && !strcmp(status, "suspended");
	return NULL;
}

static struct hv_err *check_migration(struct hv_machine *m)
{
	static const char *const at_rest[] = {"none", "completed", "failed", "cancelled"};
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-migrate", NULL, &answer);
	const char *status;

	if (err)
		return err;
	status = hv_json_string(answer, "status");
	for (size_t i = 0; status && i < HV_ARRAY_LEN(at_rest); i++)
		if (!strcmp(status, at_rest[i]))
			return NULL;
	if (!status)
		return NULL;
	return hv_err_new(EBUSY, "a migration is under way (%s)", status);
}

static struct hv_err *confidential(const char *what)
{
	return hv_err_new(EPERM, "confidential guest (%s): its memory cannot be read", what);
}

/* The id of the object that makes the guest confidential, looked for in every OPTION; NULL: none.
 */
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

/* QMP has a query for SEV. Every kind (TDX, SEV-SNP, s390's and ppc's) is named in an option of the
 * machine. Memory that only the guest can access is a file of its own kind (guest_memfd). */
static struct hv_err *check_confidential(struct hv_machine *m)
{
	HV_AUTO_JSON struct json_object *sev = NULL;
	HV_AUTO_FREE char *by_machine = confidential_object(m, "-machine");
	HV_AUTO_FREE char *by_m = confidential_object(m, "-M");
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-sev", NULL, &sev);

	if (!err && hv_json_true(sev, "enabled"))
		return confidential("SEV");
	hv_err_free(err); /* this QEMU does not have the query */
	if (by_machine || by_m)
		return confidential(by_machine ? by_machine : by_m);
	if (hv_process_has_file(&m->process, "kvm-gmem"))
		return confidential("guest_memfd");
	return NULL;
}

/* "unix:PATH,server=on", "disconnected:unix:PATH,server=on" */
static char *stub_path_of(const char *filename)
{
	const char *at = strstr(filename, "unix:");
	const char *end;
	char *path;

	if (!at)
		return NULL;
	at += 5;
	end = strstr(at, ",server");
	path = end ? strndup(at, (size_t)(end - at)) : strdup(at);
	if (!path)
		abort();
	return path;
}

struct hv_err *hv_machine_stub_state(struct hv_machine *m, bool *ret)
{
	HV_AUTO_JSON struct json_object *devices = NULL;
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-chardev", NULL, &devices);

	*ret = false;
	for (size_t i = 0; !err && i < hv_json_len(devices); i++) {
		struct json_object *device = json_object_array_get_idx(devices, i);
		const char *label = hv_json_string(device, "label");
		const char *filename = hv_json_string(device, "filename");
		HV_AUTO_FREE char *path = NULL;
		const char *last;

		if (!label || strcmp(label, "gdb") || !filename)
			continue;
		path = stub_path_of(filename);
		last = path ? strrchr(path, '/') : NULL;
		if (!last || strcmp(last + 1, HV_STUB_SOCKET) != 0)
			return hv_err_new(EBUSY, "a debugger's gdb stub is on (%s)", filename);
		if (strncmp(filename, "disconnected:", 13) && !m->guardian)
			return hv_err_new(EBUSY, "another hvtrace uses the gdb stub (%s)", path);
		*ret = true;
	}
	return err;
}

/* The human monitor lists all devices, also those that were plugged later. VFIO and vDPA pin every
 * page of RAM for DMA, and a vhost-user backend has mapped the RAM's files itself. */
struct hv_err *hv_machine_pages_are_its_own(struct hv_machine *m)
{
	static const struct {
		const char *line;
		const char *word;
		const char *device;
	} known[] = {{"info qtree", "dev: vfio-", "VFIO"},
		     {"info qtree", "dev: vhost-user-", "vhost-user"},
		     {"info qtree", "dev: vhost-vdpa-", "vDPA"},
		     {"info network", "type=vhost-user", "vhost-user"},
		     {"info network", "type=vhost-vdpa", "vDPA"}};
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(known); i++) {
		HV_AUTO_FREE char *text = NULL;

		err = hv_monitor_hmp(m->monitor, known[i].line, &text);
		if (!err && strstr(text, known[i].word))
			err = hv_err_new(
				ENOTSUP,
				"the guest has a %s device, which accesses its RAM without "
				"the VMM's mappings",
				known[i].device);
	}
	return err;
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
