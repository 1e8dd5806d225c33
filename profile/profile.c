/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/profile.h"

#include <inttypes.h>
#include <string.h>

#include "base/grow.h"
#include "base/prefix.h"
#include "profile/container.h"

#define WORD	  8
#define USER_BITS 47 /* of addresses of programs; with five levels of tables, most use no more */

struct hv_profile *hv_profile_of(struct hv_export *x)
{
	return (struct hv_profile *)x;
}

void hv_profile_deinit(struct hv_profile *p)
{
	hv_page_merge_deinit(&p->merge);
	hv_page_decode_deinit(&p->decode);
	hv_chains_deinit(&p->chains);
	for (unsigned cpu = 0; p->rest && cpu < p->nr_cpus; cpu++)
		free(p->rest[cpu].bytes);
	free(p->rest);
	free(p->pending);
	free(p->nr_seen);
	free(p->samples);
}

static void profile_free(struct hv_export *x)
{
	hv_profile_deinit(hv_profile_of(x));
	free(x);
}

static struct hv_profile_event find_event(const struct hv_catalogue *c, const char *name)
{
	struct hv_profile_event e = {.type = hv_catalogue_find(c, HV_PROFILE_SYSTEM, name)};

	if (e.type) {
		e.is_user = hv_event_type_field(c, e.type, HV_PROFILE_USER);
		e.ustack = hv_event_type_field(c, e.type, HV_PROFILE_USTACK);
	}
	return e;
}

void hv_profile_init(struct hv_profile *p, const struct hv_export_head *head)
{
	const struct hv_catalogue *c = &p->decode.catalogue;

	hv_page_decode_init(&p->decode, head);
	hv_page_merge_init(&p->merge, head->nr_cpus, head->page_bytes);
	p->nr_cpus = head->nr_cpus;
	p->pending = hv_alloc((head->nr_cpus + 1) * sizeof(*p->pending));
	p->nr_seen = hv_alloc((head->nr_cpus + 1) * sizeof(*p->nr_seen));
	p->rest = hv_alloc((head->nr_cpus + 1) * sizeof(*p->rest));
	p->words = find_event(c, HV_PROFILE_EVENT);
	p->copies = find_event(c, HV_PROFILE_COPY);
	p->rests = find_event(c, HV_PROFILE_REST);
}

static struct hv_err *profile_open(const struct hv_export_config *config hv_unused,
				   const struct hv_export_head *head, struct hv_export **ret)
{
	struct hv_profile *p = hv_alloc(sizeof(*p));

	hv_profile_init(p, head);
	*ret = &p->base;
	return NULL;
}

struct hv_err *hv_profile_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct hv_profile *p = hv_profile_of(x);

	hv_page_merge_add(&p->merge, cpu, page);
	if (!x->wants_names)
		x->wants_names = hv_page_decode_lacks_names(&p->decode, page);
	return NULL;
}

struct hv_err *hv_profile_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	hv_page_decode_name_tasks(&hv_profile_of(x)->decode, names);
	return NULL;
}

/* -- chains ------------------------------------------------------------------------------------- */

bool hv_profile_add_group(struct hv_profile *p, const char *name, uint32_t *node)
{
	uint32_t frame;

	return hv_chains_group(&p->chains, name, &frame) &&
	       hv_chains_child(&p->chains, *node, frame, node);
}

/* Returns the name of the group that contains the group of S, or NULL. */
static char *outer_group(const struct hv_profile *p, const struct hv_profile_pending *s,
			 unsigned cpu)
{
	const char *cgroup;

	if (p->per == HV_PROFILE_PER_CPU)
		return hv_format("vCPU %u", cpu);
	if (p->per != HV_PROFILE_PER_CONTAINER)
		return NULL;
	cgroup = p->files.cgroup ? p->files.cgroup(p->files.ctx, s->pid, s->comm) : NULL;
	return cgroup ? hv_container_name(cgroup) : hv_strdup(HV_CONTAINER_UNKNOWN);
}

