/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/errname.h"

#include <string.h>

#include "base/guard.h"

/* Errors that the kernel never returns to user space (include/linux/errno.h). */
static const struct {
	int number;
	const char *name;
} internal[] = {
	{512, "ERESTARTSYS"},
	{513, "ERESTARTNOINTR"},
	{514, "ERESTARTNOHAND"},
	{515, "ENOIOCTLCMD"},
	{516, "ERESTART_RESTARTBLOCK"},
	{517, "EPROBE_DEFER"},
	{518, "EOPENSTALE"},
	{519, "ENOPARAM"},
	{521, "EBADHANDLE"},
	{522, "ENOTSYNC"},
	{523, "EBADCOOKIE"},
	{524, "ENOTSUPP"},
	{525, "ETOOSMALL"},
	{526, "ESERVERFAULT"},
	{527, "EBADTYPE"},
	{528, "EJUKEBOX"},
	{529, "EIOCBQUEUED"},
	{530, "ERECALLCONFLICT"},
};

const char *hv_print_errname(int number)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(internal); i++)
		if (internal[i].number == number)
			return internal[i].name;
	return strerrorname_np(number);
}
