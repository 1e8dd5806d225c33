/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_scope.h"

#include <string.h>

#include "tests/lib/fake_buffer.h"
#include "tests/lib/fake_session.h"

struct hv_scope {
	int *fail;
	unsigned recording, paused;
	uint32_t pids[64];
	size_t nr_pids;
	uint32_t not_pids[64];
	size_t nr_not_pids;
	uint8_t muted[HV_FAKE_NR_CPUS];
	unsigned nr_cpus;
	enum hv_forks forks;
};

struct hv_scope *fake_scope_new(int *fail)
{
	struct hv_scope *scope = hv_alloc(sizeof(*scope));

	scope->fail = fail;
	return scope;
}

void fake_scope_free(struct hv_scope *scope)
{
	free(scope);
}

void fake_scope_set_cpus(struct hv_scope *scope, unsigned nr)
{
	scope->nr_cpus = nr;
}

unsigned hv_fake_recording(const struct hv_session *s)
{
	return s->scope->recording;
}

void hv_fake_switch(struct hv_session *s, unsigned on)
{
	s->scope->recording = on;
}

unsigned hv_fake_paused(const struct hv_session *s)
{
	return s->scope->paused;
}

const uint32_t *hv_fake_not_pids(const struct hv_session *s, size_t *ret_nr)
{
	*ret_nr = s->scope->nr_not_pids;
	return s->scope->not_pids;
}

const uint32_t *hv_fake_pids(const struct hv_session *s, size_t *ret_nr)
{
	*ret_nr = s->scope->nr_pids;
	return s->scope->pids;
}

struct hv_err *hv_scope_filter_pids(struct hv_scope *scope, const uint32_t *only, size_t nr_only,
				    const uint32_t * not, size_t nr_not)
{
	struct hv_err *err = fake_change(scope->fail);
	size_t max = HV_ARRAY_LEN(scope->pids);

	if (err)
		return err;
	scope->nr_pids = nr_only < max ? nr_only : max;
	if (scope->nr_pids)
		memcpy(scope->pids, only, scope->nr_pids * sizeof(*only));
	scope->nr_not_pids = nr_not < max ? nr_not : max;
	if (scope->nr_not_pids)
		memcpy(scope->not_pids, not, scope->nr_not_pids * sizeof(*not ));
	return NULL;
}

struct hv_err *hv_scope_follow_forks(struct hv_scope *scope, enum hv_forks how)
{
	struct hv_err *err = how == scope->forks ? NULL : fake_change(scope->fail);

	if (!err)
		scope->forks = how;
	return err;
}

size_t hv_scope_pids(const struct hv_scope *scope, enum hv_pid_kind kind, uint32_t **ret)
{
	const uint32_t *pids = kind == HV_PIDS_RECORDED ? scope->pids : scope->not_pids;
	size_t nr = kind == HV_PIDS_RECORDED ? scope->nr_pids : scope->nr_not_pids;

	*ret = nr ? memcpy(hv_alloc(nr * sizeof(*pids)), pids, nr * sizeof(*pids)) : NULL;
	return nr;
}

void hv_fake_fork(struct hv_session *s, uint32_t pid, uint32_t child)
{
	struct hv_scope *scope = s->scope;
	uint32_t *pids = scope->forks == HV_FORKS_OF_ONLY ? scope->pids : scope->not_pids;
	size_t *nr = scope->forks == HV_FORKS_OF_ONLY ? &scope->nr_pids : &scope->nr_not_pids;

	for (size_t i = 0; scope->forks != HV_FORKS_NOT && i < *nr; i++) {
		if (pids[i] != pid || *nr == HV_ARRAY_LEN(scope->pids))
			continue;
		pids[(*nr)++] = child;
		return;
	}
}

void hv_scope_mute_cpus(struct hv_scope *scope, const uint8_t *muted)
{
	memset(scope->muted, 0, sizeof(scope->muted));
	if (muted)
		memcpy(scope->muted, muted,
		       scope->nr_cpus < HV_FAKE_NR_CPUS ? scope->nr_cpus : HV_FAKE_NR_CPUS);
}

const uint8_t *hv_fake_muted(const struct hv_session *s)
{
	return s->scope->muted;
}

enum hv_forks hv_fake_forks(const struct hv_session *s)
{
	return s->scope->forks;
}

unsigned hv_scope_recording(const struct hv_scope *scope)
{
	return scope->recording;
}

void hv_scope_set_recording(struct hv_scope *scope, enum hv_switch to)
{
	scope->recording = to;
}

void hv_scope_set_paused(struct hv_scope *scope, enum hv_switch to)
{
	scope->paused = to;
}
