/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A traced guest with a fake kernel, for tests of code that changes the kernel, and for the fuzzer
 * of return stacks. */
#pragma once

#include "tests/lib/part_guest.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/graph/returns.h"
#include "tracer/guest/tracee.h"

#define FR_NR_STACKS  4u
#define FR_RANGE      0xffffffff90000000ull /* the region's; nothing is mapped there */
#define FR_RANGE_LEN  0x1000000ull
#define FR_HANDLER    (FR_RANGE + 0x1040)
#define FR_CALLER     (FK_BASE + 0x700)
#define FR_SLEEP_FROM 0x3000ull

struct fr {
	struct ft t;
	struct hv_tracee tracee;
	struct hv_guest *guest;
	struct hv_vcpu_regs regs[2];
	unsigned nr_writes;
	void (*when_written)(struct fr *r, struct hv_gpa at, uint64_t to); /* may be NULL */
	void (*when_held)(struct fr *r); /* called before registers are read; may be NULL */
	void (*when_read)(struct fr *r, struct hv_gpa at); /* after a word was read; may be NULL */
	uint64_t task;					   /* a sleeping task, for frames */
	size_t nr_text_writes;
	size_t fail_after;	/* the text write with this number fails; 0: none */
	bool fails_on;		/* and all later ones */
	bool is_paused;		/* no hold can begin */
	int end_code;		/* errno at the end of holds; 0: success */
	unsigned nr_task_walks; /* how often a walk of the process list began */
};

static inline struct hv_err *fr_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct fr *r = self;
	struct hv_err *err;

	r->nr_task_walks += len == sizeof(uint64_t) && r->t.init_task &&
			    gpa.v == r->t.init_task + FT_TASKS - FK_BASE + FK_GPA;
	err = xm_read(&r->t.f.machine, gpa, buf, len);
	if (r->when_read && len == sizeof(uint64_t))
		r->when_read(r, gpa);
	return err;
}

static inline struct hv_err *fr_hold_begin(void *self, uint64_t max_ns)
{
	(void)max_ns;
	if (((struct fr *)self)->is_paused)
		return hv_err_new(EBUSY, "the machine is not running (paused)");
	return NULL;
}

static inline struct hv_err *fr_hold_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct fr *r = self;
	struct hv_err *err = hv_vcpus_check_room(HV_ARRAY_LEN(r->regs), nr);

	if (r->when_held)
		r->when_held(r);
	if (!err)
		memcpy(ret, r->regs, sizeof(r->regs));
	return err;
}

static inline struct hv_err *fr_sleeps(void *self, bool *ret)
{
	(void)self;
	*ret = false;
	return NULL;
}

static inline struct hv_err *fr_hold_end(void *self)
{
	const struct fr *r = self;

	return r->end_code ? hv_err_new(r->end_code, "the hold did not end as it should") : NULL;
}

static inline struct hv_err *fr_write_text(struct fr *r)
{
	size_t now = ++r->nr_text_writes;

	if (r->fail_after && (now == r->fail_after || (r->fails_on && now > r->fail_after)))
		return hv_err_new(EIO, "the trampoline did not answer");
	return NULL;
}

/* Writes of a word change return addresses, others change text. */
static inline struct hv_err *fr_write_word(struct fr *r, const struct hv_hold_write *w)
{
	uint64_t to;

	memcpy(&to, w->bytes, sizeof(to));
	if (r->when_written)
		r->when_written(r, w->gpa, to);
	r->nr_writes++;
	return NULL;
}

static inline struct hv_err *fr_hold_write(void *self, const struct hv_hold_write *writes,
					   size_t nr)
{
	struct fr *r = self;

	for (size_t i = 0; i < nr; i++) {
		const struct hv_hold_write *w = &writes[i];
		struct hv_err *err =
			w->len_bytes == sizeof(uint64_t) ? fr_write_word(r, w) : fr_write_text(r);

		if (!err && w->gpa.v > XM_RAM_BYTES - w->len_bytes)
			err = hv_err_new(EFAULT, "no RAM at guest physical 0x%llx",
					 (unsigned long long)w->gpa.v);
		if (err)
			return err;
		memcpy(r->t.f.machine.ram + w->gpa.v, w->bytes, w->len_bytes);
	}
	return NULL;
}

