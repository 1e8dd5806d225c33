/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/guest.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

#include "arch/arch.h"
#include "base/clock.h"
#include "vmm/operations.h"
#include "vmm/page_walk.h"

struct hv_guest {
	const struct hv_guest_ops *ops;
	void *self;
	struct hv_guest_info info; /* strings are owned */
	struct hv_hold *hold;	   /* the current hold, or NULL */
};

struct hv_hold {
	struct hv_guest *guest;
	uint64_t from_ns; /* the timeout counts from then or slightly later */
	uint64_t max_ns;
};

static bool all_or_none(unsigned nr_set, unsigned nr)
{
	return !nr_set || nr_set == nr;
}

static void check_ops(const struct hv_guest_ops *o)
{
	assert(o->free && o->read && o->registers && o->region && o->hold_begin &&
	       o->hold_registers && o->hold_write && o->hold_flush_translations && o->hold_end);
	assert(all_or_none(!!o->pin + !!o->unpin, 2));
	assert(all_or_none(!!o->host_formats + !!o->host_trace + !!o->host_pipes, 3));
	assert(all_or_none(
		!!o->stop_at + !!o->stop_fd + !!o->is_at_stop + !!o->end_stop + !!o->run_to, 5));
}

struct hv_guest *hv_guest_new(const struct hv_guest_ops *ops, void *self,
			      const struct hv_guest_info *info)
{
	struct hv_guest *g = hv_alloc(sizeof(*g));

	assert(info->nr_vcpus <= HV_VCPUS_MAX);
	check_ops(ops);
	g->ops = ops;
	g->self = self;
	g->info = *info;
	g->info.name = hv_strdup(info->name ? info->name : "");
	g->info.id = hv_strdup(info->id ? info->id : "");
	g->info.transport = hv_strdup(info->transport ? info->transport : "");
	return g;
}

void hv_guest_free(struct hv_guest *g)
{
	if (!g)
		return;
	if (g->hold)
		hv_err_free(hv_hold_end(g->hold, NULL));
	g->ops->free(g->self);
	free((char *)g->info.name);
	free((char *)g->info.id);
	free((char *)g->info.transport);
	free(g);
}

const struct hv_guest_info *hv_guest_info(const struct hv_guest *g)
{
	return &g->info;
}

void *hv_guest_self(const struct hv_guest *g)
{
	return g->self;
}

/* Adds the guest's name to ERR. Takes ERR. */
static struct hv_err *about(const struct hv_guest *g, struct hv_err *err)
{
	return hv_err_mark(hv_err_in(err, "%s", g->info.name), HV_ERR_NAMES_DOMAIN);
}

static struct hv_err *cannot(const struct hv_guest *g, const char *what)
{
	return about(g, hv_err_new(ENOTSUP, "hvtrace has no way to %s here", what));
}

struct hv_err *hv_guest_read(struct hv_guest *g, struct hv_gpa gpa, void *buf, size_t len_bytes)
{
	return g->ops->read(g->self, gpa, buf, len_bytes);
}

struct hv_err *hv_guest_ram_files(struct hv_guest *g, struct hv_ram_file *ret, size_t max,
				  size_t *ret_nr)
{
	*ret_nr = 0;
	return g->ops->ram_files ? g->ops->ram_files(g->self, ret, max, ret_nr) : NULL;
}

struct hv_err *hv_vcpus_check(uint64_t nr)
{
	if (!nr)
		return hv_err_new(EPROTO, "the VMM reports a guest without vCPUs");
	if (nr > HV_VCPUS_MAX)
		return hv_err_new(
			E2BIG, "the VMM reports a guest with %llu vCPUs; at most %u are supported",
			(unsigned long long)nr, HV_VCPUS_MAX);
	return NULL;
}

struct hv_err *hv_vcpus_check_room(unsigned nr, size_t room)
{
	if (nr == room)
		return NULL;
	return hv_err_new(nr > room ? E2BIG : EAGAIN, "the guest has %u vCPUs now, not %zu", nr,
			  room);
}

struct hv_err *hv_guest_count_vcpus(struct hv_guest *g)
{
	unsigned nr = 0;
	struct hv_err *err = g->ops->count_vcpus ? g->ops->count_vcpus(g->self, &nr) : NULL;

