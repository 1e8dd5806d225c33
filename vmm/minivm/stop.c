/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops the whole machine at a point: a breakpoint, or the first write of the per-CPU base. */
#include <sys/socket.h>

#include "vmm/minivm/cpu.h"
#include "vmm/minivm/machine.h"

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
		(void)n; /* the near side may have read it */
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
