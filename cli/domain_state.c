/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/domain_state.h"

#include <poll.h>

#include "cli/explain.h"
#include "cli/spec.h"

#define TAKE_TRIES   50
#define TAKE_WAIT_MS 20

const char *domain_state_words(enum domain_state state)
{
	static const char *const words[] = {
		[DOMAIN_FREE] = "free",
		[DOMAIN_ATTACHING] = "being attached",
		[DOMAIN_ATTACHED] = "attached",
		[DOMAIN_RECOVERING] = "being recovered",
		[DOMAIN_LEFT] = "left behind by a session that died",
		[DOMAIN_GONE] = "free",
	};

	return words[state];
}

struct hv_err *domain_state_find(const char *run_dir, const char *spec, const char *uri,
				 enum domain_state *ret_state, bool *ret_found,
				 struct rundir_info *ret)
{
	struct hv_err *err = rundir_find(run_dir, spec, uri, ret_found, ret);

	if (!err)
		*ret_state = domain_state(*ret_found ? ret : NULL);
	return err;
}

struct hv_err *domain_state_is_taken(const struct rundir_info *info, const char *spec)
{
	struct hv_err *err = NULL;

	switch (domain_state(info)) {
	case DOMAIN_ATTACHED:
		err = hv_err_new(
			EBUSY,
			"already attached (service pid %d): `hvtrace detach %s%s` ends that "
			"session",
			(int)info->service_pid, spec_dashes(spec), spec);
		break;
	case DOMAIN_ATTACHING:
	case DOMAIN_RECOVERING:
		err = hv_err_new(EBUSY, "it is %s now (pid %d): retry when that is over",
				 domain_state_words(domain_state(info)), (int)info->service_pid);
		break;
	default:
		break;
	}
	return in_domain(err, spec);
}

struct hv_err *domain_state_take(const char *run_dir, const char *id, const char *spec,
				 struct rundir *ret)
{
	for (unsigned tries = 1;; tries++) {
		AUTO_RUNDIR_INFO struct rundir_info info = {0};
		struct hv_err *err = rundir_take(run_dir, id, ret);
		struct hv_err *taken = NULL;
		bool found = false;

		if (!err || err->code != EBUSY)
			return err;
		hv_err_free(rundir_find(run_dir, id, NULL, &found, &info));
		if (found)
			taken = domain_state_is_taken(&info, spec);
		if (!taken && tries == TAKE_TRIES)
			return err;
		hv_err_free(err);
		if (taken)
			return taken;
		/* The other process is just starting or ending. */
		poll(NULL, 0, TAKE_WAIT_MS);
	}
}

static struct hv_err *has_left(int code, const char *before, const char *spec)
{
	struct hv_err *err =
		hv_err_new(code, "%sa session died and may have left changes in the guest", before);

	return explain(hv_err_mark(err, HV_ERR_NEEDS_RECOVERY), spec);
}

struct hv_err *domain_state_left(const char *spec)
{
	return has_left(EEXIST, "", spec);
}

struct hv_err *domain_state_needs_recovery(const struct rundir_info *info, const char *spec)
{
	return domain_state(info) == DOMAIN_LEFT ? domain_state_left(spec) : NULL;
}

struct hv_err *domain_state_lacks_session(const struct rundir_info *info, const char *spec)
{
	struct hv_err *err;

	switch (domain_state(info)) {
	case DOMAIN_ATTACHED:
		return NULL;
	case DOMAIN_ATTACHING:
	case DOMAIN_RECOVERING:
		return domain_state_is_taken(info, spec);
	case DOMAIN_LEFT:
		return has_left(ENOTCONN, "not attached: ", spec);
	case DOMAIN_GONE:
		err = hv_err_new(ENOTCONN, "not attached: the session ended with its VMM (pid %d)",
				 (int)info->vmm_pid);
		return in_domain(err, spec);
	default:
		break;
	}
	if (!info)
		return NULL;
	return in_domain(hv_err_new(ENOTCONN, "not attached: the last session ended: %s (%s/log)",
				    info->ended, info->path),
			 spec);
}