	if (!err && g->ops->count_vcpus)
		err = hv_vcpus_check(nr);
	if (!err && g->ops->count_vcpus)
		g->info.nr_vcpus = nr;
	return err;
}

struct hv_err *hv_guest_registers(struct hv_guest *g, struct hv_vcpu_regs *ret, size_t nr)
{
	return g->ops->registers(g->self, ret, nr);
}

struct hv_err *hv_guest_region(struct hv_guest *g, struct hv_region *ret)
{
	return g->ops->region(g->self, ret);
}

struct hv_err *hv_guest_want_shadow(struct hv_guest *g)
{
	return g->ops->want_shadow ? g->ops->want_shadow(g->self)
				   : cannot(g, "replace pages of the guest's text");
}

struct hv_err *hv_guest_prepare_text(struct hv_guest *g, const struct hv_gpa *gpas, size_t nr)
{
	return g->ops->prepare_text ? g->ops->prepare_text(g->self, gpas, nr) : NULL;
}

struct hv_err *hv_guest_tsc(struct hv_guest *g, unsigned vcpu, struct hv_tsc *ret)
{
	return g->ops->tsc ? g->ops->tsc(g->self, vcpu, ret)
			   : cannot(g, "read the offset of the guest's clock");
}

struct hv_err *hv_guest_vcpu_threads(struct hv_guest *g, pid_t *ret, size_t max, size_t *ret_nr)
{
	return g->ops->vcpu_threads ? g->ops->vcpu_threads(g->self, ret, max, ret_nr)
				    : cannot(g, "name the threads of vCPUs");
}

struct hv_err *hv_guest_host_formats(struct hv_guest *g, struct hv_text *ret)
{
	return g->ops->host_formats ? g->ops->host_formats(g->self, ret)
				    : cannot(g, "record events of the host");
}

struct hv_err *hv_guest_host_trace(struct hv_guest *g, uint32_t mask, struct hv_host_threads *ret)
{
	return g->ops->host_trace ? g->ops->host_trace(g->self, mask, ret)
				  : cannot(g, "record events of the host");
}

struct hv_err *hv_guest_host_pipes(struct hv_guest *g, unsigned first, int *ret_fds, size_t max,
				   size_t *ret_nr, unsigned *ret_next)
{
	return g->ops->host_pipes
		       ? g->ops->host_pipes(g->self, first, ret_fds, max, ret_nr, ret_next)
		       : cannot(g, "record events of the host");
}

int hv_guest_exit_fd(const struct hv_guest *g)
{
	return g->ops->exit_fd ? g->ops->exit_fd(g->self) : -1;
}

bool hv_guest_has_ended(const struct hv_guest *g)
{
	struct pollfd fd = {hv_guest_exit_fd(g), POLLIN, 0};

	return fd.fd >= 0 && poll(&fd, 1, 0) > 0;
}

int hv_guest_stop_fd(const struct hv_guest *g)
{
	return g->ops->stop_fd ? g->ops->stop_fd(g->self) : -1;
}

void hv_guest_end_stop(struct hv_guest *g)
{
	if (g->ops->end_stop)
		g->ops->end_stop(g->self);
}

/* Operations that only call the implementation. */
#define CALL(id, op, ...)                                                                          \
	struct hv_err *hv_guest_##op(struct hv_guest *g)                                           \
	{                                                                                          \
		return g->ops->op ? g->ops->op(g->self) : NULL;                                    \
	}
#define FLAG(id, op, ...)                                                                          \
	struct hv_err *hv_guest_##op(struct hv_guest *g, bool *ret)                                \
	{                                                                                          \
		*ret = false;                                                                      \
		return g->ops->op ? g->ops->op(g->self, ret) : NULL;                               \
	}
#define AT(id, op, when, what)                                                                     \
	struct hv_err *hv_guest_##op(struct hv_guest *g, struct hv_gva at)                         \
	{                                                                                          \
		return g->ops->op ? g->ops->op(g->self, at) : cannot(g, what);                     \
	}
HV_GUEST_OPERATIONS(CALL, FLAG, AT, HV_NO_OPERATION, HV_NO_OPERATION, HV_NO_OPERATION)

