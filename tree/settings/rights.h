/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights of clients. Each node, function command and option declares the rights that it needs. The
 * tree checks them after it has parsed the client's write. cli/service/policy.h assigns rights to
 * clients; tree/instance/core/instance.h determines the rights for an instance's tracer. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tree/settings/tracer_names.h"

/* Bits of a need and of a client's rights. The low bits are 1u << HV_TRACER_*. */
enum hv_right {
	HV_RIGHT_READ = 1u << 16,
	HV_RIGHT_CONTROL = 1u << 17, /* write settings */
	HV_RIGHT_EVENTS = 1u << 18,  /* the guest's events, and probes */
	/* Implied by the right to use function or function_graph. */
	HV_RIGHT_FUNCTIONS = 1u << 19,
	HV_RIGHT_ROOT = 1u << 20,

	/* Only in needs; hv_instance_need() replaces them by tracer bits. */
	HV_NEED_RUNNING = 1u << 24,	/* the tracers that run in the file's instance */
	HV_NEED_ALL_RUNNING = 1u << 25, /* the tracers that run in any instance */
	/* Only in needs: the written word needs further rights, declared in its own table. */
	HV_NEED_WRITTEN = 1u << 26,
};

#define HV_RIGHT_TRACERS 0xffffu /* mask of the tracer bits */
#define HV_RIGHT_GRAPH	 (1u << HV_TRACER_FUNCTION_GRAPH)

/* Needs of nodes. A need of 0 is undeclared: only root may use the node. */
#define HV_NEEDS_SETTING (HV_RIGHT_CONTROL | HV_NEED_RUNNING)
#define HV_NEEDS_EVENTS	 (HV_NEEDS_SETTING | HV_RIGHT_EVENTS)

struct hv_rights {
	uint32_t may;	  /* enum hv_right and tracer bits, without HV_RIGHT_FUNCTIONS */
	const char *who;  /* for messages: "user anna (uid 1001)" */
	const char *says; /* for messages: the file that grants the rights */
};

/* All rights. */
extern const struct hv_rights hv_root_rights;

/* Returns one right of NEED that R lacks, or 0. The caller has replaced HV_NEED_RUNNING and
 * HV_NEED_ALL_RUNNING. */
uint32_t hv_rights_lack(const struct hv_rights *r, uint32_t need);
/* Returns EACCES with a message about RIGHT. */
struct hv_err *hv_rights_refuse(const struct hv_rights *r, uint32_t right) hv_must_use;
/* Returns the name of a bit, as used in audit lines and docs. */
const char *hv_right_name(uint32_t right);
