/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the samples of a profile from pages of trace_pipe_raw. It is an export format that writes
 * no file. A sample is the event HV_PROFILE_EVENT, a probe of the guest's timer tick, with the stack
 * that the guest records after it. The event has two fields: whether the tick interrupted a program
 * (HV_PROFILE_USER), and the words of the program's stack (HV_PROFILE_USTACK). Both may be missing.
 * The event HV_PROFILE_COPY has a copy of the program's registers and stack instead of the words.
 * Before it, the event HV_PROFILE_REST may have recorded the rest of the stack.
 * A call of HV_PROFILE_FUNCTION that the function tracer records is a sample, too.
 *
 * A chain begins with a group, then the program's functions from the outermost one, then the
 * kernel's. Kernel functions are named here; the caller finds the files of programs (struct
 * hv_profile_files) and the names of their functions. The guest chooses everything in the pages. One
 * thread. */
#pragma once

#include "export/page_decode.h"
#include "profile/flame.h"

#define HV_PROFILE_SYSTEM   "hvtrace"
#define HV_PROFILE_EVENT    "sample"
#define HV_PROFILE_COPY	    "sample_copy"
#define HV_PROFILE_REST	    "sample_rest"
#define HV_PROFILE_FUNCTION "update_process_times"
#define HV_PROFILE_USER	    "user"
#define HV_PROFILE_USTACK   "stack"

#define HV_PROFILE_USER_MAX    128	  /* words of a program's stack */
#define HV_PROFILE_SAMPLES_MAX (1u << 22) /* samples that are kept one by one */

enum hv_profile_per {
	HV_PROFILE_PER_NAME, /* a group for each name of tasks */
	HV_PROFILE_PER_TASK,
	/* A group for each vCPU or container, and in it for each name: */
	HV_PROFILE_PER_CPU,
	HV_PROFILE_PER_CONTAINER,
};

enum hv_profile_place {
	HV_PROFILE_UNKNOWN, /* the mappings are not known */
	HV_PROFILE_FILE,
	HV_PROFILE_NO_CODE, /* the task has no code there */
};

/* What is known of a task of the guest: the file that it has mapped at an address, its cgroup, and the
 * callers on a copy of its stack. */
struct hv_profile_files {
	/* Sets *RET_FILE, a number from 1, and *RET_OFF if it returns HV_PROFILE_FILE. */
	enum hv_profile_place (*find)(void *ctx, uint32_t pid, const char *comm, uint64_t address,
				      uint32_t *ret_file, uint64_t *ret_off);
	/* Returns the path of its cgroup, which is valid until the next call, or NULL: unknown. */
	const char *(*cgroup)(void *ctx, uint32_t pid, const char *comm);
	void *ctx;
	/* Sets RET to the ip and the return addresses of COPY, the registers and the stack of a program
	 * (HV_FETCH_USER_COPY). REST is a later copy (HV_USER_COPY_REST), or empty. Returns their number,
	 * at most HV_PROFILE_USER_MAX. */
	size_t (*unwind)(void *unwind_ctx, uint32_t pid, const char *comm, struct hv_span copy,
			 struct hv_span rest, uint64_t *ret);
	void *unwind_ctx;
};

/* A sample whose stack has not arrived. */
struct hv_profile_pending {
	bool is_there;
	bool is_user;
	bool is_kernel; /* if neither is set, the kernel stack shows which one applies */
	uint32_t pid;
	uint64_t time_ns;
	char comm[16];
	uint64_t user[HV_PROFILE_USER_MAX];
	size_t nr_user;
};

/* An event of samples. */
struct hv_profile_event {
	const struct hv_event_type *type;	       /* NULL: the guest has no such event */
	const struct hv_event_field *is_user, *ustack; /* NULL: no such field */
};

/* The newest event HV_PROFILE_REST of a vCPU. */
struct hv_profile_rest {
	uint8_t *bytes; /* owned */
	size_t len_bytes;
	uint32_t pid; /* 0: none */
};

struct hv_profile {
	struct hv_export base;
	struct hv_page_decode decode;
	struct hv_page_merge merge;
	struct hv_profile_event words, copies, rests;
	struct hv_profile_rest *rest;	    /* owned, one per vCPU */
	struct hv_profile_pending *pending; /* owned, one per vCPU */
	uint64_t *nr_seen;		    /* owned, ticks per vCPU */
	unsigned nr_cpus;
	struct hv_chains chains;
	struct hv_flame_sample *samples; /* owned */
	size_t nr_samples, samples_cap;
	uint64_t nr_user, nr_kernel; /* counted samples */
	uint64_t nr_lost;	     /* events that the ring lost */
	uint64_t nr_dropped;	     /* samples that were not counted: the chains are full */
	uint64_t first_ns, last_ns;  /* times of the first and of the last sample */
	enum hv_profile_per per;
	unsigned one_of; /* counts one of this number of ticks; 0: all */
	/* For formats that contain a profile: WEIGH returns the weight of a sample (NULL: 1). GROUP
	 * is the group of all samples, below the groups of the task (NULL: none). */
	uint64_t (*weigh)(struct hv_profile *p, uint32_t pid, uint64_t time_ns);
	const char *group;
	struct hv_profile_files files;
};

extern const struct hv_export_format hv_profile_format;

/* X must be open and of this format. */
struct hv_profile *hv_profile_of(struct hv_export *x);
/* For formats that contain a profile, such as offcpu.h. P must be zero-initialised. */
void hv_profile_init(struct hv_profile *p, const struct hv_export_head *head);
void hv_profile_deinit(struct hv_profile *p);
struct hv_err *hv_profile_add(struct hv_export *x, unsigned cpu, struct hv_span page) hv_must_use;
struct hv_err *hv_profile_name_tasks(struct hv_export *x, struct hv_export_text names) hv_must_use;

/* Counts E if it is a sample, or the stack that a sample waits for. */
void hv_profile_see(struct hv_profile *p, const struct hv_event *e);
/* Counts the samples that wait for their stacks, at the end. */
void hv_profile_count_pending(struct hv_profile *p);

/* These replace *NODE by its child, or by a descendant. They return false if there are too many
 * nodes; *NODE is then the last one that fits. */
bool hv_profile_add_group(struct hv_profile *p, const char *name, uint32_t *node);
/* The groups for a task of vCPU CPU; uses pid and comm of S. */
bool hv_profile_add_groups(struct hv_profile *p, const struct hv_profile_pending *s, unsigned cpu,
			   uint32_t *node);
/* The functions of the program. */
bool hv_profile_add_users(struct hv_profile *p, const struct hv_profile_pending *s, uint32_t *node);
bool hv_profile_add_kernel(struct hv_profile *p, uint64_t at, uint32_t *node);

/* Appends the words of the program's stack in FIELD, which may be NULL, to S. */
void hv_profile_take_ustack(const struct hv_event_field *field, const struct hv_event *e,
			    struct hv_profile_pending *s);
/* Returns the number of callers of the stack E up to the kernel's entry for interrupts; 0: it is not
 * in an interrupt. */
size_t hv_profile_interrupt_frames(const struct hv_profile *p, const struct hv_event *e);
/* Names the frames that have no name: kernel functions, and addresses of programs. */
void hv_profile_name_rest(struct hv_profile *p);
