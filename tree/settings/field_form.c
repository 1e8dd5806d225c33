/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/field_form.h"

#include <stdbool.h>
#include <string.h>

enum hv_field_form hv_field_form_of(const char *type)
{
	bool has_char = strstr(type, "char") != NULL;

	if (strstr(type, "__data_loc") && has_char)
		return HV_FIELD_DYNAMIC;
	if (strstr(type, "__data_loc") && strstr(type, "cpumask_t"))
		return HV_FIELD_CPUMASK;
	if (strstr(type, "__rel_loc") && has_char)
		return HV_FIELD_RELATIVE;
	if (has_char && strchr(type, '['))
		return HV_FIELD_ARRAY;
	return has_char && strstr(type, " *") ? HV_FIELD_POINTER : HV_FIELD_NUMBER;
}
