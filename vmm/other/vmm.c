/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/other/vmm.h"

#include <inttypes.h>
#include <linux/kvm.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "vmm/inject/kvm.h"
#include "vmm/other/kernel_kvm.h"

#define GIB	     (1ull << 30)
#define REGION_UNIT  (1ull << 21) /* alignment of a region */
#define MARGIN_BYTES (16 * GIB)	  /* below the windows for devices at the end of the addresses */
#define PAUSE_TRIES  5		  /* a vCPU thread is outside KVM_RUN only for a moment */
#define PAUSE_MS     1

struct hv_other {
	char *name;
	char *id;
	struct hv_process process;
	struct hv_process_memory *memory;
	int pidfd;
	struct hv_kvm kvm; /* its files, at the last look */
	struct hv_kernel_kvm *kernel;
	struct hv_ram ram;
	struct hv_kernel_slot *slots; /* at the last look, owned */
	size_t nr_slots;
};

void hv_other_free(struct hv_other *o)
{
	if (!o)
		return;
	hv_kernel_kvm_free(o->kernel);
	hv_kvm_deinit(&o->kvm);
	hv_ram_deinit(&o->ram);
	hv_process_memory_free(o->memory);
	hv_process_close(&o->process);
	hv_close_at(&o->pidfd);
	free(o->slots);
	free(o->name);
	free(o->id);
	free(o);
}

/* -- RAM --------------------------------------------------------------------------------------- */

/* A region that hvtrace made is not RAM. */
static bool is_ram(const struct hv_other *o, const struct hv_kernel_slot *slot)
{
	return !(slot->flags & KVM_MEM_READONLY) &&
	       !(o->kvm.region_fd >= 0 && slot->start.v == o->kvm.region.gpa.v);
}

static bool are_known(const struct hv_other *o, const struct hv_kernel_slot *slots, size_t nr)
{
	return o->slots && nr == o->nr_slots && !memcmp(slots, o->slots, nr * sizeof(*slots));
}

/* Finds the KVM files again, because a region may have been created. */
static struct hv_err *look_at_files(struct hv_other *o)
{
	struct hv_kvm found;
	struct hv_err *err = hv_kvm_find(o->process.pid, &found);

	if (err)
		return err;
	hv_kvm_deinit(&o->kvm);
	o->kvm = found;
	return NULL;
}

/* Slots of memory that is in no file system, such as the registers of a device that the VMM passes
 * through (VFIO), are left out. */
static struct hv_err *add_slot(struct hv_ram *ram, const struct hv_kernel_slot *slot)
{
	struct hv_err *err = hv_ram_add(ram, slot->start, slot->len_bytes, slot->hva);

	if (!err || err->code != ENODEV)
		return err;
	hv_err_free(err);
	return NULL;
}

/* Takes SLOTS on success. */
static struct hv_err *use_slots(struct hv_other *o, struct hv_kernel_slot **slots, size_t nr)
{
	struct hv_ram found = {.process = o->memory};
	struct hv_err *err = look_at_files(o);

	if (!err)
		err = hv_process_memory_look_again(o->memory);
	for (size_t i = 0; !err && i < nr; i++)
		if (is_ram(o, &(*slots)[i]))
			err = add_slot(&found, &(*slots)[i]);
	hv_process_memory_end_look(o->memory);
	if (!err && !found.nr_ranges)
		err = hv_err_new(EFAULT, "the machine has no RAM that can be read");
	if (err) {
		hv_ram_deinit(&found);
		return err;
	}
	/* once a slot has disappeared, RAM counts as removable, and the service gets no files for
	 * it */
	found.can_go = o->ram.can_go || nr < o->nr_slots;
	hv_ram_deinit(&o->ram);
	o->ram = found;
	free(o->slots);
	o->slots = hv_take(*slots);
	o->nr_slots = nr;
	hv_process_memory_drop_unused(o->memory);
	return NULL;
}

static struct hv_err *look_at_ram(void *self)
{
	struct hv_other *o = self;
	HV_AUTO_FREE struct hv_kernel_slot *slots = hv_alloc(HV_KERNEL_SLOTS_MAX * sizeof(*slots));
	size_t nr = 0;
	struct hv_err *err = hv_kernel_kvm_slots(o->kernel, slots, &nr);

