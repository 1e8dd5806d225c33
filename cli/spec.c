/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/spec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "base/text.h"
#include "vmm/root_path.h"

char *spec_absolute_path(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : hv_strdup(path);
}

char *spec_absolute(const char *spec)
{
	HV_AUTO_FREE char *path = NULL;
	HV_AUTO_TEXT struct hv_text t = {0};

	/* realpath() would resolve /proc/PID/root, a link to "/", and lose the process */
	if (!hv_starts_with(spec, "qmp:") || hv_root_path_rest(spec + 4, NULL))
		return hv_strdup(spec);
	path = spec_absolute_path(spec + 4);
	hv_text_printf(&t, "qmp:%s", path);
	return hv_text_take(&t);
}
