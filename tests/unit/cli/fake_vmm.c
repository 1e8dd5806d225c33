/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of vmm/ that cli/ calls, without a guest: a domain "fake" and a second one,
 * "other". Domains that cannot be attached: "locked" (no injection), "bare" (no symbols), "untyped"
 * (no BTF), "guarded" (checks its text), "left" (by a service that died), "deadly" (kills the
 * process that reads its kernel). FAKE_BUSY: the monitor serves another client. */
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "tests/unit/cli/fake_layers.h"
#include "vmm/domains.h"
#include "vmm/processes.h"
#include "vmm/hosttrace/instance.h"
#include "vmm/open.h"
#include "vmm/broker/server.h"
#include "vmm/broker/client.h"
#include "vmm/broker/sandbox.h"

struct hv_guest {
	struct hv_guest_info info;
	int exit_fd;
	bool sleeps;
};

void hv_host_trace_clean(const char *id)
{
	(void)id;
}

/* The VMM is the process in FAKE_VMM, which a test can kill, or one that never ends. */
static pid_t fake_vmm(void)
{
	const char *pid = getenv("FAKE_VMM");

	return pid ? atoi(pid) : 1;
}

struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret)
{
	struct hv_guest *g;

	(void)libvirt_uri;
	if (getenv("FAKE_BUSY"))
		return hv_err_new(EBUSY, "qmp: it serves another client");
	if (via == HV_VIA_INJECT)
		return hv_err_new(ENOTSUP, "injection is not there yet");
	if (strcmp(spec, "locked") == 0)
		return hv_err_mark(hv_err_new(EPERM, "injection is not possible: a seccomp filter"),
				   HV_ERR_NEEDS_MONITOR);
	if (strcmp(spec, "fake") != 0 && strcmp(spec, "left") != 0 && strcmp(spec, "bare") != 0 &&
	    strcmp(spec, "guarded") != 0 && strcmp(spec, "other") != 0 &&
	    strcmp(spec, "untyped") != 0 && strcmp(spec, "deadly") != 0)
		return hv_err_mark(hv_err_new(ENOENT, "domain '%s': no such domain", spec),
				   HV_ERR_NAMES_DOMAIN);
	g = hv_alloc(sizeof(*g));
	g->info = (struct hv_guest_info){
		.name = strcmp(spec, "left") == 0      ? "left"
			: strcmp(spec, "bare") == 0    ? "bare"
			: strcmp(spec, "guarded") == 0 ? "guarded"
			: strcmp(spec, "untyped") == 0 ? "untyped"
			: strcmp(spec, "deadly") == 0  ? "deadly"
			: strcmp(spec, "other") == 0   ? "other"
						       : "fake",
		.id = strcmp(spec, "other") == 0 ? "1f0a4a3e-0000-4000-8000-000000000002"
						 : "1f0a4a3e-0000-4000-8000-000000000001",
		.pid = fake_vmm(),
		.nr_vcpus = 2,
		.ram_bytes = 512 << 20,
		.transport = "fake",
		.injected = strcmp(spec, "other") == 0,
	};
	g->exit_fd = eventfd(0, EFD_CLOEXEC);
	*ret = g;
	return NULL;
}

void hv_guest_free(struct hv_guest *g)
{
	if (!g)
		return;
	close(g->exit_fd);
	free(g);
}

const struct hv_guest_info *hv_guest_info(const struct hv_guest *g)
{
	return &g->info;
}

struct hv_err *hv_guest_region(struct hv_guest *g, struct hv_region *ret)
{
	(void)g;
	*ret = (struct hv_region){.gpa = {0x100000000}, .len_bytes = 64 << 20};
	return NULL;
}

struct hv_err *hv_guest_sleeps(struct hv_guest *g, bool *ret)
{
	*ret = g->sleeps;
	return NULL;
}

struct hv_err *hv_guest_count_vcpus(struct hv_guest *g hv_unused)
{
	return NULL;
}

struct hv_err *hv_guest_registers(struct hv_guest *g, struct hv_vcpu_regs *ret, size_t nr hv_unused)
{
	(void)g;
	(void)ret;
	return hv_err_new(ENOTSUP, "no registers");
}

struct hv_err *hv_guest_refusal(struct hv_guest *g)
{
	(void)g;
	return NULL;
}

struct hv_err *hv_guest_let_run(struct hv_guest *g hv_unused, bool *ret_stood)
{
	*ret_stood = false;
	return NULL;
}

struct hv_err *hv_guest_want_shadow(struct hv_guest *g)
{
	(void)g;
	return NULL;
}

struct hv_err *hv_guest_unpin(struct hv_guest *g)
{
	(void)g;
	return NULL;
}

