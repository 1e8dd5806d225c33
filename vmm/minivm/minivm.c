/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/minivm/minivm.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vmm/minivm/cpu.h"
#include "vmm/minivm/machine.h"
#include "vmm/minivm/memory.h"
#include "vmm/minivm/tables.h"

/* KVM on Intel CPUs needs three pages for the TSS and one for the identity map. */
#define TSS_ADDRESS	 UINT64_C(0xfffbd000)
#define IDENTITY_ADDRESS UINT64_C(0xfffbc000)
#define REGION_BYTES	 (UINT64_C(64) << 20)
#define REGION_ALIGN	 (UINT64_C(1) << 30)

enum { SLOT_LOW, SLOT_HIGH, SLOT_REGION };

static struct hv_err *kvm_failed(const char *what)
{
	return hv_err_new(errno, "/dev/kvm: %s: %s", what, strerror(errno));
}

static struct hv_err *no_region(void)
{
	return hv_err_new(errno, "cannot make the region: %s", strerror(errno));
}

static struct hv_err *no_vcpu(unsigned id)
{
	return hv_err_new(errno, "/dev/kvm: KVM_CREATE_VCPU: vCPU %u: %s", id, strerror(errno));
}

static void set_irq(void *ctx, unsigned level)
{
	struct hv_minivm *o = ctx;
	struct kvm_irq_level irq = {.irq = HV_MINIVM_SERIAL_IRQ, .level = level};

	/* Fails only if the line does not exist. */
	ioctl(o->vm_fd, KVM_IRQ_LINE, &irq);
}

static struct hv_err *open_kvm(struct hv_minivm *o)
{
	struct hv_err *err;

	o->kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (o->kvm_fd < 0)
		return hv_err_new(errno, "/dev/kvm: %s: KVM is needed to run a machine",
				  strerror(errno));
	if (ioctl(o->kvm_fd, KVM_GET_API_VERSION, 0) != KVM_API_VERSION)
		return hv_err_new(ENOTSUP, "/dev/kvm: the version of its interface is not %d",
				  KVM_API_VERSION);
	if (ioctl(o->kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_IRQCHIP) <= 0 ||
	    ioctl(o->kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_PIT2) <= 0 ||
	    ioctl(o->kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_IMMEDIATE_EXIT) <= 0)
		return hv_err_new(ENOTSUP, "/dev/kvm: this KVM lacks interrupt controllers, a "
					   "timer or immediate exits");
	err = hv_minivm_trial(o->kvm_fd);
	if (err)
		return err;
	o->vm_fd = ioctl(o->kvm_fd, KVM_CREATE_VM, 0);
	return o->vm_fd < 0 ? kvm_failed("KVM_CREATE_VM") : NULL;
}

static struct hv_err *make_chips(struct hv_minivm *o)
{
	struct kvm_pit_config pit = {.flags = KVM_PIT_SPEAKER_DUMMY};
	uint64_t identity = IDENTITY_ADDRESS;

	if (ioctl(o->vm_fd, KVM_SET_IDENTITY_MAP_ADDR, &identity) < 0)
		return kvm_failed("KVM_SET_IDENTITY_MAP_ADDR");
	if (ioctl(o->vm_fd, KVM_SET_TSS_ADDR, TSS_ADDRESS) < 0)
		return kvm_failed("KVM_SET_TSS_ADDR");
	if (ioctl(o->vm_fd, KVM_CREATE_IRQCHIP, 0) < 0)
		return kvm_failed("KVM_CREATE_IRQCHIP");
	return ioctl(o->vm_fd, KVM_CREATE_PIT2, &pit) < 0 ? kvm_failed("KVM_CREATE_PIT2") : NULL;
}

static struct hv_err *set_slot(struct hv_minivm *o, uint32_t slot, struct hv_gpa gpa, uint8_t *host,
			       uint64_t len_bytes)
{
	struct kvm_userspace_memory_region r = {
		.slot = slot,
		.guest_phys_addr = gpa.v,
		.memory_size = len_bytes,
		.userspace_addr = (uintptr_t)host,
	};

	if (ioctl(o->vm_fd, KVM_SET_USER_MEMORY_REGION, &r) < 0)
		return hv_err_new(errno, "/dev/kvm: memory at guest physical 0x%llx: %s",
				  (unsigned long long)gpa.v, strerror(errno));
	return NULL;
}

static struct hv_err *make_region(struct hv_minivm *o)
{
	uint64_t end = hv_minivm_memory_end(&o->memory).v;
	void *host;

