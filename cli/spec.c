#include "cli/spec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/text.h"

char *spec_absolute_path(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : hv_strdup(path);
}

char *spec_absolute(const char *spec)
{
	HV_AUTO_FREE char *path = NULL;
	HV_AUTO_TEXT struct hv_text t = {0};

	if (strncmp(spec, "qmp:", 4) != 0)
		return hv_strdup(spec);
	path = spec_absolute_path(spec + 4);
	hv_text_printf(&t, "qmp:%s", path);
	return hv_text_take(&t);
}

struct hv_err *in_domain(struct hv_err *err, const char *spec)
{
	if (!err || strncmp(err->message, "domain '", 8) == 0 ||
	    strncmp(err->message, spec, strlen(spec)) == 0)
		return err;
	return hv_err_in(err, "domain '%s'", spec);
}