int hv_guest_stop_fd(const struct hv_guest *g)
{
	(void)g;
	return -1;
}

void hv_guest_end_stop(struct hv_guest *g)
{
	(void)g;
}

struct hv_err *hv_guest_run_to(struct hv_guest *g hv_unused, struct hv_gva at hv_unused)
{
	return hv_err_new(ENOTSUP, "a fake does not run");
}

int hv_guest_exit_fd(const struct hv_guest *g)
{
	return g->exit_fd;
}

bool hv_guest_has_ended(const struct hv_guest *g)
{
	struct pollfd fd = {g->exit_fd, POLLIN, 0};

	return poll(&fd, 1, 0) > 0;
}

void fake_guest_ends(struct hv_guest *g)
{
	uint64_t one = 1;

	if (write(g->exit_fd, &one, sizeof(one)) < 0)
		abort();
}

void fake_guest_sleeps(struct hv_guest *g)
{
	g->sleeps = true;
}

/* The fake server is the guest. */
struct hv_broker_server *hv_broker_server_new(struct hv_guest *g, enum hv_adopts adopts hv_unused)
{
	return (struct hv_broker_server *)g;
}

unsigned hv_broker_server_nr_refused(const struct hv_broker_server *f hv_unused)
{
	return 0;
}

void hv_broker_server_renew(struct hv_broker_server *f hv_unused)
{
}

void hv_broker_server_put_journal_back(const struct hv_broker_server *f hv_unused)
{
}

void hv_broker_server_free(struct hv_broker_server *f hv_unused)
{
}

struct hv_err *hv_broker_server_answer(struct hv_broker_server *f, int socket,
				       const struct hv_message *question)
{
	const char *name = ((struct hv_guest *)f)->info.name;
	const struct hv_message answer = {.bytes = (uint8_t *)name, .len_bytes = strlen(name)};

	return hv_channel_answer(
		socket,
		question->kind == HV_ASK_OPEN ? NULL : hv_err_new(ENOSYS, "a fake has no memory"),
		&answer);
}

struct hv_err *hv_broker_client_guest(int socket, struct hv_guest **ret)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err =
		hv_channel_ask(socket, &(struct hv_message){.kind = HV_ASK_OPEN}, &answer);

	return err ? err : hv_guest_open((char *)answer.bytes, NULL, HV_VIA_AUTO, ret);
}

struct hv_err *hv_broker_client_machine(int socket, const char *name hv_unused,
					struct hv_guest **ret)
{
	return hv_broker_client_guest(socket, ret);
}

const struct hv_readable_ram *hv_broker_client_readable_ram(const struct hv_guest *g hv_unused)
{
	return NULL;
}

struct hv_err *hv_sandbox_keep(int *broker hv_unused)
{
	return NULL;
}

struct hv_err *hv_sandbox_enter(int broker hv_unused,
				const struct hv_readable_ram *readable hv_unused)
{
	return NULL;
}

struct hv_err *hv_domain_list(const char *libvirt_uri, struct hv_domain **ret, size_t *ret_nr)
{
	struct hv_domain *d = hv_alloc(6 * sizeof(*d));

	(void)libvirt_uri;
	d[5] = (struct hv_domain){hv_strdup("-web"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000006"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	d[3] = (struct hv_domain){hv_strdup("büro-日本10"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000004"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	d[4] = (struct hv_domain){hv_strdup("büro-日本9"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000005"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	d[0] = (struct hv_domain){hv_strdup("fake"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000001"),
				  7,
				  hv_strdup("running"),
				  NULL,
				  .pid = 103};
	d[1] = (struct hv_domain){hv_strdup("other"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000002"),
				  8,
				  hv_strdup("running"),
				  hv_strdup("no ivshmem device"),
				  true};
	d[2] = (struct hv_domain){hv_strdup("one-with-rather-a-long-name"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000003"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	*ret = d;
	*ret_nr = 6;
	return NULL;
}

struct hv_err *hv_vmm_processes(struct hv_vmm_process **ret, size_t *ret_nr)
{
	static const struct hv_vmm_process list[] = {
		{101, "web-7", "firecracker", false},
		{102, "web-8", "cloud-hypervisor", true},
		{103, "fake", "qemu-system-x86_64", false}, /* a domain */
	};

	*ret = hv_alloc(sizeof(list));
	memcpy(*ret, list, sizeof(list));
	*ret_nr = HV_ARRAY_LEN(list);
	return NULL;
}

void hv_domain_list_free(struct hv_domain *domains, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free(domains[i].name);
		free(domains[i].uuid);
		free(domains[i].state);
		free(domains[i].reason);
	}
	free(domains);
}
