/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/other/kernel_kvm.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "vmm/other/kernel_memory.h"

#define TASKS_MAX  (1u << 20)
#define TRIES	   16
#define DEPTH_MAX  64 /* of the tree of slots */
#define PAGE_BYTES 4096
#define NESTED_MAX 8 /* anonymous structures in each other */

/* Offsets of struct rb_node (include/linux/rbtree_types.h). */
#define RB_NODE_BYTES 24
#define RB_RIGHT      8
#define RB_LEFT	      16

/* Offsets of members in bytes, from the kernel's BTF. */
struct offsets {
	struct {
		uint32_t tasks, tgid, group_leader, files, mm;
	} task;
	uint32_t files_fdt;
	struct {
		uint32_t max_fds, fd;
	} fdtable;
	uint32_t file_private;
	struct {
		uint32_t mm, memslots;
	} kvm;
	struct {
		uint32_t kvm, pid;
	} vcpu;
	uint32_t pid_numbers; /* of struct pid; the number is struct upid's first member */
	struct {
		uint32_t generation;
		uint32_t gfn_tree, node_idx; /* since Linux 5.17 (a54d806688fe) */
		uint32_t used_slots, list;   /* before */
		bool is_tree;
	} slots;
	struct {
		uint32_t base_gfn, npages, userspace_addr, flags, gfn_node, len_bytes;
	} slot;
};

struct hv_kernel_kvm {
	struct hv_kernel_memory memory;
	struct offsets off;
	uint64_t task;
	uint64_t kvm;
};

/* -- types ------------------------------------------------------------------------------------- */

static bool find_in(const struct btf *btf, const struct btf_type *type, const char *name,
		    uint32_t base_bits, unsigned depth, uint32_t *ret)
{
	const struct btf_member *m = btf_members(type);

	for (unsigned i = 0; i < btf_vlen(type); i++, m++) {
		const char *is = btf__name_by_offset(btf, m->name_off);
		uint32_t bits = base_bits + btf_member_bit_offset(type, i);
		const struct btf_type *inner;

		if (is && !strcmp(is, name)) {
			*ret = bits / 8;
			return true;
		}
		if ((is && *is) || depth == NESTED_MAX)
			continue;
		inner = btf__type_by_id(btf, (uint32_t)btf__resolve_type(btf, m->type));
		if (inner && btf_is_composite(inner) &&
		    find_in(btf, inner, name, bits, depth + 1, ret))
			return true;
	}
	return false;
}

