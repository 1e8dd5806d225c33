/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An hvtrace machine as a guest (vmm/guest.h). Its memory and region are mapped in this process,
 * and its vCPUs are threads of this process. */
#include <assert.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "vmm/minivm/machine.h"

static struct hv_err *no_ram(struct hv_gpa gpa, size_t len)
{
	return hv_err_new(EFAULT, "no RAM at guest physical 0x%llx (%zu bytes)",
			  (unsigned long long)gpa.v, len);
}

static struct hv_err *read_memory(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct hv_minivm *o = self;
	const uint8_t *host = hv_minivm_memory_at(&o->memory, gpa, len);

	if (!host)
		return no_ram(gpa, len);
	memcpy(buf, host, len);
	return NULL;
}

/* Replaces the pages of these bytes of text by copies, if that was prepared. */
static struct hv_err *make_shadow(struct hv_minivm *o, struct hv_gpa gpa, size_t len)
{
	const uint8_t *host = hv_minivm_memory_at(&o->memory, gpa, len);
	uint64_t off = host ? (uint64_t)(host - o->memory.host) : 0;
	struct hv_err *err;

	if (!host)
		return no_ram(gpa, len);
	err = hv_minivm_shadow_page(o, off);
	return err ? err : hv_minivm_shadow_page(o, off + len - 1);
}

/* All vCPUs must be stopped. */
static struct hv_err *read_registers(struct hv_minivm *o, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(o->nr_vcpus, nr);

	if (err)
		return err;
	for (unsigned i = 0; i < nr; i++) {
		struct kvm_regs regs;
		struct kvm_sregs sregs;
		bool is_decoded;

		if (ioctl(o->vcpus[i].fd, KVM_GET_REGS, &regs) < 0 ||
		    ioctl(o->vcpus[i].fd, KVM_GET_SREGS, &sregs) < 0)
			return hv_err_new(errno, "vCPU %u: registers: %s", i, strerror(errno));
		is_decoded = hv_arch_x86_64.decode_kvm_registers(
			(struct hv_span){(uint8_t *)&regs, sizeof(regs)},
			(struct hv_span){(uint8_t *)&sregs, sizeof(sregs)}, &ret[i]);
		assert(is_decoded); /* KVM's register sets are complete */
	}
	return NULL;
}

static struct hv_err *registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_minivm *o = self;
	struct hv_err *err = hv_minivm_stop_vcpus(o);

	if (err)
		return err;
	err = read_registers(o, ret, nr);
	hv_minivm_resume_vcpus(o);
	return err;
}

static struct hv_err *region(void *self, struct hv_region *ret)
{
	*ret = ((struct hv_minivm *)self)->region;
	return NULL;
}

static struct hv_err *ram_files(void *self, struct hv_ram_file *ret, size_t max, size_t *ret_nr)
{
	const struct hv_minivm *o = self;
	const struct hv_minivm_memory *m = &o->memory;
	uint64_t high_bytes = m->len_bytes - m->low_bytes;
	/* The file lacks the changes in copies of its pages. */
	bool is_memory = o->shadow.fd >= 0;
	int fd = is_memory ? o->shadow.memory_fd : m->read_fd;
	uint64_t off = is_memory ? (uint64_t)(uintptr_t)m->host : 0;

	if (fd < 0 || max < 2)
		return NULL;
	ret[0] = (struct hv_ram_file){hv_gpa(0), m->low_bytes, off, fd, is_memory};
	ret[1] = (struct hv_ram_file){hv_gpa(HV_MINIVM_HOLE_END), high_bytes, off + m->low_bytes,
				      fd, is_memory};
	*ret_nr = high_bytes ? 2 : 1;
	return NULL;
}

static void set_patched(struct hv_minivm *o, bool is_patched)
{
	pthread_mutex_lock(&o->lock);
	o->is_patched = is_patched;
	pthread_mutex_unlock(&o->lock);
}

static struct hv_err *pin(void *self)
{
	set_patched(self, true);
	return NULL;
}

static struct hv_err *prepare_text(void *self, const struct hv_gpa *gpas, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		hv_minivm_shadow_prepare(self, gpas[i]);
	return NULL;
}

/* Called when all patches are undone. */
static struct hv_err *unpin(void *self)
{
	struct hv_err *err = hv_minivm_shadow_put_back(self);

	if (!err)
		set_patched(self, false);
	return err;
}

static int exit_fd(void *self)
{
	return ((struct hv_minivm *)self)->gone[0];
}

