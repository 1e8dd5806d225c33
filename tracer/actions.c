/* What calls of functions do to recording: slots of the stubs, and what they are used for. */
#include "tracer/actions.h"

#include <string.h>

#define COUNTED                                                                                    \
	(1u << HV_ACTION_ON_COUNTED | 1u << HV_ACTION_OFF_COUNTED |                                \
	 1u << HV_ACTION_STACK_COUNTED | 1u << HV_ACTION_TELL_COUNTED)

_Static_assert(HV_SLOT_ON == 1u << HV_ACTION_ON, "the bits are alike");
_Static_assert(HV_SLOT_OFF == 1u << HV_ACTION_OFF, "the bits are alike");
_Static_assert(HV_SLOT_ON_COUNTED == 1u << HV_ACTION_ON_COUNTED, "the bits are alike");
_Static_assert(HV_SLOT_OFF_COUNTED == 1u << HV_ACTION_OFF_COUNTED, "the bits are alike");
_Static_assert(HV_SLOT_STACK == 1u << HV_ACTION_STACK, "the bits are alike");
_Static_assert(HV_SLOT_STACK_COUNTED == 1u << HV_ACTION_STACK_COUNTED, "the bits are alike");
_Static_assert(HV_SLOT_TELL == 1u << HV_ACTION_TELL, "the bits are alike");
_Static_assert(HV_SLOT_TELL_COUNTED == 1u << HV_ACTION_TELL_COUNTED, "the bits are alike");

