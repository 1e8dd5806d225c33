/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons to refuse a guest: from the answers of its monitor and its command line (of QEMU 7.2 to
 * 9.1), and from /proc of the VMM's threads. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "vmm/inject/state.h"
#include "vmm/qemu/machine.h"
#include "vmm/qemu/monitor.h"

struct vmm {
	const char *status;
	const char *migrate;
	const char *sev;
	const char *chardev;
	const char *qtree; /* the human monitor's text */
	const char *network;
};

static void vmm_free(void *self)
{
	(void)self;
}

static struct hv_err *vmm_transact(void *self, const char *request, char **ret)
{
	const struct vmm *v = self;
	const char *answer =
		"{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"not there\"}}";

	if (strstr(request, "\"query-status\""))
		answer = v->status ? v->status
				   : "{\"return\": {\"status\": \"running\", \"singlestep\": "
				     "false, \"running\": true}}";
	else if (strstr(request, "\"query-migrate\""))
		answer = v->migrate ? v->migrate : "{\"return\": {}}";
	else if (strstr(request, "\"query-sev\"") && v->sev)
		answer = v->sev;
	else if (strstr(request, "\"query-chardev\""))
		answer = v->chardev ? v->chardev : "{\"return\": []}";
	else if (strstr(request, "\"human-monitor-command\""))
		answer = strstr(request, "info qtree") ? v->qtree : v->network;
	*ret = hv_strdup(answer);
	return NULL;
}

static const struct hv_monitor_ops vmm_ops = {.free = vmm_free, .transact = vmm_transact};

/* ARGS ends with NULL. The last argument is the expected part of the refusal; NULL: not refused. */
static void expect(struct vmm *v, const char *const *args, const char *says)
{
	HV_AUTO_PARSER struct hv_parser *monitor = hv_parser_relay(hv_monitor_new(&vmm_ops, v));
	struct hv_machine m = {.monitor = monitor, .region.fd = -1};
	HV_AUTO_ERR struct hv_err *err = NULL;

	m.process.pid = getpid();
	m.process.args = (char **)(uintptr_t)args;
	while (args[m.process.nr_args])
		m.process.nr_args++;
	err = hv_machine_refusal(&m);
	if (!says) {
		ck_assert_msg(!err, "%s", err ? err->message : "");
		return;
	}
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, says), "%s", err->message);
	ck_assert_ptr_null(strchr(err->message, '\n'));
}

static const char *const plain[] = {"qemu", "-machine", "q35,accel=kvm", NULL};

START_TEST(nothing)
{
	expect(&(struct vmm){0}, plain, NULL);
	expect(&(struct vmm){.sev = "{\"return\": {\"enabled\": false}}"}, plain, NULL);
	expect(&(struct vmm){.migrate = "{\"return\": {\"status\": \"completed\"}}"}, plain, NULL);
	expect(&(struct vmm){.migrate = "{\"return\": {\"blocked-reasons\": [\"x\"]}}"}, plain,
	       NULL);
}
END_TEST

START_TEST(confidential)
{
	static const char *const tdx[] = {
		"qemu",
		"-machine",
		"q35,kernel_irqchip=split,confidential-guest-support=tdx0",
		"-object",
		"tdx-guest,id=tdx0",
		NULL};
	static const char *const snp[] = {
		"qemu", "-M", "q35", "-M", "confidential-guest-support=sev0", NULL};

	expect(&(struct vmm){.sev = "{\"return\": {\"enabled\": true, \"api-major\": 1, "
				    "\"state\": \"running\", \"policy\": 5}}"},
	       plain, "confidential guest (SEV)");
	expect(&(struct vmm){0}, tdx, "confidential guest (tdx0)");
	expect(&(struct vmm){0}, snp, "confidential guest (sev0)");
}
END_TEST

START_TEST(moving)
{
	static const char *const states[] = {
		"setup",  "active",	"postcopy-active", "pre-switchover",
		"device", "cancelling", "wait-unplug",	   "some-state-of-tomorrow"};

	for (size_t i = 0; i < HV_ARRAY_LEN(states); i++) {
		char answer[96];

		snprintf(answer, sizeof(answer), "{\"return\": {\"status\": \"%s\"}}", states[i]);
		expect(&(struct vmm){.migrate = answer}, plain, "a migration is under way");
	}
}
END_TEST

START_TEST(not_running)
{
	expect(&(struct vmm){.status = "{\"return\": {\"status\": \"paused\", \"running\": "
				       "false}}"},
	       plain, "not running (paused)");
}
END_TEST

START_TEST(a_debuggers_stub)
{
	expect(&(struct vmm){.chardev = "{\"return\": [{\"label\": \"gdb\", \"filename\": "
					"\"disconnected:tcp:0.0.0.0:1234,server=on\"}]}"},
	       plain, "a debugger's gdb stub");
}
END_TEST

START_TEST(pages_accessed_by_devices)
{
	static const struct {
		struct vmm vmm;
		const char *says;
	} machines[] = {
		{{.qtree = "{\"return\": \"      dev: vfio-pci, id \\\"gpu\\\"\\r\\n\"}"}, "VFIO"},
		{{.qtree = "{\"return\": \"  dev: vhost-user-fs-pci, id\\r\\n\"}"}, "vhost-user"},
		{{.network = "{\"return\": \"net0: index=0,type=vhost-user,\\r\\n\"}"},
		 "vhost-user"},
		{{.network = "{\"return\": \" \\\\ net1: index=0,type=vhost-vdpa\\r\\n\"}"},
		 "vDPA"},
		{{.qtree = "{\"return\": \"dev: virtio-net-pci, id \\\"n\\\"\\r\\n\"}"}, NULL},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(machines); i++) {
		struct vmm v = machines[i].vmm;
		HV_AUTO_PARSER struct hv_parser *monitor =
			hv_parser_relay(hv_monitor_new(&vmm_ops, &v));
		struct hv_machine m = {.monitor = monitor, .region.fd = -1};
		HV_AUTO_ERR struct hv_err *err = NULL;

		v.qtree = v.qtree ? v.qtree : "{\"return\": \"\"}";
		v.network = v.network ? v.network : "{\"return\": \"\"}";
		err = hv_machine_pages_are_its_own(&m);
		ck_assert_msg(!err == !machines[i].says, "%zu: %s", i, err ? err->message : "");
		ck_assert(!err || strstr(err->message, machines[i].says));
		ck_assert(!err || strstr(err->message, " device, which accesses its RAM without "
						       "the VMM's mappings"));
	}
}
END_TEST

START_TEST(shadow_stacks_of_threads)
{
	static const struct {
		const char *line;
		bool has;
	} lines[] = {
		{"x86_Thread_features:\tshstk wrss \n", true},
		{"x86_Thread_features:\twrss shstk\n", true},
		{"x86_Thread_features:\t\n", false},
		{"x86_Thread_features:\tshstk2 \n", false},
		{"x86_Thread_features_locked:\tshstk wrss \n", false},
		{"Seccomp:\t0\n", false},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(lines); i++)
		ck_assert_msg(hv_status_line_has_shadow_stack(lines[i].line) == lines[i].has, "%s",
			      lines[i].line);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, nothing);
	tcase_add_test(tc, confidential);
	tcase_add_test(tc, moving);
	tcase_add_test(tc, not_running);
	tcase_add_test(tc, a_debuggers_stub);
	tcase_add_test(tc, pages_accessed_by_devices);
	tcase_add_test(tc, shadow_stacks_of_threads);
}

int main(void)
{
	return run_suite("refusal", add_tests);
}
