/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads structures of the host's kernel. The kernel is a fake: the structures below are its memory,
 * and this test makes their types. */
#include <bpf/btf.h>
#include <check.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/other/kernel_kvm.h"
#include "vmm/other/kernel_memory.h"

#define VM_FD	5
#define VCPU_FD 6
#define IDLE_FD 7 /* a vCPU that no thread has run */
#define VMM_PID 1000000
#define VMM_TID 1000001
#define PAGE	4096

struct fake_task {
	uint64_t tasks;
	int32_t tgid;
	uint64_t group_leader, files, mm;
};

struct fake_slot {
	uint64_t gfn_node[6]; /* two nodes: parent, right, left */
	uint64_t base_gfn, npages, userspace_addr;
	uint32_t flags;
};

struct fake_slots {
	uint64_t generation, gfn_tree;
	uint32_t node_idx;
	int32_t used_slots;
	struct fake_slot memslots[HV_KERNEL_SLOTS_MAX + 1];
};

struct fake_vcpu {
	uint64_t kvm, pid;
};

static struct fake_kernel {
	struct fake_task first, self, vmm;
	uint64_t fdt; /* struct files_struct */
	struct {
		uint32_t max_fds;
		uint64_t fd;
	} table;
	uint64_t fds[8];
	uint64_t vm_data, vcpu_data, idle_data; /* struct file */
	struct {
		uint64_t mm, memslots;
	} kvm;
	struct fake_vcpu vcpu, idle;
	struct {
		uint64_t count;
		int32_t numbers;
	} pid;
	struct fake_slots slots;
} kernel;

/* ABSENT: a member that the types lack. */
static const char *absent;
static bool has_types, is_old, changes;

static uint64_t at(const void *member)
{
	return (uint64_t)(uintptr_t)member;
}

static void make_kernel(void)
{
	memset(&kernel, 0, sizeof(kernel));
	absent = "";
	has_types = true;
	is_old = changes = false;
	kernel.first.tasks = at(&kernel.self.tasks);
	kernel.self = (struct fake_task){
		.tasks = at(&kernel.vmm.tasks), .tgid = getpid(), .group_leader = at(&kernel.self)};
	kernel.vmm = (struct fake_task){.tasks = at(&kernel.first.tasks),
					.tgid = VMM_PID,
					.files = at(&kernel.fdt),
					.mm = 0x1234};
	kernel.fdt = at(&kernel.table);
	kernel.table.max_fds = HV_ARRAY_LEN(kernel.fds);
	kernel.table.fd = at(kernel.fds);
	kernel.fds[VM_FD] = at(&kernel.vm_data);
	kernel.fds[VCPU_FD] = at(&kernel.vcpu_data);
	kernel.fds[IDLE_FD] = at(&kernel.idle_data);
	kernel.vm_data = at(&kernel.kvm);
	kernel.vcpu_data = at(&kernel.vcpu);
	kernel.idle_data = at(&kernel.idle);
	kernel.kvm.mm = kernel.vmm.mm;
	kernel.kvm.memslots = at(&kernel.slots);
	kernel.vcpu = (struct fake_vcpu){at(&kernel.kvm), at(&kernel.pid)};
	kernel.idle = (struct fake_vcpu){at(&kernel.kvm), 0};
	kernel.pid.numbers = VMM_TID;
}

/* Slot I is at page 2 * I. In the tree of index 1, each slot is the right child of the previous
 * one. */
static void make_slots(size_t nr)
{
	kernel.slots.node_idx = 1;
	kernel.slots.used_slots = (int32_t)nr;
	for (size_t i = 0; i < nr; i++) {
		struct fake_slot *slot = &kernel.slots.memslots[i];

		*slot = (struct fake_slot){.base_gfn = 2 * i, .npages = 1, .flags = i % 2};
		slot->userspace_addr = 0x7f0000000000 + i * PAGE;
		if (i + 1 < nr)
			slot->gfn_node[4] = at(&kernel.slots.memslots[i + 1].gfn_node[3]);
	}
	kernel.slots.gfn_tree = nr ? at(&kernel.slots.memslots[0].gfn_node[3]) : 0;
}

/* Makes each slot the left child of the previous one. */
static void make_left_tree(size_t nr)
{
	make_slots(nr);
	for (size_t i = 0; i + 1 < nr; i++) {
		uint64_t *node = &kernel.slots.memslots[i].gfn_node[3];

		node[2] = node[1];
		node[1] = 0;
	}
}

/* -- in place of libbpf and vmm/other/kernel_memory.c --------------------------------------------- */

static int word;

static void begin(struct btf *btf, const char *name, size_t size)
{
	ck_assert_int_gt(btf__add_struct(btf, name, (uint32_t)size), 0);
}

static void member(struct btf *btf, const char *name, size_t off)
{
	if (strcmp(name, absent) != 0)
		ck_assert_int_eq(btf__add_field(btf, name, word, (uint32_t)off * 8, 0), 0);
}

#define MEMBER(type, name) member(btf, #name, offsetof(type, name))