bool hv_profile_add_groups(struct hv_profile *p, const struct hv_profile_pending *s, unsigned cpu,
			   uint32_t *node)
{
	HV_AUTO_FREE char *name = p->per == HV_PROFILE_PER_TASK
					  ? hv_format("%s-%u", s->comm, s->pid)
					  : hv_strdup(s->comm);
	HV_AUTO_FREE char *outer = outer_group(p, s, cpu);

	return (!outer || hv_profile_add_group(p, outer, node)) &&
	       hv_profile_add_group(p, name, node);
}

/* A function of the program. */
struct user_frame {
	uint32_t file;
	uint64_t off; /* the address, if FILE is 0 */
};

/* Finds the functions of the program, the innermost first. The stack ends before an address that cannot
 * be a caller's. Returns their number. */
static size_t find_users(const struct hv_profile *p, const struct hv_profile_pending *s,
			 struct user_frame ret[static HV_PROFILE_USER_MAX])
{
	size_t nr = 0;

	for (; nr < s->nr_user; nr++) {
		/* A return address follows the calling instruction. */
		uint64_t at = s->user[nr] - (nr ? 1 : 0);
		enum hv_profile_place place = HV_PROFILE_UNKNOWN;

		ret[nr] = (struct user_frame){.off = at};
		if (at >> USER_BITS)
			break;
		if (p->files.find)
			place = p->files.find(p->files.ctx, s->pid, s->comm, at, &ret[nr].file,
					      &ret[nr].off);
		if (nr && place == HV_PROFILE_NO_CODE)
			break;
		if (ret[nr].off >> USER_BITS) /* the guest chooses the offsets of mappings */
			ret[nr] = (struct user_frame){.off = at};
	}
	return nr;
}

static bool add_user(struct hv_profile *p, const struct user_frame *user, uint32_t *node)
{
	uint32_t frame;

	return hv_chains_frame(&p->chains, HV_CHAIN_USER, user->file, user->off, &frame) &&
	       hv_chains_child(&p->chains, *node, frame, node);
}

bool hv_profile_add_users(struct hv_profile *p, const struct hv_profile_pending *s, uint32_t *node)
{
	struct user_frame users[HV_PROFILE_USER_MAX];
	bool fits = true;

	for (size_t i = find_users(p, s, users); fits && i-- > 0;)
		fits = add_user(p, &users[i], node);
	return fits;
}

bool hv_profile_add_kernel(struct hv_profile *p, uint64_t at, uint32_t *node)
{
	const struct hv_symbol *symbol = hv_page_decode_symbol(&p->decode, hv_gva(at));
	uint32_t frame;

	return hv_chains_frame(&p->chains, HV_CHAIN_KERNEL, 0, symbol ? symbol->addr.v : at,
			       &frame) &&
	       hv_chains_child(&p->chains, *node, frame, node);
}

/* The frames of the interrupt end with an assembly function where interrupts enter. */
size_t hv_profile_interrupt_frames(const struct hv_profile *p, const struct hv_event *e)
{
	static const char *const entries[] = {
		"asm_",	 "el1h_64_", "el0t_64_",	   "el1h_",
		"el0t_", "do_irq",   "ret_from_exception", "handle_exception"};

	for (size_t i = 0; i < e->nr_callers; i++) {
		const struct hv_symbol *symbol =
			hv_page_decode_symbol(&p->decode, hv_gva(e->callers[i].v - 1));

		for (size_t n = 0; symbol && n < HV_ARRAY_LEN(entries); n++)
			if (hv_starts_with(symbol->name, entries[n]))
				return i + 1;
	}
	return 0;
}

