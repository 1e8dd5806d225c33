/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The domains that libvirt knows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct hv_domain {
	char *name;
	char *uuid;
	int id;	      /* -1 if it is shut off */
	char *state;  /* "running", "paused", "shut off" */
	char *reason; /* why it cannot be traced; NULL: it can, as far as is known without reading
			 its memory */
	bool lacks_device; /* then the error of hv_guest_region() explains what to add */
	pid_t pid;	   /* of its VMM; 0: unknown, or it is shut off */
};
/* LIBVIRT_URI as for hv_guest_open(). */
struct hv_err *hv_domain_list(const char *libvirt_uri, struct hv_domain **ret,
			      size_t *ret_nr) hv_must_use;
void hv_domain_list_free(struct hv_domain *domains, size_t nr);