static void add_processes(struct btf *btf)
{
	begin(btf, "task_struct", sizeof(struct fake_task));
	MEMBER(struct fake_task, tasks);
	MEMBER(struct fake_task, tgid);
	MEMBER(struct fake_task, group_leader);
	MEMBER(struct fake_task, files);
	MEMBER(struct fake_task, mm);
	begin(btf, "files_struct", 8);
	member(btf, "fdt", 0);
	begin(btf, "fdtable", 16);
	member(btf, "max_fds", 0);
	member(btf, "fd", 8);
	begin(btf, "file", 8);
	member(btf, "private_data", 0);
	begin(btf, "pid", 16);
	member(btf, "numbers", 8);
}

/* The members of a vCPU are in a structure without a name. */
static void add_vcpu(struct btf *btf)
{
	int inner = btf__add_struct(btf, NULL, 16);

	MEMBER(struct fake_vcpu, kvm);
	MEMBER(struct fake_vcpu, pid);
	begin(btf, "kvm_vcpu", 16);
	ck_assert_int_eq(btf__add_field(btf, NULL, inner, 0, 0), 0);
}

static void add_machine(struct btf *btf)
{
	begin(btf, "kvm", 16);
	member(btf, "mm", 0);
	member(btf, "memslots", 8);
	begin(btf, "kvm_memslots", sizeof(struct fake_slots));
	MEMBER(struct fake_slots, generation);
	if (is_old) {
		MEMBER(struct fake_slots, used_slots);
		MEMBER(struct fake_slots, memslots);
	} else {
		MEMBER(struct fake_slots, gfn_tree);
		MEMBER(struct fake_slots, node_idx);
	}
	begin(btf, "kvm_memory_slot", sizeof(struct fake_slot));
	if (!is_old)
		MEMBER(struct fake_slot, gfn_node);
	MEMBER(struct fake_slot, base_gfn);
	MEMBER(struct fake_slot, npages);
	MEMBER(struct fake_slot, userspace_addr);
	MEMBER(struct fake_slot, flags);
}

struct btf *btf__load_vmlinux_btf(void)
{
	struct btf *btf;

	if (!has_types) {
		errno = ESRCH;
		return NULL;
	}
	btf = btf__new_empty();
	word = btf__add_int(btf, "word", 8, 0);
	add_processes(btf);
	add_vcpu(btf);
	add_machine(btf);
	return btf;
}

struct btf *btf__load_module_btf(const char *name hv_unused, struct btf *vmlinux hv_unused)
{
	return NULL;
}

struct hv_err *hv_kernel_memory_open(struct hv_kernel_memory *ret)
{
	*ret = HV_KERNEL_MEMORY_NONE;
	return NULL;
}

void hv_kernel_memory_close(struct hv_kernel_memory *k hv_unused)
{
}

bool hv_kernel_read(const struct hv_kernel_memory *k hv_unused, uint64_t from, void *to,
		    size_t len_bytes)
{
	if (from < at(&kernel) || from + len_bytes > at(&kernel + 1))
		return false;
	kernel.slots.generation += changes;
	memcpy(to, (const void *)(uintptr_t)from, len_bytes); /* NOLINT */
	return true;
}

uint64_t hv_kernel_this_task(const struct hv_kernel_memory *k hv_unused)
{
	return at(&kernel.self);
}

/* -- tests ------------------------------------------------------------------------------------- */

static struct hv_err *open_vmm(pid_t pid, int vm_fd)
{
	struct hv_kernel_kvm *k = NULL;
	struct hv_err *err = hv_kernel_kvm_open(pid, vm_fd, &k);

	hv_kernel_kvm_free(k);
	return err;
}

START_TEST(kernels_without_types)
{
	static const char *const members[][2] = {
		{"group_leader", "task_struct.group_leader"},
		{"max_fds", "fdtable.max_fds"},
		{"private_data", "file.private_data"},
		{"numbers", "pid.numbers"},
		{"pid", "kvm_vcpu.pid"},
		{"userspace_addr", "kvm_memory_slot.userspace_addr"},
	};

	make_kernel();
	has_types = false;
	expect_error(open_vmm(VMM_PID, VM_FD), ENOTSUP,
		     "the host's kernel has no BTF: No such process");
	has_types = true;
	for (size_t i = 0; i < HV_ARRAY_LEN(members); i++) {
		HV_AUTO_FREE char *message =
			hv_format("the BTF of the host's kernel has no %s", members[i][1]);

		absent = members[i][0];
		expect_error(open_vmm(VMM_PID, VM_FD), ENOTSUP, message);
	}
	absent = "gfn_tree";
	expect_error(open_vmm(VMM_PID, VM_FD), ENOTSUP,
		     "the BTF of the host's kernel has an unknown kvm_memslots");
	is_old = true;
	absent = "used_slots";
	expect_error(open_vmm(VMM_PID, VM_FD), ENOTSUP,
		     "the BTF of the host's kernel has an unknown kvm_memslots");
}
END_TEST

