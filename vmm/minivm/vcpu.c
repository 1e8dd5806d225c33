/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vCPUs' threads: run the guest, stop, handle exits.
 *
 * A vCPU is stopped when it is outside the guest and KVM has completed its last exit. To stop it,
 * set immediate_exit and send a signal; then KVM_RUN returns whether it has started or not. */
#include <linux/kvm.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "vmm/minivm/cpu.h"
#include "vmm/minivm/machine.h"
#include "vmm/minivm/tables.h"

/* -- ports ------------------------------------------------------------------------------------- */

/* The devices with I/O ports that KVM does not emulate: a serial port, power management, and a PC's
 * reset. */

#define KEYBOARD       0x64u
#define KEYBOARD_RESET 0xfe
#define CMOS_DATA      0x71u
#define RESET_NOW      4
#define PM_TIMER_HZ    3579545u
#define PM_OFF	       (1u << 13) /* SLP_EN */
#define PM_TYPE(c)     ((c) >> 10 & 7)
#define PM_ACPI_MODE   1

static uint32_t pm_timer(void)
{
	return (uint32_t)((unsigned __int128)hv_now_ns() * PM_TIMER_HZ / HV_NS_PER_S) & 0xffffff;
}

static uint32_t read_port(struct hv_minivm *o, unsigned port)
{
	switch (port) {
	case HV_MINIVM_PM_EVENT:
		return (uint32_t)o->pm_enable << 16;
	case HV_MINIVM_PM_EVENT + 2:
		return o->pm_enable;
	case HV_MINIVM_PM_CONTROL:
		return PM_ACPI_MODE;
	case HV_MINIVM_PM_TIMER:
		return pm_timer();
	case CMOS_DATA:
	case HV_MINIVM_RESET:
		return 0;
	default:
		return UINT32_MAX;
	}
}

/* Returns whether the write ends the machine. */
static bool write_port(struct hv_minivm *o, unsigned port, uint32_t value)
{
	switch (port) {
	case HV_MINIVM_PM_EVENT + 2:
		o->pm_enable = (uint16_t)value;
		return false;
	case HV_MINIVM_PM_CONTROL:
		return value & PM_OFF && PM_TYPE(value) == HV_MINIVM_OFF_TYPE;
	case KEYBOARD:
		return (value & 0xff) == KEYBOARD_RESET;
	case HV_MINIVM_RESET:
		return value & RESET_NOW;
	default:
		return false;
	}
}

/* Lets the devices handle an access to PORT. *RET_ENDS: the guest has powered off or reset the
 * machine. */
static void access_port(struct hv_minivm *o, unsigned port, unsigned len_bytes, uint8_t *data,
			bool is_write, bool *ret_ends)
{
	bool is_serial = port >= HV_MINIVM_SERIAL_PORT && port < HV_MINIVM_SERIAL_PORT + 8;
	uint32_t value = 0;

	*ret_ends = false;
	if (is_serial && is_write) {
		hv_minivm_serial_write(o->serial, port - HV_MINIVM_SERIAL_PORT, data[0]);
	} else if (is_serial) {
		memset(data, 0, len_bytes);
		data[0] = hv_minivm_serial_read(o->serial, port - HV_MINIVM_SERIAL_PORT);
	} else if (is_write) {
		memcpy(&value, data, len_bytes);
		*ret_ends = write_port(o, port, value);
	} else {
		value = read_port(o, port);
		memcpy(data, &value, len_bytes);
	}
}

/* -- threads ----------------------------------------------------------------------------------- */

#define KICK	    SIGUSR1
#define STOP_MAX_NS (5 * HV_NS_PER_S)

static void on_kick(int signo)
{
	(void)signo;
}

static void wait_until(struct hv_minivm *o, uint64_t until_ns)
{
	struct timespec at = {(time_t)(until_ns / HV_NS_PER_S), (long)(until_ns % HV_NS_PER_S)};

	pthread_cond_clockwait(&o->changed, &o->lock, CLOCK_MONOTONIC, &at);
}

