/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ids that VMMs claim, and processes that hold a KVM machine. Part of this needs /dev/kvm. */
#include <check.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/other/kernel_kvm.h"
#include "vmm/processes.h"

#define ID_OF(ret, ...)                                                                            \
	hv_vmm_id_of((char *[]){(char *)"vmm", __VA_ARGS__},                                       \
		     sizeof((char *[]){(char *)"vmm", __VA_ARGS__}) / sizeof(char *), ret)
#define W(text) ((char *)text)

static char *long_id(size_t len)
{
	char *text = hv_alloc(len + 1);

	memset(text, 'x', len);
	return text;
}

START_TEST(ids)
{
	HV_AUTO_FREE char *longest = long_id(HV_VMM_ID_MAX), *longer = long_id(HV_VMM_ID_MAX + 1);
	char id[HV_VMM_ID_MAX + 1] = "";

	ck_assert(ID_OF(id, W("--api-sock"), W("/run/fc.sock"), W("--id"), W("web-7")));
	ck_assert_str_eq(id, "web-7");
	ck_assert(ID_OF(id, W("--id=web_8.x")));
	ck_assert_str_eq(id, "web_8.x");
	ck_assert(ID_OF(id, W("--api-socket"), W("/tmp/ch:1")));
	ck_assert_str_eq(id, "/tmp/ch:1");
	ck_assert(ID_OF(id, W("--name"), longest));
	ck_assert_str_eq(id, longest);
	ck_assert(!ID_OF(id, W("--name"), longer));
	ck_assert(!ID_OF(id, W("--id")));
	ck_assert(!ID_OF(id, W("--id"), W("")));
	ck_assert(!ID_OF(id, W("--identity"), W("x")));
	ck_assert(!ID_OF(id, W("--id"), W("a b")));
	ck_assert(!ID_OF(id, W("--id"), W("\033[31m")));
	ck_assert(!ID_OF(id, W("--id"), W("a\nb")));
	ck_assert(!ID_OF(id, W("--id"), W("\xc3\xa4")));
	ck_assert(!hv_vmm_id_of(NULL, 0, id));
}
END_TEST

static int make_machine(void)
{
	HV_AUTO_FD int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	return kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
}

static size_t count(pid_t pid)
{
	HV_AUTO_FREE struct hv_vmm_process *list = NULL;
	size_t nr = 0, nr_found = 0;

	ck_assert_ptr_null(hv_vmm_processes(&list, &nr));
	for (size_t i = 0; i < nr; i++)
		nr_found += list[i].pid == pid;
	return nr_found;
}

START_TEST(holders_of_a_machine)
{
	static const char absent[] = "no process with a KVM machine has this id";
	HV_AUTO_FD int vm = -1;
	pid_t pid = 0;

	ck_assert_uint_eq(count(getpid()), 0);
	vm = make_machine();
	if (vm < 0)
		return;
	ck_assert_uint_eq(count(getpid()), 1);
	expect_error(hv_vmm_process_find("no such id", &pid), ENOENT, absent);
	/* this process claims no id */
	expect_error(hv_vmm_process_find("", &pid), ENOENT, absent);
}
END_TEST

/* The kernel's list equals the slots that this process has set, also after changes. */
START_TEST(slots_of_the_kernel)
{
	enum { NR = 20, PAGE = 4096 };
	static struct hv_kernel_slot slots[HV_KERNEL_SLOTS_MAX];
	HV_AUTO_FD int vm = make_machine();
	struct hv_kernel_kvm *kernel = NULL;
	uint8_t *memory = mmap(NULL, NR * NR * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hv_err *err = vm < 0 ? NULL : hv_kernel_kvm_open(getpid(), vm, &kernel);
	size_t nr = 0;

	if (vm < 0 || err) { /* no KVM, no BTF, or no permission */
		ck_assert(!err || err->code == ENOTSUP);
		hv_err_free(err);
		return;
	}
	ck_assert_ptr_null(hv_kernel_kvm_slots(kernel, slots, &nr));
	ck_assert_uint_eq(nr, 0);
	for (unsigned i = 0; i < NR; i++) {
		struct kvm_userspace_memory_region r = {
			.slot = i * 7 % NR,
			.guest_phys_addr = (uint64_t)(i * 3 % NR) << 20,
			.memory_size = PAGE * (i + 1),
			.userspace_addr = (uint64_t)(uintptr_t)memory + i * NR * PAGE,
		};

		ck_assert_int_eq(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &r), 0);
		ck_assert_ptr_null(hv_kernel_kvm_slots(kernel, slots, &nr));
		ck_assert_uint_eq(nr, i + 1);
	}
	for (unsigned i = 0; i < NR; i++) {
		unsigned at = i * 3 % NR;

		ck_assert_uint_eq(slots[at].start.v, (uint64_t)at << 20);
		ck_assert_uint_eq(slots[at].len_bytes, PAGE * (i + 1));
		ck_assert_uint_eq(slots[at].hva, (uint64_t)(uintptr_t)memory + i * NR * PAGE);
	}
	hv_kernel_kvm_free(kernel);
	munmap(memory, NR * NR * PAGE);
}
END_TEST

START_TEST(no_machine)
{
	HV_AUTO_FD int other = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct hv_kernel_kvm *kernel = NULL;
	HV_AUTO_ERR struct hv_err *err = hv_kernel_kvm_open(getpid(), other, &kernel);
	HV_AUTO_ERR struct hv_err *closed = hv_kernel_kvm_open(getpid(), 1 << 20, &kernel);

	ck_assert(err && (err->code == ESRCH || err->code == ENOTSUP));
	ck_assert(closed && (closed->code == ESRCH || closed->code == ENOTSUP));
}
END_TEST

static struct hv_err *list_processes(void *ctx hv_unused)
{
	struct hv_vmm_process *list = NULL;
	size_t nr = 0;

	return hv_vmm_processes(&list, &nr);
}

START_TEST(no_list_of_processes)
{
	static const struct failing_call calls[] = {{SCMP_SYS(openat), EACCES}, {0}};

	expect_failure(calls, list_processes, NULL, EACCES, "/proc: Permission denied");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, ids);
	tcase_add_test(tc, holders_of_a_machine);
	tcase_add_test(tc, slots_of_the_kernel);
	tcase_add_test(tc, no_machine);
	tcase_add_test(tc, no_list_of_processes);
}

int main(void)
{
	return run_suite("other_processes", add_tests);
}