static void keep(struct hv_profile *p, const struct hv_profile_pending *s, unsigned cpu,
		 uint32_t node)
{
	uint64_t weight = p->weigh ? p->weigh(p, s->pid, s->time_ns) : 1;

	p->chains.nodes[node].self += weight;
	p->nr_user += s->is_user;
	p->nr_kernel += !s->is_user;
	p->first_ns = p->first_ns ? p->first_ns : s->time_ns;
	p->last_ns = s->time_ns;
	if (p->nr_samples == HV_PROFILE_SAMPLES_MAX)
		return;
	p->samples = hv_grow(p->samples, p->nr_samples, &p->samples_cap, 1024, sizeof(*p->samples));
	p->samples[p->nr_samples++] = (struct hv_flame_sample){
		.time_ns = s->time_ns, .node = node, .pid = s->pid, .cpu = (uint16_t)cpu};
}

/* Counts the pending sample of CPU. E: its kernel stack, or NULL. */
static void count(struct hv_profile *p, unsigned cpu, const struct hv_event *e)
{
	struct hv_profile_pending *s = &p->pending[cpu];
	size_t begin = e ? hv_profile_interrupt_frames(p, e) : 0, end = e ? e->nr_callers : 0;
	uint32_t node = HV_CHAINS_ROOT;
	bool fits = hv_profile_add_groups(p, s, cpu, &node);

	s->is_there = false;
	fits = fits && (!p->group || hv_profile_add_group(p, p->group, &node));
	begin = begin ? begin : end;
	if (!s->is_kernel && begin == end)
		s->is_user = true;
	fits = fits && hv_profile_add_users(p, s, &node);
	for (size_t i = s->is_user ? 0 : end; fits && i-- > begin;)
		fits = hv_profile_add_kernel(p, e->callers[i].v - (i > begin ? 1 : 0), &node);
	if (fits)
		keep(p, s, cpu, node);
	else
		p->nr_dropped++;
}

/* -- events ------------------------------------------------------------------------------------- */

void hv_profile_take_ustack(const struct hv_event_field *field, const struct hv_event *e,
			    struct hv_profile_pending *s)
{
	struct hv_entry_value v;

	if (!field || !hv_entry_value(field, e->entry, &v))
		return;
	while (s->nr_user < HV_PROFILE_USER_MAX &&
	       hv_span_u64(v.bytes, s->nr_user * WORD, &s->user[s->nr_user]))
		s->nr_user++;
}

/* Counts a tick if it is this vCPU's turn. vCPUs begin at different ticks, so that together they
 * sample at different times. */
static bool is_wanted(struct hv_profile *p, unsigned cpu)
{
	uint64_t seen = p->nr_seen[cpu]++;

	return p->one_of < 2 || (seen + cpu) % p->one_of == 0;
}

/* Keeps the rest of a stack for the sample, which follows. */
static void keep_rest(struct hv_profile *p, const struct hv_event *e)
{
	struct hv_profile_rest *rest = &p->rest[e->cpu];
	struct hv_entry_value v;

	rest->pid = 0;
	if (!p->rests.ustack || !hv_entry_value(p->rests.ustack, e->entry, &v) ||
	    !v.bytes.len_bytes)
		return;
	free(rest->bytes);
	rest->bytes = hv_alloc(v.bytes.len_bytes);
	memcpy(rest->bytes, v.bytes.data, v.bytes.len_bytes);
	rest->len_bytes = v.bytes.len_bytes;
	rest->pid = e->pid;
}

/* Unwinds the copy of a program's stack. */
static void take_copy(struct hv_profile *p, const struct hv_event *e, struct hv_profile_pending *s)
{
	struct hv_profile_rest *r = &p->rest[e->cpu];
	struct hv_span rest = {r->bytes, r->pid == e->pid ? r->len_bytes : 0};
	struct hv_entry_value v;

	r->pid = 0;
	if (p->files.unwind && p->copies.ustack && hv_entry_value(p->copies.ustack, e->entry, &v) &&
	    v.bytes.len_bytes)
		s->nr_user = p->files.unwind(p->files.unwind_ctx, s->pid, s->comm, v.bytes, rest,
					     s->user);
}

static bool is_event(const struct hv_profile_event *known, const struct hv_event *e)
{
	return e->kind == HV_EVENT_GUESTS && known->type && e->id == known->type->id;
}