	if (end < HV_MINIVM_HOLE_END)
		end = HV_MINIVM_HOLE_END;
	o->region.gpa = hv_gpa((end + REGION_ALIGN - 1) & ~(REGION_ALIGN - 1));
	o->region_fd = memfd_create("hvtrace-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (o->region_fd < 0 || ftruncate(o->region_fd, (off_t)REGION_BYTES) != 0 ||
	    fcntl(o->region_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
		return no_region();
	host = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, o->region_fd, 0);
	if (host == MAP_FAILED)
		return no_region();
	madvise(host, REGION_BYTES, MADV_DONTFORK);
	o->region.host = host;
	o->region.len_bytes = REGION_BYTES;
	o->region.fd = o->region_fd;
	return set_slot(o, SLOT_REGION, o->region.gpa, o->region.host, REGION_BYTES);
}

static struct hv_err *make_memory(struct hv_minivm *o, uint64_t len_bytes)
{
	struct hv_minivm_memory *m = &o->memory;
	struct hv_err *err = hv_minivm_memory_init(m, len_bytes);

	if (!err)
		err = set_slot(o, SLOT_LOW, hv_gpa(0), m->host, m->low_bytes);
	if (!err && m->len_bytes > m->low_bytes)
		err = set_slot(o, SLOT_HIGH, hv_gpa(HV_MINIVM_HOLE_END), m->host + m->low_bytes,
			       m->len_bytes - m->low_bytes);
	return err ? err : make_region(o);
}

static struct hv_err *make_vcpu(struct hv_minivm *o, unsigned id)
{
	struct hv_minivm_vcpu *v = &o->vcpus[id];
	void *run;

	v->vm = o;
	v->id = id;
	v->fd = ioctl(o->vm_fd, KVM_CREATE_VCPU, id);
	if (v->fd < 0)
		return no_vcpu(id);
	run = mmap(NULL, o->run_len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	if (run == MAP_FAILED)
		return no_vcpu(id);
	madvise(run, o->run_len_bytes, MADV_DONTFORK);
	v->run = run;
	return hv_err_in(hv_minivm_cpu_identify(o->kvm_fd, v->fd, id, o->nr_vcpus), "vCPU %u", id);
}

static struct hv_err *make_vcpus(struct hv_minivm *o, unsigned nr)
{
	int len = ioctl(o->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	struct hv_err *err = NULL;

	if (len < (int)sizeof(struct kvm_run))
		return kvm_failed("KVM_GET_VCPU_MMAP_SIZE");
	o->run_len_bytes = (size_t)len;
	o->vcpus = hv_alloc(nr * sizeof(*o->vcpus));
	o->nr_vcpus = nr;
	for (unsigned i = 0; i < nr; i++)
		o->vcpus[i].fd = -1;
	for (unsigned i = 0; !err && i < nr; i++)
		err = make_vcpu(o, i);
	return err;
}

static struct hv_err *load(struct hv_minivm *o, const struct hv_minivm_config *config)
{
	const struct hv_minivm_boot boot = {config->kernel_path, config->initrd_path,
					    config->append, config->nr_vcpus};
	struct hv_gpa entry;
	struct hv_err *err = hv_minivm_boot_load(&o->memory, &boot, &entry);

	if (err)
		return err;
	hv_minivm_cpu_tables(&o->memory);
	return hv_minivm_cpu_start(o->vcpus[0].fd, entry);
}

static struct hv_err *make(struct hv_minivm *o, const struct hv_minivm_config *config)
{
	struct hv_err *err = open_kvm(o);

	if (!err)
		err = make_chips(o);
	if (!err)
		err = make_memory(o, config->memory_bytes);
	if (!err)
		err = make_vcpus(o, config->nr_vcpus);
	if (!err)
		err = load(o, config);
	if (!err && config->shadow)
		err = hv_minivm_shadow_want(o);
	if (err)
		return err;
	o->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->end_fd < 0 || pipe2(o->gone, O_CLOEXEC) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, o->stop_fds) != 0)
		return hv_err_new(errno, "cannot make the files that end the machine: %s",
				  strerror(errno));
	return hv_minivm_serial_new(config->console_in_fd, config->console_out_fd, set_irq, o,
				    &o->serial);
}

struct hv_err *hv_minivm_new(const struct hv_minivm_config *config, struct hv_minivm **ret)
{
	struct hv_minivm *o;
	struct hv_err *err;

