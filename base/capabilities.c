/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/capabilities.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_CAPS 64

static struct hv_err *failed(const char *what)
{
	return hv_err_new(errno, "cannot drop privileges: %s: %s", what, strerror(errno));
}

static uint64_t permitted(const struct __user_cap_data_struct *caps)
{
	return caps[0].permitted | (uint64_t)caps[1].permitted << 32;
}

struct hv_err *hv_capabilities_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};

	/* Without these settings, a program executed as root would regain capabilities.
	 * PR_CAPBSET_DROP needs CAP_SETPCAP; its failure in an unprivileged process is ignored. */
	for (unsigned long cap = 0; cap < NR_CAPS; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return failed("no_new_privs");
	if (syscall(SYS_capget, &header, caps) != 0)
		return failed("capabilities");
	keep &= permitted(caps);
	memset(caps, 0, sizeof(caps));
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		caps[i].effective = caps[i].permitted = (uint32_t)(keep >> 32 * i);
	if (syscall(SYS_capset, &header, caps) != 0)
		return failed("capabilities");
	return NULL;
}
