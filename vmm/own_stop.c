/* Points at which the whole machine stands: a breakpoint, or the setting of the per-CPU base. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "vmm/own_cpu.h"
#include "vmm/own_machine.h"

/* What was waited for has happened: all stand. Under the lock. */
static void reached(struct hv_own_vcpu *v)
{
	struct hv_own *o = v->own;
	uint64_t one = 1;

	o->reached_by = v;
	o->watch = HV_OWN_WATCH_NOTHING;
	o->nr_stands++;
	hv_own_kick_all(o);
	pthread_cond_broadcast(&o->changed);
	if (o->has_stop && write(o->stop_fd, &one, sizeof(one)) < 0)
		abort(); /* a counter of ours, at 0 */
}

bool hv_own_at_break(struct hv_own_vcpu *v)
{
	struct hv_own *o = v->own;
	bool is_break;

	pthread_mutex_lock(&o->lock);
	is_break = o->watch == HV_OWN_WATCH_BREAK && hv_own_cpu_is_at(v->fd, &o->at);
	if (is_break)
		reached(v);
	pthread_mutex_unlock(&o->lock);
	return is_break;
}

void hv_own_at_base(struct hv_own_vcpu *v)
{
	struct hv_own *o = v->own;

	pthread_mutex_lock(&o->lock);
	if (o->watch == HV_OWN_WATCH_BASE)
		reached(v);
	pthread_mutex_unlock(&o->lock);
}

/* Under the lock: all of it stands where REACHED_BY has come to. ECANCELED: it ended before. */
static struct hv_err *wait_reached(struct hv_own *o)
{
	while (!o->is_ended && !(o->reached_by && o->nr_parked == o->nr_vcpus))
		pthread_cond_wait(&o->changed, &o->lock);
	return o->is_ended ? hv_err_new(ECANCELED, "the machine ended before its kernel was ready")
			   : NULL;
}

/* Lets it run until what is watched for happens. */
static struct hv_err *run_until_reached(struct hv_own *o, enum hv_own_watch watch)
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
		err = hv_own_start(o);
	if (err)
		return err;
	pthread_mutex_lock(&o->lock);
	err = wait_reached(o);
	pthread_mutex_unlock(&o->lock);
	return err;
}

struct hv_err *hv_own_run_to_kernel(struct hv_own *o)
{
	struct hv_err *err = hv_own_cpu_watch_base(o->kvm_fd, o->vm_fd);

	if (!err)
		err = run_until_reached(o, HV_OWN_WATCH_BASE);
	return err ? err : hv_own_cpu_unwatch_base(o->vm_fd);
}

struct hv_err *hv_own_run_to(struct hv_own *o, struct hv_gva at)
{
	struct hv_err *err = hv_own_cpu_break(o->vcpus[0].fd, &o->memory, at, &o->at);

	if (!err)
		err = run_until_reached(o, HV_OWN_WATCH_BREAK);
	return err ? err : hv_own_cpu_unbreak(o->reached_by->fd, &o->at);
}

void hv_own_go(struct hv_own *o)
{
	hv_own_unstand(o);
}

/* A stop: the machine runs on meanwhile, and whoever waits for it polls. */

struct hv_err *hv_own_stop_at(struct hv_own *o, struct hv_gva at)
{
	struct hv_err *err = hv_own_stand(o);

	if (err)
		return err;
	pthread_mutex_lock(&o->lock);
	if (o->watch != HV_OWN_WATCH_NOTHING || o->has_stop)
		err = hv_err_new(EBUSY, "it is to stop elsewhere already");
	if (!err)
		err = hv_own_cpu_break(o->vcpus[0].fd, &o->memory, at, &o->at);
	if (!err) {
		o->watch = HV_OWN_WATCH_BREAK;
		o->reached_by = NULL;
		o->has_stop = true;
	}
	pthread_mutex_unlock(&o->lock);
	hv_own_unstand(o);
	return err;
}

struct hv_err *hv_own_stands_at_stop(struct hv_own *o, bool *ret)
{
	struct hv_err *err = NULL;

	pthread_mutex_lock(&o->lock);
	if (o->has_stop && o->reached_by && !o->stands_at_stop) {
		err = wait_reached(o);
		if (!err)
			err = hv_own_cpu_unbreak(o->reached_by->fd, &o->at);
		o->stands_at_stop = !err;
	}
	*ret = o->stands_at_stop;
	pthread_mutex_unlock(&o->lock);
	return err;
}

void hv_own_end_stop(struct hv_own *o)
{
	bool stands = false;
	uint64_t count;
	struct hv_err *err = hv_own_stand(o);

	hv_err_free(hv_own_stands_at_stop(o, &stands));
	pthread_mutex_lock(&o->lock);
	if (o->has_stop && !o->reached_by)
		hv_err_free(hv_own_cpu_unbreak(o->vcpus[0].fd, &o->at));
	if (o->has_stop && o->reached_by) {
		o->nr_stands--;
		if (read(o->stop_fd, &count, sizeof(count)) < 0)
			abort(); /* a counter of ours, at 1 */
	}
	if (o->has_stop)
		o->watch = HV_OWN_WATCH_NOTHING;
	o->has_stop = o->stands_at_stop = false;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	if (!err)
		hv_own_unstand(o);
	hv_err_free(err);
}