	return err || are_known(o, slots, nr) ? err : use_slots(o, &slots, nr);
}

static struct hv_err *read_ram(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct hv_other *o = self;

	if (!hv_ram_covers(&o->ram, gpa, len))
		hv_err_free(look_at_ram(o));
	return hv_ram_read(&o->ram, gpa, buf, len);
}

/* Below three quarters of the addresses, where neither RAM nor devices are: VMMs place hotplugged
 * RAM after RAM, and devices at the end of the addresses or below 512 GiB. */
static struct hv_err *find_free_gpa(void *self, unsigned bits, uint64_t len_bytes,
				    struct hv_gpa *ret)
{
	const struct hv_other *o = self;
	uint64_t end = bits < 64 ? (1ull << bits) / 4 * 3 : 0, floor = 4 * GIB;

	for (size_t i = 0; i < o->ram.nr_ranges; i++)
		if (o->ram.ranges[i].start.v + o->ram.ranges[i].len_bytes > floor)
			floor = o->ram.ranges[i].start.v + o->ram.ranges[i].len_bytes;
	if (end < MARGIN_BYTES + len_bytes + floor)
		return hv_err_new(ENOSPC,
				  "inject: no free guest-physical addresses for the region "
				  "below 2^%u",
				  bits);
	ret->v = (end - MARGIN_BYTES - len_bytes) & ~(REGION_UNIT - 1);
	return NULL;
}

/* -- vCPUs ------------------------------------------------------------------------------------- */

static struct hv_err *count_vcpus(void *self, unsigned *ret)
{
	struct hv_other *o = self;
	struct hv_err *err = hv_kvm_find_vcpus(&o->kvm);

	if (!err)
		*ret = o->kvm.nr_vcpus;
	return err;
}

static struct hv_err *vcpu_threads(void *self, pid_t *ret, size_t max, size_t *ret_nr)
{
	struct hv_other *o = self;
	struct hv_err *err = hv_kvm_find_vcpus(&o->kvm);

	if (!err && o->kvm.nr_vcpus > max)
		err = hv_err_new(E2BIG, "the guest has %u vCPUs; at most %zu are supported",
				 o->kvm.nr_vcpus, max);
	for (unsigned i = 0; !err && i < o->kvm.nr_vcpus; i++) {
		err = hv_kernel_kvm_thread(o->kernel, o->kvm.vcpu_fds[i], &ret[i]);
		if (!err && !hv_process_has_thread(o->process.pid, ret[i]))
			err = hv_err_new(ESRCH, "vCPU %u is not a thread of process %d", i,
					 (int)o->process.pid);
	}
	if (!err)
		*ret_nr = o->kvm.nr_vcpus;
	return err;
}

/* Whether a thread waits in a system call other than KVM_RUN. A running thread may be in the
 * guest. */
static bool is_outside(pid_t pid, pid_t tid)
{
	char path[64], line[64];
	unsigned long file, request = 0;
	long nr = -1;
	bool is_in_call;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	is_in_call = fgets(line, sizeof(line), f) &&
		     sscanf(line, "%ld %lx %lx", &nr, &file, &request) >= 1;
	fclose(f);
	return is_in_call && nr >= 0 && !(nr == SYS_ioctl && (uint32_t)request == KVM_RUN);
}

/* A VMM that pauses its guest takes all vCPU threads out of KVM_RUN. */
static struct hv_err *is_running(void *self)
{
	struct hv_other *o = self;
	HV_AUTO_FREE pid_t *tids = hv_alloc(HV_VCPUS_MAX * sizeof(*tids));
	size_t nr = 0;
	struct hv_err *err = vcpu_threads(o, tids, HV_VCPUS_MAX, &nr);

