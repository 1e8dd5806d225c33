/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holds: a keeper stops the threads of all vCPUs. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "vmm/inject/state.h"

#define BRIEF_NS    (2 * HV_NS_PER_S) /* limit for a hold that serves one request */
#define SMM_TRIES   100
#define SMM_WAIT_MS 1

/* Each vCPU has its own thread, which ends when the vCPU is unplugged. */
static bool are_known(const struct hv_inject *j, const pid_t *tids, unsigned nr)
{
	return j->tids && nr == j->kvm.nr_vcpus && !memcmp(tids, j->tids, nr * sizeof(*tids));
}

struct hv_err *hv_inject_check_vcpus(const struct hv_inject *j, unsigned nr)
{
	if (j->kvm.nr_vcpus == nr)
		return NULL;
	return hv_err_new(EBUSY,
			  "KVM's files show %u vCPUs and the monitor %u: retry after the hotplug",
			  j->kvm.nr_vcpus, nr);
}

/* Takes TIDS on success. Frees the old vCPUs first: the page that the VMM shared with a removed
 * vCPU may be other memory now. */
static struct hv_err *know_vcpus(struct hv_inject *j, pid_t **tids, unsigned nr)
{
	struct hv_err *err;

	hv_sync_deinit(&j->sync);
	free(hv_take(j->regs));
	free(hv_take(j->tids));
	err = hv_kvm_find_vcpus(&j->kvm);
	if (!err)
		err = hv_inject_check_vcpus(j, nr);
	if (err)
		return err;
	hv_sync_init(&j->sync, &j->kvm, j->vmm.pidfd);
	j->regs = hv_alloc(nr * sizeof(*j->regs));
	j->tids = hv_take(*tids);
	return NULL;
}

struct hv_err *hv_inject_need_keeper(struct hv_inject *j)
{
	if (j->keeper && hv_keeper_is_alive(j->keeper))
		return NULL;
	hv_keeper_free(hv_take(j->keeper));
	return hv_keeper_start(j->vmm.process, j->vmm.pidfd, &j->code, &j->keeper);
}

static struct hv_err *hold_once(struct hv_inject *j, unsigned nr, uint64_t max_ns,
				enum hv_vcpus_are *ret_vcpus)
{
	bool all_in_run = false;
	struct hv_err *err;

	hv_sync_ask(&j->sync);
	err = hv_keeper_hold(j->keeper, j->tids, nr, max_ns, &j->held_from_ns, &all_in_run);
	if (err)
		hv_sync_cancel(&j->sync);
	*ret_vcpus = all_in_run ? HV_VCPUS_IN_RUN : HV_VCPUS_ANYWHERE;
	j->has_regs = !err && hv_sync_take(&j->sync, j->vmm.arch, *ret_vcpus, j->regs);
	return err;
}

/* Retries until no vCPU is in system management mode: its position in the kernel is unknown, and it
 * may be in a trampoline. The firmware leaves that mode after some microseconds. */
static struct hv_err *hold(struct hv_inject *j, unsigned nr, uint64_t max_ns,
			   enum hv_vcpus_are *ret_vcpus)
{
	unsigned vcpu = 0;

	for (unsigned tries = 0; tries < SMM_TRIES; tries++) {
		struct hv_err *err = hold_once(j, nr, max_ns, ret_vcpus);

		if (err || !hv_sync_is_in_smm(&j->kvm, &vcpu))
			return err;
		err = hv_keeper_release(j->keeper, &j->held_ns);
		if (err)
			return err;
		poll(NULL, 0, SMM_WAIT_MS);
	}
	j->has_regs = false;
	return hv_err_new(EBUSY, "vCPU %u is in system management mode each time it is stopped",
			  vcpu);
}

struct hv_err *hv_inject_hold(struct hv_inject *j, uint64_t max_ns)
{
	HV_AUTO_FREE pid_t *tids = hv_alloc(HV_VCPUS_MAX * sizeof(*tids));
	size_t nr = 0;
	struct hv_err *err = j->vmm.ops->vcpu_threads(j->vmm.self, tids, HV_VCPUS_MAX, &nr);
	enum hv_vcpus_are vcpus = HV_VCPUS_ANYWHERE;

	if (!err && !are_known(j, tids, (unsigned)nr))
		err = know_vcpus(j, &tids, (unsigned)nr);
	if (!err)
		err = hv_inject_need_keeper(j);
	if (err)
		return err;
	err = hold(j, (unsigned)nr, max_ns, &vcpus);
	if (!err)
		hv_shadow_look_again(j, vcpus);
	return err;
}

struct hv_err *hv_inject_stop(struct hv_inject *j)
{
	return hv_inject_hold(j, BRIEF_NS);
}

struct hv_err *hv_inject_go_on(struct hv_inject *j, struct hv_err *err)
{
	struct hv_err *end = hv_keeper_release(j->keeper, &j->held_ns);

	if (!err)
		return end;
	hv_err_free(end);
	return err;
}