static void begin(struct hv_profile *p, const struct hv_event *e)
{
	const struct hv_profile_event *known = is_event(&p->copies, e) ? &p->copies : &p->words;
	struct hv_profile_pending *s = &p->pending[e->cpu];
	struct hv_entry_value v;

	if (s->is_there)
		count(p, e->cpu, NULL);
	if (!e->pid || !is_wanted(p, e->cpu))
		return;
	*s = (struct hv_profile_pending){
		.is_there = true,
		.pid = e->pid,
		.time_ns = e->time_ns,
	};
	if (e->kind == HV_EVENT_GUESTS && known->is_user &&
	    hv_entry_value(known->is_user, e->entry, &v)) {
		s->is_user = v.number;
		s->is_kernel = !v.number;
	}
	memcpy(s->comm, e->comm, sizeof(s->comm) - 1);
	if (known == &p->copies)
		take_copy(p, e, s);
	else if (e->kind == HV_EVENT_GUESTS)
		hv_profile_take_ustack(known->ustack, e, s);
}

static bool is_sample(const struct hv_profile *p, const struct hv_event *e)
{
	const struct hv_symbol *symbol;

	if (e->kind == HV_EVENT_GUESTS)
		return is_event(&p->words, e) || is_event(&p->copies, e);
	if (e->kind != HV_EVENT_FUNCTION || p->words.type || p->copies.type)
		return false;
	symbol = hv_page_decode_symbol(&p->decode, e->ip);
	return symbol && strcmp(symbol->name, HV_PROFILE_FUNCTION) == 0;
}

void hv_profile_see(struct hv_profile *p, const struct hv_event *e)
{
	if (is_event(&p->rests, e))
		keep_rest(p, e);
	else if (is_sample(p, e))
		begin(p, e);
	else if (e->kind == HV_EVENT_STACK && p->pending[e->cpu].is_there &&
		 p->pending[e->cpu].pid == e->pid)
		count(p, e->cpu, e);
}

static void see(struct hv_profile *p, const struct hv_merged *m)
{
	struct hv_event e;

	p->nr_lost += m->has_lost ? m->lost : 0;
	if (hv_page_decode_event(&p->decode, m, &e) && e.cpu < p->nr_cpus)
		hv_profile_see(p, &e);
}

static void take_events(struct hv_profile *p)
{
	struct hv_merged m;

	while (hv_page_merge_next(&p->merge, &m))
		see(p, &m);
}

static struct hv_err *profile_turn(struct hv_export *x)
{
	struct hv_profile *p = hv_profile_of(x);

	take_events(p);
	hv_page_merge_turn(&p->merge);
	return NULL;
}

void hv_profile_count_pending(struct hv_profile *p)
{
	for (unsigned cpu = 0; cpu < p->nr_cpus; cpu++)
		if (p->pending[cpu].is_there)
			count(p, cpu, NULL);
}

static struct hv_err *profile_end(struct hv_export *x)
{
	struct hv_profile *p = hv_profile_of(x);

	hv_page_merge_end(&p->merge);
	take_events(p);
	hv_profile_count_pending(p);
	return NULL;
}

void hv_profile_name_rest(struct hv_profile *p)
{
	for (uint32_t i = 0; i < p->chains.nr_frames; i++) {
		const struct hv_chain_frame *frame = &p->chains.frames[i];
		const struct hv_symbol *symbol = NULL;

		if (frame->name)
			continue;
		if (frame->kind == HV_CHAIN_KERNEL)
			symbol = hv_page_decode_symbol(&p->decode, hv_gva(frame->value));
		hv_chains_name(&p->chains, i,
			       symbol ? hv_strdup(symbol->name)
				      : hv_format("0x%" PRIx64, frame->value));
	}
}

const struct hv_export_format hv_profile_format = {
	.name = "profile",
	.input = HV_EXPORT_PAGES,
	.open = profile_open,
	.add = hv_profile_add,
	.name_tasks = hv_profile_name_tasks,
	.turn = profile_turn,
	.end = profile_end,
	.free = profile_free,
};
