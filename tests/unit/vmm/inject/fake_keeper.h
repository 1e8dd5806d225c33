/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake keeper. This process acts as the VMM. Holds do nothing, and the test's hv_keeper_calls()
 * makes the calls. */
#pragma once

#include <string.h>
#include <unistd.h>

#include "vmm/inject/keeper.h"

static struct keeper_of_ours {
	bool is_dead;
	bool not_in_run;
} keeper;

static inline void make_call(struct hv_call *c, void *data)
{
	uint64_t a[HV_CALL_ARGS];

	for (unsigned i = 0; i < HV_CALL_ARGS; i++)
		a[i] = c->args[i] + (c->data_args >> i & 1 ? (uint64_t)(uintptr_t)data : 0);
	c->result = syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	c->result = c->result < 0 ? -errno : c->result;
}

struct hv_err *hv_keeper_start(const struct hv_process *vmm, int pidfd,
			       const struct hv_call_code *code, struct hv_keeper **ret)
{
	(void)vmm, (void)pidfd, (void)code;
	keeper.is_dead = false;
	*ret = (void *)&keeper;
	return NULL;
}

void hv_keeper_free(struct hv_keeper *k)
{
	(void)k;
}

bool hv_keeper_is_alive(const struct hv_keeper *k)
{
	(void)k;
	return !keeper.is_dead;
}

pid_t hv_keeper_pid(const struct hv_keeper *k)
{
	(void)k;
	return 0;
}

struct hv_err *hv_keeper_hold(struct hv_keeper *k, const pid_t *tids, size_t nr, uint64_t max_ns,
			      uint64_t *ret_from_ns, bool *ret_all_in_run)
{
	(void)k, (void)tids, (void)nr, (void)max_ns;
	*ret_from_ns = 1;
	*ret_all_in_run = !keeper.not_in_run;
	return NULL;
}

struct hv_err *hv_keeper_prove(struct hv_keeper *k, const struct hv_call *calls, size_t nr)
{
	(void)k, (void)calls, (void)nr;
	return NULL;
}

struct hv_err *hv_keeper_write(struct hv_keeper *k, const struct hv_held_writes *writes)
{
	(void)k;
	for (size_t i = 0; i < writes->nr; i++)
		memcpy((uint8_t *)(uintptr_t)writes->list[i].hva, writes->list[i].bytes,
		       writes->list[i].len_bytes);
	return NULL;
}

struct hv_err *hv_keeper_release(struct hv_keeper *k, uint64_t *ret_ns)
{
	(void)k;
	*ret_ns = 1;
	return keeper.is_dead ? hv_err_new(EPIPE, "keeper: it has died") : NULL;
}
