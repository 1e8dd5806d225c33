/* Points at which the whole machine stands: a breakpoint, or the setting of the per-CPU base. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "vmm/minivm/cpu.h"
#include "vmm/minivm/machine.h"

/* What was waited for has happened: all stand. Under the lock. */
static void reached(struct hv_minivm_vcpu *v)
{
	struct hv_minivm *o = v->vm;
	uint64_t one = 1;

	o->reached_by = v;
	o->watch = HV_MINIVM_WATCH_NOTHING;
	o->nr_stands++;
	hv_minivm_kick_all(o);
	pthread_cond_broadcast(&o->changed);
	if (o->has_stop && write(o->stop_fd, &one, sizeof(one)) < 0)
		abort(); /* a counter of ours, at 0 */
}

bool hv_minivm_at_break(struct hv_minivm_vcpu *v)
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

void hv_minivm_at_base(struct hv_minivm_vcpu *v)
{
	struct hv_minivm *o = v->vm;

	pthread_mutex_lock(&o->lock);
	if (o->watch == HV_MINIVM_WATCH_BASE)
		reached(v);
	pthread_mutex_unlock(&o->lock);
}

/* Under the lock: all of it stands where REACHED_BY has come to. ECANCELED: it ended before. */
static struct hv_err *wait_reached(struct hv_minivm *o)
{
	while (!o->is_ended && !(o->reached_by && o->nr_parked == o->nr_vcpus))
		pthread_cond_wait(&o->changed, &o->lock);
	return o->is_ended ? hv_err_new(ECANCELED, "the machine ended before its kernel was ready")
			   : NULL;
}

/* Lets it run until what is watched for happens. */
static struct hv_err *run_until_reached(struct hv_minivm *o, enum hv_minivm_watch watch)
{
	struct hv_err *err = NULL;

	pthread_mutex_lock(&o->lock);
	o->watch = watch;
	o->reached_by = NULL;
	if (o->nr_stands)
		o->nr_stands--;
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

struct hv_err *hv_minivm_run_to_kernel(struct hv_minivm *o)
{
	struct hv_err *err = hv_minivm_cpu_watch_base(o->kvm_fd, o->vm_fd);

	if (!err)
		err = run_until_reached(o, HV_MINIVM_WATCH_BASE);
	return err ? err : hv_minivm_cpu_unwatch_base(o->vm_fd);
}

struct hv_err *hv_minivm_run_to(struct hv_minivm *o, struct hv_gva at)
{
	struct hv_err *err = hv_minivm_cpu_break(o->vcpus[0].fd, &o->memory, at, &o->at);

	if (!err)
		err = run_until_reached(o, HV_MINIVM_WATCH_BREAK);
	return err ? err : hv_minivm_cpu_unbreak(o->reached_by->fd, &o->at);
}

void hv_minivm_go(struct hv_minivm *o)
{
	hv_minivm_unstand(o);
}

/* A stop: the machine runs on meanwhile, and whoever waits for it polls. */

struct hv_err *hv_minivm_stop_at(struct hv_minivm *o, struct hv_gva at)
{
	struct hv_err *err = hv_minivm_stand(o);

	if (err)
		return err;
	pthread_mutex_lock(&o->lock);
	if (o->watch != HV_MINIVM_WATCH_NOTHING || o->has_stop)
		err = hv_err_new(EBUSY, "it is to stop elsewhere already");
	if (!err)
		err = hv_minivm_cpu_break(o->vcpus[0].fd, &o->memory, at, &o->at);
	if (!err) {
		o->watch = HV_MINIVM_WATCH_BREAK;
		o->reached_by = NULL;
		o->has_stop = true;
	}
	pthread_mutex_unlock(&o->lock);
	hv_minivm_unstand(o);
	return err;
}

struct hv_err *hv_minivm_stands_at_stop(struct hv_minivm *o, bool *ret)
{
	struct hv_err *err = NULL;

	pthread_mutex_lock(&o->lock);
	if (o->has_stop && o->reached_by && !o->stands_at_stop) {
		err = wait_reached(o);
		if (!err)
			err = hv_minivm_cpu_unbreak(o->reached_by->fd, &o->at);
		o->stands_at_stop = !err;
	}
	*ret = o->stands_at_stop;
	pthread_mutex_unlock(&o->lock);
	return err;
}

void hv_minivm_end_stop(struct hv_minivm *o)
{
	bool stands = false;
	uint64_t count;
	struct hv_err *err = hv_minivm_stand(o);

	hv_err_free(hv_minivm_stands_at_stop(o, &stands));
	pthread_mutex_lock(&o->lock);
	if (o->has_stop && !o->reached_by)
		hv_err_free(hv_minivm_cpu_unbreak(o->vcpus[0].fd, &o->at));
	if (o->has_stop && o->reached_by) {
		o->nr_stands--;
		if (read(o->stop_fd, &count, sizeof(count)) < 0)
			abort(); /* a counter of ours, at 1 */
	}
	if (o->has_stop)
		o->watch = HV_MINIVM_WATCH_NOTHING;
	o->has_stop = o->stands_at_stop = false;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	if (!err)
		hv_minivm_unstand(o);
	hv_err_free(err);
}
