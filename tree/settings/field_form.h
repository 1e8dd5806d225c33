/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classifies a field of a guest event by its C type, as the kernel does (filter_assign_type).
 * Pseudo-fields, which are not part of a record, are not covered. Pure. */
#pragma once

enum hv_field_form {
	HV_FIELD_NUMBER,
	HV_FIELD_ARRAY,	   /* string stored in the field */
	HV_FIELD_DYNAMIC,  /* string that a __data_loc field refers to */
	HV_FIELD_RELATIVE, /* string that a __rel_loc field refers to */
	HV_FIELD_POINTER,  /* string in guest memory that the field points to */
	HV_FIELD_CPUMASK,  /* cpumask_t that a __data_loc field refers to */
};

enum hv_field_form hv_field_form_of(const char *type);