static struct hv_err *stop_at(void *self, struct hv_gva at)
{
	return hv_minivm_stop_at(self, at);
}

static int stop_fd(void *self)
{
	return ((struct hv_minivm *)self)->stop_fds[1];
}

static struct hv_err *is_at_stop(void *self, bool *ret)
{
	return hv_minivm_is_at_stop(self, ret);
}

static void end_stop(void *self)
{
	hv_minivm_end_stop(self);
}

static struct hv_err *run_to(void *self, struct hv_gva at)
{
	return hv_minivm_run_to(self, at);
}

static struct hv_err *hold_begin(void *self, uint64_t max_ns)
{
	struct hv_minivm *o = self;
	struct hv_err *err = hv_minivm_stop_vcpus(o);

	if (err)
		return err;
	pthread_mutex_lock(&o->lock);
	o->is_held = true;
	o->hold_until_ns = hv_now_ns() + max_ns;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

static struct hv_err *over(void)
{
	return hv_err_new(ETIMEDOUT, "hold: timed out, so the guest is running again");
}

static struct hv_err *hold_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_minivm *o = self;

	return o->is_held ? read_registers(o, ret, nr) : over();
}

static struct hv_err *write_one(struct hv_minivm *o, const struct hv_hold_write *w)
{
	uint64_t off = w->gpa.v - o->region.gpa.v;
	struct hv_err *err;

	if (off < o->region.len_bytes && w->len_bytes <= o->region.len_bytes - off) {
		memcpy(o->region.host + off, w->bytes, w->len_bytes);
		return NULL;
	}
	err = make_shadow(o, w->gpa, w->len_bytes);
	if (!err)
		memcpy(hv_minivm_memory_at(&o->memory, w->gpa, w->len_bytes), w->bytes,
		       w->len_bytes);
	return err;
}

/* No write is late: the lock keeps the hold from timing out, and if this process is stopped, so are
 * its vCPUs. */
static struct hv_err *hold_write(void *self, const struct hv_hold_write *writes, size_t nr)
{
	struct hv_minivm *o = self;
	struct hv_err *err = NULL;

	pthread_mutex_lock(&o->lock);
	if (!o->is_held)
		err = over();
	for (size_t i = 0; !err && i < nr; i++)
		err = write_one(o, &writes[i]);
	pthread_mutex_unlock(&o->lock);
	return err;
}

/* Maps the same pages at the same address again. KVM is notified that the old mapping is gone, and
 * flushes every vCPU. */
static struct hv_err *hold_flush(void *self, uint64_t off, uint64_t len_bytes)
{
	struct hv_minivm *o = self;
	void *at;

	if (off > o->region.len_bytes || len_bytes > o->region.len_bytes - off)
		return hv_err_new(EINVAL, "offset 0x%llx is outside the region",
				  (unsigned long long)off);
	at = mmap(o->region.host + off, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		  o->region_fd, (off_t)off);
	return at == MAP_FAILED
		       ? hv_err_new(errno, "cannot map the region again: %s", strerror(errno))
		       : NULL;
}

static struct hv_err *hold_end(void *self)
{
	struct hv_minivm *o = self;
	bool was_held;

	pthread_mutex_lock(&o->lock);
	was_held = o->is_held;
	o->is_held = false;
	if (was_held)
		o->nr_stops--;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	return was_held ? NULL : over();
}

struct hv_guest *hv_minivm_guest(struct hv_minivm *o)
{
	static const struct hv_guest_ops ops = {
		.free = end_stop,
		.read = read_memory,
		.registers = registers,
		.region = region,
		.ram_files = ram_files,
		.pin = pin,
		.unpin = unpin,
		.prepare_text = prepare_text,
		.exit_fd = exit_fd,
		.stop_at = stop_at,
		.stop_fd = stop_fd,
		.is_at_stop = is_at_stop,
		.end_stop = end_stop,
		.run_to = run_to,
		.hold_begin = hold_begin,
		.hold_registers = hold_registers,
		.hold_write = hold_write,
		.hold_flush_translations = hold_flush,
		.hold_end = hold_end,
	};
	const struct hv_guest_info info = {
		.name = o->name,
		.id = o->name,
		.pid = getpid(),
		.accel = HV_ACCEL_KVM,
		.nr_vcpus = o->nr_vcpus,
		.arch = &hv_arch_x86_64,
		.ram_bytes = o->memory.len_bytes,
		.transport = "our own machine, RAM and region mapped",
	};

	return hv_guest_new(&ops, o, &info);
}