static const struct btf_type *structure(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static bool has_member(const struct btf *btf, const char *of, const char *name, uint32_t *ret)
{
	const struct btf_type *type = structure(btf, of);

	return type && find_in(btf, type, name, 0, 0, ret);
}

static struct hv_err *find_offsets(const struct btf *btf, struct offsets *o)
{
	const struct {
		const char *of, *name;
		uint32_t *to;
	} members[] = {
		{"task_struct", "tasks", &o->task.tasks},
		{"task_struct", "tgid", &o->task.tgid},
		{"task_struct", "group_leader", &o->task.group_leader},
		{"task_struct", "files", &o->task.files},
		{"task_struct", "mm", &o->task.mm},
		{"files_struct", "fdt", &o->files_fdt},
		{"fdtable", "max_fds", &o->fdtable.max_fds},
		{"fdtable", "fd", &o->fdtable.fd},
		{"file", "private_data", &o->file_private},
		{"kvm", "mm", &o->kvm.mm},
		{"kvm", "memslots", &o->kvm.memslots},
		{"kvm_vcpu", "kvm", &o->vcpu.kvm},
		{"kvm_vcpu", "pid", &o->vcpu.pid},
		{"pid", "numbers", &o->pid_numbers},
		{"kvm_memslots", "generation", &o->slots.generation},
		{"kvm_memory_slot", "base_gfn", &o->slot.base_gfn},
		{"kvm_memory_slot", "npages", &o->slot.npages},
		{"kvm_memory_slot", "userspace_addr", &o->slot.userspace_addr},
		{"kvm_memory_slot", "flags", &o->slot.flags},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(members); i++)
		if (!has_member(btf, members[i].of, members[i].name, members[i].to))
			return hv_err_new(ENOTSUP, "the BTF of the host's kernel has no %s.%s",
					  members[i].of, members[i].name);
	o->slot.len_bytes = structure(btf, "kvm_memory_slot")->size;
	o->slots.is_tree = has_member(btf, "kvm_memslots", "gfn_tree", &o->slots.gfn_tree) &&
			   has_member(btf, "kvm_memslots", "node_idx", &o->slots.node_idx) &&
			   has_member(btf, "kvm_memory_slot", "gfn_node", &o->slot.gfn_node);
	if (o->slots.is_tree ||
	    (has_member(btf, "kvm_memslots", "used_slots", &o->slots.used_slots) &&
	     has_member(btf, "kvm_memslots", "memslots", &o->slots.list)))
		return NULL;
	return hv_err_new(ENOTSUP, "the BTF of the host's kernel has an unknown kvm_memslots");
}

/* KVM can be a module, whose BTF is in another file. */
static struct hv_err *load_offsets(struct offsets *ret)
{
	/* libbpf writes its own messages to standard error, in addition to the error */
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	struct btf *kernel = btf__load_vmlinux_btf();
	int code = errno;
	struct btf *kvm = kernel ? btf__load_module_btf("kvm", kernel) : NULL;
	struct hv_err *err =
		kernel ? find_offsets(kvm ? kvm : kernel, ret)
		       : hv_err_new(ENOTSUP, "the host's kernel has no BTF: %s", strerror(code));

	libbpf_set_print(print);
	btf__free(kvm);
	btf__free(kernel);
	return err;
}

/* -- the kernel's structures ------------------------------------------------------------------- */

static bool read_at(const struct hv_kernel_kvm *k, uint64_t at, uint32_t off, void *to, size_t len)
{
	return at && hv_kernel_read(&k->memory, at + off, to, len);
}

/* Finds the task of process PID in the list of all processes, which may change at the same time. */
static uint64_t find_task(const struct hv_kernel_kvm *k, uint64_t first, pid_t pid)
{
	uint64_t task = first;

	for (unsigned i = 0; i < TASKS_MAX; i++) {
		int32_t tgid = 0;
		uint64_t next = 0;

		if (!read_at(k, task, k->off.task.tgid, &tgid, sizeof(tgid)))
			return 0;
		if (tgid == pid)
			return task;
		if (!read_at(k, task, k->off.task.tasks, &next, sizeof(next)))
			return 0;
		task = next - k->off.task.tasks;
		if (task == first)
			return 0;
	}
	return 0;
}

/* Returns the private data of the process's descriptor FD, or 0. */
static uint64_t private_of(const struct hv_kernel_kvm *k, int fd)
{
	uint64_t files = 0, table = 0, list = 0, file = 0, private = 0;
	uint32_t max_fds = 0;

	if (fd < 0 || !read_at(k, k->task, k->off.task.files, &files, sizeof(files)) ||
	    !read_at(k, files, k->off.files_fdt, &table, sizeof(table)) ||
	    !read_at(k, table, k->off.fdtable.max_fds, &max_fds, sizeof(max_fds)) ||
	    (uint32_t)fd >= max_fds || !read_at(k, table, k->off.fdtable.fd, &list, sizeof(list)) ||
	    !read_at(k, list, 8 * (uint32_t)fd, &file, sizeof(file)) ||
	    !read_at(k, file, k->off.file_private, &private, sizeof(private)))
		return 0;
	return private;
}

static struct hv_err *find(struct hv_kernel_kvm *k, pid_t pid, int vm_fd)
{
	uint64_t self = hv_kernel_this_task(&k->memory), leader = 0, mm = 0, kvm_mm = 1;
	int32_t tgid = 0;

	if (!read_at(k, self, k->off.task.group_leader, &leader, sizeof(leader)) ||
	    !read_at(k, leader, k->off.task.tgid, &tgid, sizeof(tgid)) || tgid != getpid())
		return hv_err_new(ENOTSUP, "hvtrace is not in the host's first pid namespace");
	for (unsigned i = 0; !k->task && i < TRIES; i++)
		k->task = find_task(k, leader, pid);
	k->kvm = private_of(k, vm_fd);
	/* VM_FD may be another kind of file, but only a machine of this process has its mm here */
	if (read_at(k, k->task, k->off.task.mm, &mm, sizeof(mm)) &&
	    read_at(k, k->kvm, k->off.kvm.mm, &kvm_mm, sizeof(kvm_mm)) && mm == kvm_mm)
		return NULL;
	return hv_err_new(ESRCH, "the host's kernel shows no KVM machine of process %d", (int)pid);
}

struct hv_err *hv_kernel_kvm_open(pid_t pid, int vm_fd, struct hv_kernel_kvm **ret)
{
	struct hv_kernel_kvm *k = hv_alloc(sizeof(*k));
	struct hv_err *err;

	k->memory = HV_KERNEL_MEMORY_NONE;
	err = load_offsets(&k->off);
	if (!err)
		err = hv_kernel_memory_open(&k->memory);
	if (!err)
		err = find(k, pid, vm_fd);
	if (err) {
		hv_kernel_kvm_free(k);
		return err;
	}
	*ret = k;
	return NULL;
}

void hv_kernel_kvm_free(struct hv_kernel_kvm *k)
{
	if (k)
		hv_kernel_memory_close(&k->memory);
	free(k);
}

struct hv_err *hv_kernel_kvm_thread(const struct hv_kernel_kvm *k, int vcpu_fd, pid_t *ret)
{
	uint64_t vcpu = private_of(k, vcpu_fd), kvm = 0, pid = 0;
	int32_t tid = 0;

	if (!read_at(k, vcpu, k->off.vcpu.kvm, &kvm, sizeof(kvm)) || kvm != k->kvm ||
	    !read_at(k, vcpu, k->off.vcpu.pid, &pid, sizeof(pid)) ||
	    !read_at(k, pid, k->off.pid_numbers, &tid, sizeof(tid)) || tid <= 0)
		return hv_err_new(ESRCH, "no thread runs the vCPU of descriptor %d", vcpu_fd);
	*ret = tid;
	return NULL;
}

/* -- slots ------------------------------------------------------------------------------------- */

struct list {
	struct hv_kernel_slot *to;
	size_t nr;
	size_t nr_visited; /* freed memory may contain a circle */
	bool is_full;	   /* and there are more */
};

static bool add_slot(const struct hv_kernel_kvm *k, uint64_t slot, struct list *list)
{
	struct hv_kernel_slot *to;
	uint64_t base = 0, pages = 0;

	list->is_full = list->nr_visited++ == HV_KERNEL_SLOTS_MAX;
	if (list->is_full)
		return false;
	to = &list->to[list->nr];
	if (!read_at(k, slot, k->off.slot.base_gfn, &base, sizeof(base)) ||
	    !read_at(k, slot, k->off.slot.npages, &pages, sizeof(pages)) ||
	    !read_at(k, slot, k->off.slot.userspace_addr, &to->hva, sizeof(to->hva)) ||
	    !read_at(k, slot, k->off.slot.flags, &to->flags, sizeof(to->flags)))
		return false;
	to->start.v = base * PAGE_BYTES;
	to->len_bytes = pages * PAGE_BYTES;
	list->nr += pages != 0;
	return true;
}

/* Visits the tree in any order. Each slot contains a node for each of two trees; one tree is
 * active. */
static bool add_tree(const struct hv_kernel_kvm *k, uint64_t slots, struct list *list)
{
	uint64_t left[DEPTH_MAX], node = 0, next;
	uint32_t index = 0;
	unsigned nr = 0;

	if (!read_at(k, slots, k->off.slots.node_idx, &index, sizeof(index)) || index > 1 ||
	    !read_at(k, slots, k->off.slots.gfn_tree, &node, sizeof(node)))
		return false;
	while (node) {
		if (!add_slot(k, node - k->off.slot.gfn_node - index * RB_NODE_BYTES, list) ||
		    !read_at(k, node, RB_LEFT, &next, sizeof(next)))
			return false;
		if (next && nr == DEPTH_MAX)
			return false;
		if (next)
			left[nr++] = next;
		if (!read_at(k, node, RB_RIGHT, &next, sizeof(next)))
			return false;
		node = next ? next : nr ? left[--nr] : 0;
	}
	return true;
}

static bool add_array(const struct hv_kernel_kvm *k, uint64_t slots, struct list *list)
{
	int32_t nr = 0;

	if (!read_at(k, slots, k->off.slots.used_slots, &nr, sizeof(nr)) || nr < 0)
		return false;
	for (int32_t i = 0; i < nr; i++)
		if (!add_slot(k, slots + k->off.slots.list + (uint32_t)i * k->off.slot.len_bytes,
			      list))
			return false;
	return true;
}

/* Which version of the slots is active. */
struct version {
	uint64_t slots;
	uint64_t generation;
};

static bool read_version(const struct hv_kernel_kvm *k, struct version *ret)
{
	return read_at(k, k->kvm, k->off.kvm.memslots, &ret->slots, sizeof(ret->slots)) &&
	       read_at(k, ret->slots, k->off.slots.generation, &ret->generation,
		       sizeof(ret->generation));
}

static int by_start(const void *a, const void *b)
{
	const struct hv_kernel_slot *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

/* The kernel changes the slots that are not active, then makes them active. So a list is consistent
 * if the same slots were active before and after it was read. */
struct hv_err *hv_kernel_kvm_slots(const struct hv_kernel_kvm *k, struct hv_kernel_slot *ret,
				   size_t *ret_nr)
{
	struct list list = {0};

	for (unsigned i = 0; i < TRIES; i++) {
		struct version before = {0}, after = {0};
		bool is_read;

		list = (struct list){.to = ret};
		is_read = read_version(k, &before) &&
			  (k->off.slots.is_tree ? add_tree(k, before.slots, &list)
						: add_array(k, before.slots, &list)) &&
			  read_version(k, &after) && before.slots == after.slots &&
			  before.generation == after.generation;
		if (!is_read)
			continue;
		qsort(ret, list.nr, sizeof(*ret), by_start);
		*ret_nr = list.nr;
		return NULL;
	}
	if (list.is_full)
		return hv_err_new(E2BIG, "the machine has more than %u memory slots",
				  HV_KERNEL_SLOTS_MAX);
	return hv_err_new(EAGAIN, "the machine's memory slots cannot be read; retry");
}