START_TEST(processes_without_a_machine)
{
	make_kernel();
	expect_success(open_vmm(VMM_PID, VM_FD));
	expect_error(open_vmm(VMM_PID + 1, VM_FD), ESRCH,
		     "the host's kernel shows no KVM machine of process 1000001");
	for (int fd = -1; fd < 10; fd++)
		if (fd != VM_FD)
			expect_error(open_vmm(VMM_PID, fd), ESRCH,
				     "the host's kernel shows no KVM machine of process 1000000");
	kernel.kvm.mm++; /* another process made the machine and passed it on */
	expect_error(open_vmm(VMM_PID, VM_FD), ESRCH,
		     "the host's kernel shows no KVM machine of process 1000000");
	kernel.self.tgid++;
	expect_error(open_vmm(VMM_PID, VM_FD), ENOTSUP,
		     "hvtrace is not in the host's first pid namespace");
}
END_TEST

START_TEST(threads_of_vcpus)
{
	struct hv_kernel_kvm *k = NULL;
	pid_t tid = 0;

	make_kernel();
	expect_success(hv_kernel_kvm_open(VMM_PID, VM_FD, &k));
	expect_success(hv_kernel_kvm_thread(k, VCPU_FD, &tid));
	ck_assert_int_eq(tid, VMM_TID);
	expect_error(hv_kernel_kvm_thread(k, IDLE_FD, &tid), ESRCH,
		     "no thread runs the vCPU of descriptor 7");
	expect_error(hv_kernel_kvm_thread(k, VM_FD, &tid), ESRCH,
		     "no thread runs the vCPU of descriptor 5");
	kernel.vcpu.kvm++; /* of another machine */
	expect_error(hv_kernel_kvm_thread(k, VCPU_FD, &tid), ESRCH,
		     "no thread runs the vCPU of descriptor 6");
	hv_kernel_kvm_free(k);
}
END_TEST

static struct hv_err *read_slots(struct hv_kernel_slot *slots, size_t *nr)
{
	struct hv_kernel_kvm *k = NULL;
	struct hv_err *err = hv_kernel_kvm_open(VMM_PID, VM_FD, &k);

	expect_success(err);
	err = hv_kernel_kvm_slots(k, slots, nr);
	hv_kernel_kvm_free(k);
	return err;
}

static void check_slots(size_t nr)
{
	static struct hv_kernel_slot slots[HV_KERNEL_SLOTS_MAX];
	size_t nr_read = 0;

	expect_success(read_slots(slots, &nr_read));
	ck_assert_uint_eq(nr_read, nr);
	for (size_t i = 0; i < nr; i++) {
		ck_assert_uint_eq(slots[i].start.v, 2 * i * PAGE);
		ck_assert_uint_eq(slots[i].len_bytes, PAGE);
		ck_assert_uint_eq(slots[i].hva, 0x7f0000000000 + i * PAGE);
		ck_assert_uint_eq(slots[i].flags, i % 2);
	}
}

/* _i: 0: a kernel with a tree, 1: one before Linux 5.17. */
START_TEST(slots_of_both_kinds)
{
	static struct hv_kernel_slot slots[HV_KERNEL_SLOTS_MAX];
	size_t nr = 0;

	make_kernel();
	is_old = _i;
	check_slots(0);
	for (size_t i = 1; i <= HV_KERNEL_SLOTS_MAX; i *= 2) {
		make_slots(i);
		check_slots(i);
	}
	make_left_tree(50);
	check_slots(50);
	make_slots(HV_KERNEL_SLOTS_MAX + 1);
	expect_error(read_slots(slots, &nr), E2BIG, "the machine has more than 1024 memory slots");
	make_slots(3);
	changes = true;
	expect_error(read_slots(slots, &nr), EAGAIN,
		     "the machine's memory slots cannot be read; retry");
}
END_TEST

/* Memory that the kernel reuses while it is read can be anything. */
START_TEST(invalid_memory_slots)
{
	static struct hv_kernel_slot slots[HV_KERNEL_SLOTS_MAX];
	static const char why[] = "the machine's memory slots cannot be read; retry";
	size_t nr = 0;

	make_kernel();
	make_slots(3);
	kernel.slots.node_idx = 2;
	expect_error(read_slots(slots, &nr), EAGAIN, why);
	kernel.slots.node_idx = 1;
	kernel.slots.memslots[1].gfn_node[4] = 8;
	expect_error(read_slots(slots, &nr), EAGAIN, why);
	/* A slot without pages that is its own child. */
	kernel.slots.memslots[1].npages = 0;
	kernel.slots.memslots[1].gfn_node[4] = at(&kernel.slots.memslots[1].gfn_node[3]);
	expect_error(read_slots(slots, &nr), E2BIG, "the machine has more than 1024 memory slots");
	is_old = true;
	kernel.slots.used_slots = -1;
	expect_error(read_slots(slots, &nr), EAGAIN, why);
	kernel.kvm.memslots = 0;
	expect_error(read_slots(slots, &nr), EAGAIN, why);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, kernels_without_types);
	tcase_add_test(tc, processes_without_a_machine);
	tcase_add_test(tc, threads_of_vcpus);
	tcase_add_loop_test(tc, slots_of_both_kinds, 0, 2);
	tcase_add_test(tc, invalid_memory_slots);
}

int main(void)
{
	return run_suite("kernel_kvm", add_tests);
}