	for (unsigned tries = 0; !err && tries < PAUSE_TRIES; tries++) {
		size_t nr_outside = 0;

		for (size_t i = 0; i < nr; i++)
			nr_outside += is_outside(o->process.pid, tids[i]);
		if (nr_outside < nr)
			return NULL;
		poll(NULL, 0, PAUSE_MS);
	}
	return err ? err
		   : hv_err_new(EBUSY,
				"the guest is paused: no vCPU thread of process %d is in "
				"KVM_RUN",
				(int)o->process.pid);
}

static struct hv_err *refusal(void *self)
{
	const struct hv_other *o = self;

	if (hv_process_has_file(&o->process, "kvm-gmem"))
		return hv_err_new(EPERM, "confidential guest (guest_memfd): its memory cannot be "
					 "read");
	if (hv_process_has_file(&o->process, "/dev/sev"))
		return hv_err_new(EPERM, "confidential guest (SEV): its memory cannot be read");
	return is_running(self);
}

/* -- the VMM ----------------------------------------------------------------------------------- */

static void free_other(void *self)
{
	hv_other_free(self);
}

static void nothing(void *self hv_unused)
{
}

static struct hv_err *pages_are_its_own(void *self hv_unused)
{
	return hv_err_new(ENOTSUP, "cannot tell whether devices of this VMM access the guest's "
				   "RAM without the VMM's mappings");
}

static bool has_region(void *self hv_unused)
{
	return false;
}

struct hv_vmm hv_other_vmm(struct hv_other *o)
{
	static const struct hv_vmm_ops ops = {
		.free = free_other,
		.refusal = refusal,
		.is_running = is_running,
		.count_vcpus = count_vcpus,
		.vcpu_threads = vcpu_threads,
		.read = read_ram,
		.look_at_ram = look_at_ram,
		.held = nothing,
		.released = nothing,
		.pages_are_its_own = pages_are_its_own,
		.has_region = has_region,
		.find_free_gpa = find_free_gpa,
	};

	return (struct hv_vmm){
		.ops = &ops,
		.self = o,
		.name = o->name,
		.id = o->id,
		.accel = HV_ACCEL_KVM,
		.arch = hv_arch_find("x86_64"),
		.nr_vcpus = o->kvm.nr_vcpus,
		.monitor = "no monitor",
		.process = &o->process,
		.pidfd = o->pidfd,
		.memory = o->memory,
		.ram = &o->ram,
	};
}

static struct hv_err *check_host(void)
{
	struct utsname host;

	/* a VMM of another architecture or size of addresses than this program is not known */
	if (uname(&host) == 0 && !strcmp(host.machine, "x86_64"))
		return NULL;
	return hv_err_new(ENOTSUP, "a VMM without a monitor is supported on x86-64 hosts only");
}

static struct hv_err *open_process(struct hv_other *o, pid_t pid)
{
	struct hv_err *err = check_host();

	if (err)
		return err;
	o->pidfd = pidfd_open(pid, 0);
	if (o->pidfd < 0)
		return hv_err_new(errno, "process %d: %s", (int)pid, strerror(errno));
	err = hv_process_open(pid, &o->process);
	o->memory = hv_process_memory_new(pid, o->pidfd);
	return err ? err : hv_kvm_find(pid, &o->kvm);
}

/* The data belongs to the process of PIDFD if that has not ended. */
static struct hv_err *has_ended(const struct hv_other *o)
{
	struct pollfd p = {.fd = o->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 0 ? NULL
				   : hv_err_new(EHOSTDOWN, "the VMM, process %d, has ended",
						(int)o->process.pid);
}

struct hv_err *hv_other_open(pid_t pid, const char *name, struct hv_other **ret)
{
	struct hv_other *o = hv_alloc(sizeof(*o));
	struct hv_err *err;

	o->pidfd = -1;
	o->kvm.vm_fd = o->kvm.region_fd = o->kvm.pin_fd = -1;
	o->name = hv_strdup(name);
	o->id = hv_format("pid-%d", (int)pid);
	err = open_process(o, pid);
	if (!err)
		err = hv_kernel_kvm_open(pid, o->kvm.vm_fd, &o->kernel);
	if (!err)
		err = look_at_ram(o);
	if (!err)
		err = has_ended(o);
	if (err) {
		hv_other_free(o);
		return err;
	}
	*ret = o;
	return NULL;
}
