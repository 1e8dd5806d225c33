/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmm_file PID FD: takes file FD of process PID as if it were a VMM's, and prints "taken" or the
 * refusal (vmm/process/maps.h). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>

#include "base/guard.h"
#include "vmm/process/maps.h"

int main(int argc, char **argv)
{
	HV_AUTO_FD int pidfd = argc == 3 ? pidfd_open(atoi(argv[1]), 0) : -1;
	struct hv_vmm_file file = HV_VMM_FILE_NONE;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (pidfd < 0)
		return 2;
	err = hv_vmm_file_take(atoi(argv[1]), pidfd, atoi(argv[2]), &file);
	puts(err ? err->message : "taken");
	hv_close_at(&file.fd);
	return 0;
}