/* Call this with the lock held. Makes every vCPU leave the guest and check whether it must stop. */
static void minivm_kick_all(struct hv_minivm *o)
{
	for (unsigned i = 0; i < o->nr_vcpus; i++) {
		if (!o->vcpus[i].has_thread)
			continue;
		o->vcpus[i].run->immediate_exit = 1;
		pthread_kill(o->vcpus[i].thread, KICK);
	}
}

void hv_minivm_end(struct hv_minivm *o, struct hv_err *err)
{
	uint64_t one = 1;

	pthread_mutex_lock(&o->lock);
	if (o->is_ended) {
		hv_err_free(err);
	} else {
		o->is_ended = true;
		o->error = err;
		minivm_kick_all(o);
		pthread_cond_broadcast(&o->changed);
		if (write(o->end_fd, &one, sizeof(one)) < 0)
			abort(); /* cannot fail: the eventfd's value is 0 */
	}
	pthread_mutex_unlock(&o->lock);
}

struct hv_err *hv_minivm_stop_vcpus(struct hv_minivm *o)
{
	uint64_t until_ns = hv_now_ns() + STOP_MAX_NS;
	bool are_stopped;

	pthread_mutex_lock(&o->lock);
	o->nr_stops++;
	minivm_kick_all(o);
	while (o->is_started && o->nr_parked < o->nr_vcpus && hv_now_ns() < until_ns)
		wait_until(o, until_ns);
	are_stopped = !o->is_started || o->nr_parked == o->nr_vcpus;
	pthread_mutex_unlock(&o->lock);
	if (are_stopped)
		return NULL;
	hv_minivm_resume_vcpus(o);
	return hv_err_new(ETIMEDOUT, "a vCPU did not stop within 5 s");
}

