/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/unprivileged.h"

#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define CAPS_MAX 64

struct hv_err *unprivileged_become(enum unprivileged what)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};
	uint32_t kill = 1u << CAP_KILL;

	/* Without these, a program of root's would get capabilities again. They need capabilities
	 * themselves, which another user's process has not. */
	for (unsigned long cap = 0; cap < CAPS_MAX; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return hv_err_new(errno, "no_new_privs: %s", strerror(errno));
	if (what == UNPRIVILEGED_MAY_KILL && syscall(SYS_capget, &header, caps) != 0)
		return hv_err_new(errno, "capabilities: %s", strerror(errno));
	kill &= caps[0].permitted;
	memset(caps, 0, sizeof(caps));
	caps[0].effective = caps[0].permitted = kill;
	if (syscall(SYS_capset, &header, caps) != 0)
		return hv_err_new(errno, "capabilities: %s", strerror(errno));
	return NULL;
}
