/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/scope.h"

#include <stdlib.h>

#include "tracer/guest/tracee.h"

struct hv_scope {
	struct hv_tracee *tracee; /* borrowed */
	enum hv_forks forks;
	uint64_t fork_ip; /* the functions that the kernel calls with a new task and with an ended
			     one */
	uint64_t end_ip;
};

struct hv_scope *hv_scope_new(struct hv_tracee *t)
{
	struct hv_scope *scope = hv_alloc(sizeof(*scope));

	scope->tracee = t;
	return scope;
}

void hv_scope_free(struct hv_scope *scope)
{
	free(scope);
}

/* The guest also changes the mode, so this must be atomic. */
static void set_mode(struct hv_scope *scope, uint32_t bit, bool on)
{
	uint32_t *mode = &hv_region_control(&scope->tracee->region)->mode;

	if (on)
		__atomic_fetch_or(mode, bit, __ATOMIC_ACQ_REL);
	else
		__atomic_fetch_and(mode, ~bit, __ATOMIC_ACQ_REL);
}

/* Returns the bits for the pids of LIST, from *AT on, that are in WORD of the bitmap. */
static uint64_t pid_bits(const uint32_t *list, size_t nr, size_t word, size_t *at)
{
	uint64_t bits = 0;

	for (; *at < nr && list[*at] / 64 == word; ++*at)
		bits |= 1ULL << (list[*at] % 64);
	return bits;
}

struct hv_err *hv_scope_filter_pids(struct hv_scope *scope, const uint32_t *only, size_t nr_only,
				    const uint32_t *except, size_t nr_except)
{
	uint64_t *bitmap = (uint64_t *)(scope->tracee->region.host + HV_REGION_PIDS_OFF);
	size_t only_at = 0, except_at = 0;

	for (size_t word = 0; word < HV_REGION_NR_PIDS / 64; word++) {
		uint64_t bits = pid_bits(only, nr_only, word, &only_at);

		if (!nr_only)
			bits = nr_except ? UINT64_MAX : 0;
		bits &= ~pid_bits(except, nr_except, word, &except_at);
		if (bitmap[word] != bits)
			__atomic_store_n(&bitmap[word], bits, __ATOMIC_RELAXED);
	}
	set_mode(scope, HV_MODE_PID_FILTER, nr_only || nr_except);
	return NULL;
}

void hv_scope_set_recording(struct hv_scope *scope, enum hv_switch to)
{
	set_mode(scope, HV_MODE_OFF, !to);
}

unsigned hv_scope_recording(const struct hv_scope *scope)
{
	const struct hv_control *control = hv_region_control(&scope->tracee->region);

	return !(__atomic_load_n(&control->mode, __ATOMIC_RELAXED) & HV_MODE_OFF);
}

void hv_scope_set_paused(struct hv_scope *scope, enum hv_switch to)
{
	set_mode(scope, HV_MODE_PAUSED, to);
}

void hv_scope_mute_cpus(struct hv_scope *scope, const uint8_t *muted)
{
	bool any = false;

	for (unsigned cpu = 0; cpu < scope->tracee->plan.nr_cpus; cpu++) {
		unsigned mute = muted && muted[cpu];

		__atomic_store_n(&hv_tracee_state(scope->tracee, cpu)->muted, mute,
				 __ATOMIC_RELAXED);
		any |= mute;
	}
	set_mode(scope, HV_MODE_CPUS, any);
}

/* Returns the address of the function NAME if it can be traced, or 0. */
static uint64_t ip_of(const struct hv_scope *scope, const char *name)
{
	const struct hv_arch *arch = scope->tracee->kernel->core.as.arch;
	const struct hv_sites *sites = &scope->tracee->kernel->sites;
	size_t i = hv_sites_find(sites, name, HV_SITE_NAME_EXACT);

	if (i == SIZE_MAX || (sites->list[i].busy && !arch->trampolines.chain_function_off))
		return 0;
	return sites->list[i].ip.v;
}

/* The first argument of both functions is a task: the new one, in a call by its parent, and the one
 * that has ended completely (kernel/sched/core.c, kernel/exit.c). */
struct hv_err *hv_scope_follow_forks(struct hv_scope *scope, enum hv_forks how)
{
	uint64_t forks = ip_of(scope, "wake_up_new_task"), ends = ip_of(scope, "release_task");

	if (how == scope->forks)
		return NULL;
	if (how != HV_FORKS_NOT && (!forks || !ends))
		return hv_err_new(EOPNOTSUPP,
				  "%s() cannot be traced in this kernel: forks are"
				  " not seen",
				  forks ? "release_task" : "wake_up_new_task");
	scope->forks = how;
	scope->fork_ip = forks;
	scope->end_ip = ends;
	return NULL;
}

unsigned hv_scope_task_bits(const struct hv_scope *scope, uint64_t ip)
{
	if (scope->forks == HV_FORKS_NOT)
		return 0;
	if (ip == scope->fork_ip)
		return HV_DOES_PID_INHERITS;
	if (ip != scope->end_ip)
		return 0;
	return scope->forks == HV_FORKS_OF_ONLY ? HV_DOES_PID_CLEARS : HV_DOES_PID_SETS;
}

size_t hv_scope_pids(const struct hv_scope *scope, enum hv_pid_kind kind, uint32_t **ret)
{
	const uint64_t *bitmap =
		(const uint64_t *)(scope->tracee->region.host + HV_REGION_PIDS_OFF);
	uint32_t *pids = NULL;
	size_t nr = 0;

	for (uint32_t word = 0; word < HV_REGION_NR_PIDS / 64; word++) {
		uint64_t bits = __atomic_load_n(&bitmap[word], __ATOMIC_RELAXED);

		if (kind == HV_PIDS_NOT_RECORDED)
			bits = ~bits;
		for (; bits && nr < HV_SCOPE_PIDS_MAX; bits &= bits - 1) {
			if (nr % 1024 == 0)
				pids = hv_realloc_array(pids, nr + 1024, sizeof(*pids));
			pids[nr++] = word * 64 + (uint32_t)__builtin_ctzll(bits);
		}
	}
	*ret = pids;
	return nr;
}