	if (!config->nr_vcpus || config->nr_vcpus > HV_MINIVM_CPUS_MAX)
		return hv_err_new(EINVAL, "%u vCPUs: 1 to %u are possible", config->nr_vcpus,
				  HV_MINIVM_CPUS_MAX);
	o = hv_alloc(sizeof(*o));
	o->kvm_fd = o->vm_fd = o->end_fd = o->region_fd = -1;
	o->stop_fds[0] = o->stop_fds[1] = -1;
	o->gone[0] = o->gone[1] = -1;
	o->shadow.fd = o->shadow.memory_fd = -1;
	o->name = hv_strdup(config->name);
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->changed, NULL);
	err = make(o, config);
	if (err) {
		hv_minivm_free(o);
		return err;
	}
	*ret = o;
	return NULL;
}

/* Blocks all signals in the new threads; other threads of the process handle them. */
static int start_vcpus(struct hv_minivm *o)
{
	sigset_t all, before;
	int code = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&o->lock);
	o->is_started = true;
	for (unsigned i = 0; !code && i < o->nr_vcpus; i++) {
		struct hv_minivm_vcpu *v = &o->vcpus[i];

		code = pthread_create(&v->thread, NULL, hv_minivm_vcpu_main, v);
		v->has_thread = !code;
	}
	pthread_mutex_unlock(&o->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

struct hv_err *hv_minivm_start(struct hv_minivm *o)
{
	struct hv_err *err = hv_minivm_serial_start(o->serial);
	int code = err ? 0 : start_vcpus(o);

	if (code)
		err = hv_err_new(code, "thread of a vCPU: %s", strerror(code));
	if (err)
		hv_minivm_stop(o);
	return err;
}

void hv_minivm_stop(struct hv_minivm *o)
{
	hv_minivm_end(o, NULL);
}

static void free_vcpus(struct hv_minivm *o)
{
	for (unsigned i = 0; i < o->nr_vcpus; i++) {
		struct hv_minivm_vcpu *v = &o->vcpus[i];

		if (v->has_thread)
			pthread_join(v->thread, NULL);
		if (v->run)
			munmap(v->run, o->run_len_bytes);
		if (v->fd >= 0)
			close(v->fd);
	}
	free(o->vcpus);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void hv_minivm_free(struct hv_minivm *o)
{
	if (!o)
		return;
	if (o->end_fd >= 0)
		hv_minivm_stop(o);
	free_vcpus(o);
	hv_minivm_serial_free(o->serial);
	close_fd(o->vm_fd);
	close_fd(o->kvm_fd);
	close_fd(o->end_fd);
	close_fd(o->gone[0]);
	close_fd(o->gone[1]);
	close_fd(o->stop_fds[0]);
	close_fd(o->stop_fds[1]);
	if (o->region.host)
		munmap(o->region.host, o->region.len_bytes);
	close_fd(o->region_fd);
	hv_minivm_shadow_deinit(o);
	hv_minivm_memory_deinit(&o->memory);
	hv_err_free(o->error);
	pthread_cond_destroy(&o->changed);
	pthread_mutex_destroy(&o->lock);
	free(o->name);
	free(o);
}

int hv_minivm_end_fd(const struct hv_minivm *o)
{
	return o->end_fd;
}

struct hv_err *hv_minivm_end_error(struct hv_minivm *o)
{
	struct hv_err *err;

	pthread_mutex_lock(&o->lock);
	err = o->error;
	o->error = NULL;
	pthread_mutex_unlock(&o->lock);
	return err;
}

void hv_minivm_let_go(struct hv_minivm *o)
{
	pthread_mutex_lock(&o->lock);
	close_fd(o->gone[1]);
	o->gone[1] = -1;
	pthread_mutex_unlock(&o->lock);
}

bool hv_minivm_is_patched(struct hv_minivm *o)
{
	bool is_patched;

	pthread_mutex_lock(&o->lock);
	is_patched = o->is_patched;
	pthread_mutex_unlock(&o->lock);
	return is_patched;
}

/* -- stops ------------------------------------------------------------------------------------- */

/* Stops the whole machine at a point: a breakpoint, or the first write of the per-CPU base. */

/* Waits, under the lock, until the point is reached and all vCPUs are stopped. Fails with ECANCELED
 * if the machine ended before. */
static struct hv_err *wait_reached(struct hv_minivm *o)
{
	while (!o->is_ended && !(o->reached_by && o->nr_parked == o->nr_vcpus))
		pthread_cond_wait(&o->changed, &o->lock);
	return o->is_ended ? hv_err_new(ECANCELED,
					"the machine ended before its kernel could be traced")
			   : NULL;
}

/* Runs the machine until the event of WATCH. */
static struct hv_err *run_until_reached(struct hv_minivm *o, enum hv_minivm_watch watch)
{
	struct hv_err *err = NULL;

	pthread_mutex_lock(&o->lock);
	o->watch = watch;
	o->reached_by = NULL;
	if (o->nr_stops)
		o->nr_stops--;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	if (!o->is_started)
		err = hv_minivm_start(o);
	if (err)
		return err;
	pthread_mutex_lock(&o->lock);
	err = wait_reached(o);
	pthread_mutex_unlock(&o->lock);
	return err;
}

static void set_at_start(struct hv_minivm *o, bool is_at_start)
{
	pthread_mutex_lock(&o->lock);
	o->is_at_start = is_at_start;
	pthread_mutex_unlock(&o->lock);
}

struct hv_err *hv_minivm_run_to_kernel(struct hv_minivm *o)
{
	struct hv_err *err = hv_minivm_cpu_watch_base(o->kvm_fd, o->vm_fd);

	if (!err)
		err = run_until_reached(o, HV_MINIVM_WATCH_BASE);
	if (!err)
		err = hv_minivm_cpu_unwatch_base(o->vm_fd);
	if (!err)
		set_at_start(o, true);
	return err;
}

static bool can_go_on(struct hv_minivm *o)
{
	bool ret;

	pthread_mutex_lock(&o->lock);
	ret = o->is_at_start && !o->has_stop;
	pthread_mutex_unlock(&o->lock);
	return ret;
}

struct hv_err *hv_minivm_run_to(struct hv_minivm *o, struct hv_gva at)
{
	struct hv_err *err;

	if (!can_go_on(o))
		return hv_err_new(EBUSY, "the machine is not stopped where its kernel begins");
	err = hv_minivm_cpu_break(o->vcpus[0].fd, &o->memory, at, &o->at);
	if (!err)
		err = run_until_reached(o, HV_MINIVM_WATCH_BREAK);
	return err ? err : hv_minivm_cpu_unbreak(o->reached_by->fd, &o->at);
}

void hv_minivm_go(struct hv_minivm *o)
{
	bool was_at_start;

	pthread_mutex_lock(&o->lock);
	was_at_start = o->is_at_start;
	o->is_at_start = false;
	pthread_mutex_unlock(&o->lock);
	if (was_at_start)
		hv_minivm_resume_vcpus(o);
}

/* hv_minivm_stop_at: the machine keeps running, and the caller polls for the stop. */

struct hv_err *hv_minivm_stop_at(struct hv_minivm *o, struct hv_gva at)
{
	struct hv_err *err = hv_minivm_stop_vcpus(o);

	if (err)
		return err;
	pthread_mutex_lock(&o->lock);
	if (o->watch != HV_MINIVM_WATCH_NOTHING || o->has_stop)
		err = hv_err_new(EBUSY, "another stop is set already");
	if (!err)
		err = hv_minivm_cpu_break(o->vcpus[0].fd, &o->memory, at, &o->at);
	if (!err) {
		o->watch = HV_MINIVM_WATCH_BREAK;
		o->reached_by = NULL;
		o->has_stop = true;
	}
	pthread_mutex_unlock(&o->lock);
	hv_minivm_resume_vcpus(o);
	return err;
}

struct hv_err *hv_minivm_is_at_stop(struct hv_minivm *o, bool *ret)
{
	struct hv_err *err = NULL;

	pthread_mutex_lock(&o->lock);
	if (o->has_stop && o->reached_by && !o->is_at_stop) {
		err = wait_reached(o);
		if (!err)
			err = hv_minivm_cpu_unbreak(o->reached_by->fd, &o->at);
		o->is_at_stop = !err;
	}
	*ret = o->is_at_stop;
	pthread_mutex_unlock(&o->lock);
	return err;
}

void hv_minivm_end_stop(struct hv_minivm *o)
{
	bool is_stopped = false;
	char byte;
	ssize_t n;
	struct hv_err *err = hv_minivm_stop_vcpus(o);

	hv_err_free(hv_minivm_is_at_stop(o, &is_stopped));
	pthread_mutex_lock(&o->lock);
	if (o->has_stop && !o->reached_by)
		hv_err_free(hv_minivm_cpu_unbreak(o->vcpus[0].fd, &o->at));
	if (o->has_stop && o->reached_by) {
		o->nr_stops--;
		n = recv(o->stop_fds[1], &byte, 1, MSG_DONTWAIT);
		(void)n; /* the client may have read the byte already */
	}
	if (o->has_stop)
		o->watch = HV_MINIVM_WATCH_NOTHING;
	o->has_stop = o->is_at_stop = false;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	if (!err)
		hv_minivm_resume_vcpus(o);
	hv_err_free(err);
}