void hv_minivm_resume_vcpus(struct hv_minivm *o)
{
	pthread_mutex_lock(&o->lock);
	o->nr_stops--;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

/* Ends a hold that has timed out. Call this under the lock. */
static void end_overdue_hold(struct hv_minivm *o)
{
	if (!o->is_held || hv_now_ns() < o->hold_until_ns)
		return;
	o->is_held = false;
	o->nr_stops--;
	pthread_cond_broadcast(&o->changed);
}

/* Stops while there is a reason to. Returns false if the machine has ended. */
static bool may_run(struct hv_minivm_vcpu *v)
{
	struct hv_minivm *o = v->vm;
	bool ended;

	pthread_mutex_lock(&o->lock);
	if (o->nr_stops && !v->is_pending && !o->is_ended) {
		o->nr_parked++;
		pthread_cond_broadcast(&o->changed);
		while (o->nr_stops && !o->is_ended) {
			wait_until(o, o->is_held ? o->hold_until_ns : hv_now_ns() + HV_NS_PER_S);
			end_overdue_hold(o);
		}
		o->nr_parked--;
	}
	ended = o->is_ended;
	v->run->immediate_exit = o->nr_stops != 0;
	pthread_mutex_unlock(&o->lock);
	return !ended;
}

/* Stops all vCPUs after the watched event. Call this under the lock. */
static void reached(struct hv_minivm_vcpu *v)
{
	struct hv_minivm *o = v->vm;

	o->reached_by = v;
	o->watch = HV_MINIVM_WATCH_NOTHING;
	o->nr_stops++;
	minivm_kick_all(o);
	pthread_cond_broadcast(&o->changed);
	/* This fails if the peer has closed the socket, or has not read earlier wake-ups. */
	if (o->has_stop && send(o->stop_fds[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

static bool is_at_break(struct hv_minivm_vcpu *v)
{
	struct hv_minivm *o = v->vm;
	bool is_break;

	pthread_mutex_lock(&o->lock);
	is_break = o->watch == HV_MINIVM_WATCH_BREAK && hv_minivm_cpu_is_at(v->fd, &o->at);
	if (is_break)
		reached(v);
	pthread_mutex_unlock(&o->lock);
	return is_break;
}

static void note_base(struct hv_minivm_vcpu *v)
{
	struct hv_minivm *o = v->vm;

	pthread_mutex_lock(&o->lock);
	if (o->watch == HV_MINIVM_WATCH_BASE)
		reached(v);
	pthread_mutex_unlock(&o->lock);
}

static void handle_port(struct hv_minivm_vcpu *v)
{
	struct kvm_run *run = v->run;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;
	bool ends = false;

	if (run->io.port == HV_MINIVM_BREAK_PORT && is_at_break(v))
		return;
	for (uint32_t i = 0; i < run->io.count && !ends; i++)
		access_port(v->vm, run->io.port, run->io.size, data + i * run->io.size,
			    run->io.direction == KVM_EXIT_IO_OUT, &ends);
	if (ends)
		hv_minivm_end(v->vm, NULL);
}

static struct hv_err *handle_base(struct hv_minivm_vcpu *v)
{
	bool in_kernel = false;
	struct hv_err *err = hv_minivm_cpu_base_exit(v->fd, v->run, &in_kernel);

	if (!err && in_kernel)
		note_base(v);
	return err;
}

static struct hv_err *cannot_emulate(const struct hv_minivm_vcpu *v)
{
	struct kvm_regs regs = {0};

	ioctl(v->fd, KVM_GET_REGS, &regs);
	return hv_err_new(EIO,
			  "vCPU %u: this KVM emulates instructions, and cannot emulate the one at "
			  "0x%llx",
			  v->id, (unsigned long long)regs.rip);
}

/* Returns NULL if the vCPU can continue. */
static struct hv_err *handle_exit(struct hv_minivm_vcpu *v)
{
	struct kvm_run *run = v->run;

	v->is_pending = false;
	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		v->is_pending = true;
		handle_port(v);
		return NULL;
	case KVM_EXIT_MMIO:
		v->is_pending = true;
		memset(run->mmio.data, 0xff, run->mmio.is_write ? 0 : sizeof(run->mmio.data));
		return NULL;
	case KVM_EXIT_X86_WRMSR:
		v->is_pending = true;
		return handle_base(v);
	case KVM_EXIT_INTR:
	case KVM_EXIT_IRQ_WINDOW_OPEN:
	case KVM_EXIT_HLT:
		return NULL;
	case KVM_EXIT_SHUTDOWN:
		return hv_err_new(
			EIO, "vCPU %u: triple fault: the kernel crashed and could not report it",
			v->id);
	case KVM_EXIT_FAIL_ENTRY:
		return hv_err_new(
			EIO, "vCPU %u: this KVM cannot enter the guest (0x%llx)", v->id,
			(unsigned long long)run->fail_entry.hardware_entry_failure_reason);
	case KVM_EXIT_INTERNAL_ERROR:
		if (run->internal.suberror == KVM_INTERNAL_ERROR_EMULATION)
			return cannot_emulate(v);
		/* fall through */
	default:
		return hv_err_new(EIO, "vCPU %u: this KVM cannot continue the guest (exit %u, %u)",
				  v->id, run->exit_reason, run->internal.suberror);
	}
}

static void run_guest(struct hv_minivm_vcpu *v)
{
	struct hv_err *err = NULL;

	while (!err && may_run(v)) {
		if (ioctl(v->fd, KVM_RUN, 0) == 0)
			err = handle_exit(v);
		else if (errno == EINTR || errno == EAGAIN)
			v->is_pending = false;
		else
			err = hv_err_new(errno, "vCPU %u: KVM_RUN: %s", v->id, strerror(errno));
	}
	if (err)
		hv_minivm_end(v->vm, err);
}

void *hv_minivm_vcpu_main(void *arg)
{
	struct hv_minivm_vcpu *v = arg;
	/* A thread must not block the signals for its faults. */
	static const int own[] = {KICK, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	struct sigaction action = {.sa_handler = on_kick};
	sigset_t set;

	sigaction(KICK, &action, NULL);
	sigfillset(&set);
	for (size_t i = 0; i < HV_ARRAY_LEN(own); i++)
		sigdelset(&set, own[i]);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	run_guest(v);
	pthread_mutex_lock(&v->vm->lock);
	v->vm->nr_parked++;
	pthread_cond_broadcast(&v->vm->changed);
	pthread_mutex_unlock(&v->vm->lock);
	return NULL;
}
