/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in a field of the guest's own events, by its type in C, as the kernel tells them apart
 * (filter_assign_type).
 * Leaves to others: fields that are in no record. Pure. */
#pragma once

enum hv_field_form {
	HV_FIELD_NUMBER,
	HV_FIELD_ARRAY,	   /* the text in the field itself */
	HV_FIELD_DYNAMIC,  /* the text that a __data_loc field tells */
	HV_FIELD_RELATIVE, /* the text that a __rel_loc field tells */
	HV_FIELD_POINTER,  /* the text in the guest's memory to which the field points */
	HV_FIELD_CPUMASK,  /* the cpumask_t that a __data_loc field tells */
};

enum hv_field_form hv_field_form_of(const char *type);