static struct hv_err *begin_hold(struct hv_guest *g,
				 struct hv_err *(*begin)(void *self, uint64_t max_ns),
				 uint64_t max_ns, struct hv_hold **ret)
{
	uint64_t asked_ns = hv_now_ns();
	struct hv_err *err;

	if (g->hold)
		return about(g, hv_err_new(EBUSY, "the guest is already held"));
	err = begin(g->self, max_ns);
	if (err)
		return err;
	g->hold = hv_alloc(sizeof(*g->hold));
	g->hold->guest = g;
	g->hold->from_ns = g->ops->held_from_ns ? g->ops->held_from_ns(g->self) : asked_ns;
	g->hold->max_ns = max_ns;
	err = hv_guest_count_vcpus(g);
	if (err) {
		hv_err_free(hv_hold_end(g->hold, NULL));
		return err;
	}
	*ret = g->hold;
	return NULL;
}

struct hv_err *hv_hold_begin(struct hv_guest *g, uint64_t max_ns, struct hv_hold **ret)
{
	return begin_hold(g, g->ops->hold_begin, max_ns, ret);
}

struct hv_err *hv_hold_begin_anywhere(struct hv_guest *g, uint64_t max_ns, struct hv_hold **ret)
{
	const struct hv_guest_ops *ops = g->ops;

	return begin_hold(g, ops->hold_begin_anywhere ? ops->hold_begin_anywhere : ops->hold_begin,
			  max_ns, ret);
}

struct hv_err *hv_hold_registers(struct hv_hold *h, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_guest *g = h->guest;

	return g->ops->hold_registers(g->self, ret, nr);
}

struct hv_err *hv_hold_write(struct hv_hold *h, const struct hv_hold_write *writes, size_t nr)
{
	struct hv_guest *g = h->guest;

	for (size_t i = 0; i < nr; i++)
		assert(writes[i].len_bytes <= HV_SITE_LEN_MAX);
	return nr ? g->ops->hold_write(g->self, writes, nr) : NULL;
}

struct hv_err *hv_hold_flush_translations(struct hv_hold *h, uint64_t off, uint64_t len_bytes)
{
	struct hv_guest *g = h->guest;

	return g->ops->hold_flush_translations(g->self, off, len_bytes);
}

uint64_t hv_hold_age_ns(const struct hv_hold *h)
{
	return hv_now_ns() - h->from_ns;
}

struct hv_err *hv_hold_check(const struct hv_hold *h)
{
	uint64_t age_ns = hv_hold_age_ns(h);

	if (age_ns <= h->max_ns / 4 * 3)
		return NULL;
	return hv_err_new(ETIMEDOUT, "hold: it began %llu ms ago, too long ago for a write",
			  (unsigned long long)(age_ns / 1000000));
}

struct hv_err *hv_hold_end(struct hv_hold *h, uint64_t *ret_ns)
{
	struct hv_guest *g = h->guest;
	struct hv_err *err = g->ops->hold_end(g->self);

	if (ret_ns)
		*ret_ns = g->ops->held_ns ? g->ops->held_ns(g->self) : hv_hold_age_ns(h);
	g->hold = NULL;
	free(h);
	return err;
}

/* -- registers from another process ------------------------------------------------------------ */

static bool is_boolean(const uint8_t *byte)
{
	return *byte <= 1;
}

bool hv_vcpu_regs_are_sane(const void *regs, size_t nr)
{
	const uint8_t *at = regs;

	for (size_t i = 0; i < nr; i++, at += sizeof(struct hv_vcpu_regs)) {
		uint32_t levels, hidden;

		memcpy(&levels, at + offsetof(struct hv_vcpu_regs, levels), sizeof(levels));
		memcpy(&hidden, at + offsetof(struct hv_vcpu_regs, hidden), sizeof(hidden));
		if (levels > HV_PAGE_LEVELS_MAX || hidden > HV_HIDDEN_YES ||
		    !is_boolean(at + offsetof(struct hv_vcpu_regs, executes_all)) ||
		    !is_boolean(at + offsetof(struct hv_vcpu_regs, is_hypervisor)))
			return false;
	}
	return true;
}