static inline void fr_init_with(struct fr *r, void (*declare)(struct fk *f))
{
	static struct hv_guest_ops ops = {.read = fr_read,
					  .hold_begin = fr_hold_begin,
					  .hold_registers = fr_hold_registers,
					  .sleeps = fr_sleeps,
					  .hold_write = fr_hold_write,
					  .hold_end = fr_hold_end};
	struct hv_tracee *t = &r->tracee;

	*r = (struct fr){0};
	ft_init_with(&r->t, declare);
	r->guest = part_guest_new(&ops, r, hv_guest_info(r->t.f.machine.guest));
	r->t.f.k.guest = r->t.f.k.core.as.guest = r->guest;
	t->guest = r->guest;
	t->kernel = &r->t.f.k;
	t->range = (struct hv_gva_range){hv_gva(FR_RANGE), hv_gva(FR_RANGE + FR_RANGE_LEN)};
	t->handler = hv_gva(FR_HANDLER);
	t->plan.nr_stacks = FR_NR_STACKS;
	t->region = (struct hv_region){.host = hv_alloc(HV_REGION_LEN_MIN),
				       .len_bytes = HV_REGION_LEN_MIN};
	t->patcher = hv_patcher_new(&r->t.f.k.core.as, r->t.f.k.core.image.all, &t->region);
	for (unsigned i = 0; i < 2; i++)
		r->regs[i] = (struct hv_vcpu_regs){.ip = hv_gva(0x401000),
						   .sp = hv_gva(0x7ffc00000000),
						   .root = r->t.f.k.core.as.root.v,
						   .levels = 4};
	r->task = ft_process(&r->t, 71, "cat", FR_SLEEP_FROM);
}

static inline void fr_init(struct fr *r)
{
	fr_init_with(r, NULL);
}

static inline void fr_deinit(struct fr *r)
{
	hv_patcher_free(r->tracee.patcher);
	hv_guest_free(r->guest);
	free(r->tracee.region.host);
	ft_deinit(&r->t);
}

/* Returns the address of a return address on the sleeping task's stack. */
static inline uint64_t fr_retp(struct fr *r, unsigned nr)
{
	return ft_stack(&r->t, r->task) + FR_SLEEP_FROM + 0x40 * nr;
}

static inline uint64_t fr_word(struct fr *r, uint64_t at)
{
	uint64_t word;

	memcpy(&word, fk_host(&r->t.f, at), sizeof(word));
	return word;
}

/* Adds a frame. The caller sets the word at its retp. */
static inline void fr_frame(struct fr *r, unsigned stack, uint64_t slot, uint64_t caller)
{
	struct hv_stack *st = hv_region_stack(&r->tracee.region, stack);

	st->frames[(st->word & HV_STACK_NR_MASK) / sizeof(struct hv_frame)] =
		(struct hv_frame){.retp_gva = slot, .caller_gva = caller};
	st->word += sizeof(struct hv_frame);
}

static inline struct hv_err *fr_put_back_held(struct hv_hold *hold, void *ctx)
{
	struct fr *r = ctx;
	size_t nr;

	return hv_returns_put_back(&r->tracee, hold, &nr);
}

static inline struct hv_err *fr_put_back(struct fr *r)
{
	return hv_patcher_held(r->tracee.patcher, fr_put_back_held, r);
}

/* Starts a graph. During the start, the exception stacks are at the addresses that it expects. */
static inline struct hv_err *fr_start_graph(struct fr *r, struct hv_graph_tracer *g)
{
	struct hv_err *err;

	ft_percpu(&r->t, FT_CEA, 0, r->t.f.k.core.as.arch->exception_stacks.start.v);
	err = hv_graph_tracer_start(g);
	ft_percpu(&r->t, FT_CEA, 0, r->t.estacks[0]);
	return err;
}