static int compare_ips(const void *pa, const void *pb)
{
	const struct hv_site_actions *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

static const struct hv_site_actions *find(const struct hv_session *s, uint64_t ip)
{
	struct hv_site_actions key = {.ip = ip};

	if (!s->nr_actions)
		return NULL;
	return bsearch(&key, s->actions, s->nr_actions, sizeof(key), compare_ips);
}

struct hv_err *hv_session_set_actions(struct hv_session *s, const struct hv_site_actions *list,
				      size_t nr)
{
	size_t nr_counted = 0;

	for (size_t i = 0; i < nr; i++)
		nr_counted += (list[i].bits & COUNTED) != 0;
	if (nr_counted > HV_ACTIONS_COUNTED_MAX)
		return hv_err_new(ENOSPC, "%zu functions with a counted command; %d can have one",
				  nr_counted, HV_ACTIONS_COUNTED_MAX);
	free(s->actions);
	s->actions = hv_alloc(nr * sizeof(*list));
	if (nr)
		memcpy(s->actions, list, nr * sizeof(*list));
	s->nr_actions = nr;
	return NULL;
}

static int32_t *left_of(const struct hv_session *s, unsigned slot, enum hv_action action)
{
	struct hv_control *control = hv_region_control(&s->region);

	switch (action) {
	case HV_ACTION_ON_COUNTED:
		return &control->left[slot].on;
	case HV_ACTION_STACK_COUNTED:
		return &control->left[slot].stack;
	case HV_ACTION_TELL_COUNTED:
		return &control->left[slot].tell;
	default:
		return &control->left[slot].off;
	}
}

static int32_t clamped(int64_t left)
{
	if (left > INT32_MAX)
		return INT32_MAX;
	return left < 0 ? -1 : (int32_t)left;
}

/* The slot that counts ACTION for IP now; HV_NR_SLOTS: none. */
static unsigned standing_slot(const struct hv_session *s, uint64_t ip, enum hv_action action)
{
	for (unsigned i = 0; i < HV_NR_SLOTS; i++)
		if (s->slots[i].stands && s->slots[i].ip == ip && s->slots[i].bits >> action & 1)
			return i;
	return HV_NR_SLOTS;
}

int64_t hv_session_action_left(const struct hv_session *s, uint64_t ip, enum hv_action action,
			       int64_t not_set)
{
	unsigned slot = standing_slot(s, ip, action);
	int64_t left;

	if (slot == HV_NR_SLOTS)
		return not_set;
	left = __atomic_load_n(left_of(s, slot, action), __ATOMIC_RELAXED);
	/* What does not fit is counted once it does. */
	return left == INT32_MAX || left < 0 ? not_set : left;
}

void hv_actions_begin(struct hv_session *s)
{
	for (unsigned i = 0; i < HV_NR_SLOTS; i++)
		s->slots[i].wanted = 0;
}

static struct hv_gva entry_of(const struct hv_session *s, unsigned slot)
{
	const struct hv_stub_image *stubs = &s->kernel->core.as.arch->stubs;

	return hv_gva_add(hv_session_code(s), stubs->actions_off + slot * stubs->action_len_bytes);
}

static void start_count(struct hv_session *s, unsigned slot, const struct hv_site_actions *a,
			enum hv_action action)
{
	unsigned before = standing_slot(s, a->ip, action);
	int32_t left = clamped(a->left[action]);

	if (before != HV_NR_SLOTS)
		left = __atomic_load_n(left_of(s, before, action), __ATOMIC_RELAXED);
	__atomic_store_n(left_of(s, slot, action), left, __ATOMIC_RELAXED);
}

/* No site calls it yet. */
static void fill_slot(struct hv_session *s, unsigned slot, const struct hv_site_actions *a,
		      uint32_t goes_on)
{
	struct hv_slot *shared = hv_region_slot(&s->region, slot);

	for (unsigned action = 0; action < HV_NR_ACTIONS; action++)
		if (a->bits & COUNTED & 1u << action)
			start_count(s, slot, a, action);
	s->slots[slot].ip = a->bits & COUNTED ? a->ip : 0;
	s->slots[slot].bits = a->bits;
	s->slots[slot].goes_on = goes_on;
	__atomic_store_n(&shared->goes_on, goes_on, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->does, a->bits, __ATOMIC_RELEASE);
}

static bool serves(const struct hv_action_slot *slot, const struct hv_site_actions *a,
		   uint32_t goes_on)
{
	return (slot->stands || slot->wanted) && slot->bits == a->bits &&
	       slot->goes_on == goes_on && (!(a->bits & COUNTED) || slot->ip == a->ip);
}

struct hv_err *hv_actions_stub(struct hv_session *s, uint64_t ip, struct hv_gva goes_on,
			       bool *ret_has, struct hv_gva *ret)
{
	const struct hv_site_actions *found = find(s, ip);
	struct hv_site_actions all = found ? *found : (struct hv_site_actions){.ip = ip};
	const struct hv_site_actions *a = &all;
	uint32_t off = goes_on.v ? (uint32_t)(goes_on.v - s->range.start.v) : 0;
	unsigned slot = 0;

	all.bits |= hv_session_task_bits(s, ip);
	*ret_has = all.bits != 0;
	if (!*ret_has)
		return NULL;
	while (slot < HV_NR_SLOTS && !serves(&s->slots[slot], a, off))
		slot++;
	if (slot == HV_NR_SLOTS) {
		for (slot = 0; slot < HV_NR_SLOTS; slot++)
			if (!s->slots[slot].stands && !s->slots[slot].wanted)
				break;
		if (slot == HV_NR_SLOTS)
			return hv_err_new(ENOSPC, "no more functions can have commands");
		fill_slot(s, slot, a, off);
	}
	s->slots[slot].wanted = 1;
	*ret = entry_of(s, slot);
	return NULL;
}

void hv_actions_end(struct hv_session *s, bool done)
{
	for (unsigned i = 0; i < HV_NR_SLOTS; i++)
		if (done)
			s->slots[i].stands = s->slots[i].wanted;
}

bool hv_actions_has(const struct hv_session *s, uint64_t ip)
{
	return find(s, ip) != NULL;
}

bool hv_actions_goes_on(const struct hv_session *s, struct hv_gva at, struct hv_gva *ret)
{
	for (unsigned i = 0; i < HV_NR_SLOTS; i++) {
		if (entry_of(s, i).v != at.v)
			continue;
		*ret = s->slots[i].goes_on ? hv_gva_add(s->range.start, s->slots[i].goes_on)
					   : (struct hv_gva){0};
		return true;
	}
	return false;
}
