/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights of a client of the tree. Each node, each command of a function and each option declares
 * the rights that it needs; the tree checks them after it has parsed what the client wrote.
 * Leaves to others: which client has which rights (cli/service/policy.h), which rights the running
 * tracer of an instance needs (tree/instance/core/running.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tree/settings/tracer_names.h"

/* Bits of a need and of a client's rights. The low bits are 1u << HV_TRACER_*. */
enum hv_right {
	HV_RIGHT_READ = 1u << 16,
	HV_RIGHT_CONTROL = 1u << 17, /* write settings */
	HV_RIGHT_EVENTS = 1u << 18,  /* the guest's own events, and probes */
	/* A client that may use function or function_graph has it. */
	HV_RIGHT_FUNCTIONS = 1u << 19,
	HV_RIGHT_ROOT = 1u << 20,

	/* Only of needs; hv_instance_need() replaces them by bits of tracers. */
	HV_NEED_RUNNING = 1u << 24,	/* what runs in the instance of the file */
	HV_NEED_ALL_RUNNING = 1u << 25, /* what runs in any instance */
	/* Only of needs: what is written needs more, which its own table declares. */
	HV_NEED_WRITTEN = 1u << 26,
};

#define HV_RIGHT_TRACERS 0xffffu /* the bits of tracers */
#define HV_RIGHT_GRAPH	 (1u << HV_TRACER_FUNCTION_GRAPH)

/* What nodes declare. A need of 0 is not declared, and only root has it. */
#define HV_NEEDS_SETTING (HV_RIGHT_CONTROL | HV_NEED_RUNNING)
#define HV_NEEDS_EVENTS	 (HV_NEEDS_SETTING | HV_RIGHT_EVENTS)

struct hv_rights {
	uint32_t may;	  /* bits of enum hv_right and of tracers; not HV_RIGHT_FUNCTIONS */
	const char *who;  /* for messages: "user anna (uid 1001)" */
	const char *says; /* likewise: the file that gives rights */
};

/* May everything. */
extern const struct hv_rights hv_root_rights;

/* Returns one right that R lacks for NEED, whose HV_NEED_RUNNING and HV_NEED_ALL_RUNNING the caller
 * has replaced; 0: R has all. */
uint32_t hv_rights_lack(const struct hv_rights *r, uint32_t need);
/* EACCES: R, which lacks RIGHT, may not do it. */
struct hv_err *hv_rights_refuse(const struct hv_rights *r, uint32_t right) hv_must_use;
/* Returns the name of a bit, as audit lines and docs have it. */
const char *hv_right_name(uint32_t right);
