/* Which sites are traced: from what is wanted and what the guest's bytes are now to changes. */
#include "tracer/actions.h"
#include "tracer/init_code.h"
#include "tracer/session_graph.h"
#include "tracer/yield.h"

#include <string.h>

/* Translations of ascending addresses, a leaf at a time. */
struct translation {
	const struct hv_address_space *as;
	struct hv_gva_range covers;
	struct hv_mapping mapping; /* of covers.start */
};

static struct hv_err *translate(struct translation *t, struct hv_gva gva, bool *ret_present,
				struct hv_gpa *ret)
{
	if (!hv_gva_in(gva, t->covers)) {
		struct hv_err *err = hv_walk(t->as, gva, &t->mapping);

		if (err)
			return err;
		t->covers = (struct hv_gva_range){gva, hv_gva_add(gva, t->mapping.len_bytes)};
	}
	*ret_present = t->mapping.present;
	*ret = hv_gpa_add(t->mapping.gpa, gva.v - t->covers.start.v);
	return NULL;
}

enum verdict { LEAVE, CHANGE, REFUSE };

/* STUB: where the site is to call to; 0: nowhere. */
static enum verdict judge(struct hv_session *s, const struct hv_site *site, struct hv_gva stub,
			  struct hv_change *change)
{
	const struct hv_arch *arch = s->kernel->core.as.arch;
	struct hv_gva target = {0};
	enum hv_site_kind kind = arch->classify_site(change->from, site->ip, &target);
	bool ours = kind == HV_SITE_CALL && hv_gva_in(target, s->range);

	if (ours && target.v == stub.v)
		return LEAVE;
	if (ours && !hv_patcher_old_bytes(s->patcher, change->gpa, change->to))
		return LEAVE;
	if (!stub.v)
		return ours ? CHANGE : LEAVE;
	if (!ours && (site->invalid || site->busy || kind != HV_SITE_NOP))
		return REFUSE;
	return arch->encode_call(site->ip, stub, change->to) ? CHANGE : REFUSE;
}

static struct hv_err *plan_site(struct hv_session *s, struct translation *t,
				const struct hv_site *site, struct hv_gva stub,
				struct hv_change *change, enum verdict *ret)
{
	uint32_t len = (uint32_t)s->kernel->core.as.arch->site_len_bytes;
	bool present;
	struct hv_err *err;

	*change = (struct hv_change){.gva = site->ip, .kind = HV_CHANGE_TEXT, .len_bytes = len};
	err = translate(t, site->ip, &present, &change->gpa);
	if (err)
		return err;
	/* A site across two pages would need two writes; the kernel aligns none so, and a guest
	 * that frees the page under it has unmapped the function. */
	if (!present || hv_site_crosses_pages(s->kernel->core.as.arch, change->gpa.v)) {
		*ret = stub.v ? REFUSE : LEAVE;
		return NULL;
	}
	err = hv_guest_read(s->guest, change->gpa, change->from, len);
	if (!err)
		*ret = judge(s, site, stub, change);
	return err;
}

/* The stub that the site at GPA calls, as far as we changed it. */
static uint8_t standing_stub(struct hv_session *s, const struct hv_site *site, struct hv_gpa gpa)
{
	const struct hv_arch *arch = s->kernel->core.as.arch;
	uint8_t bytes[HV_SITE_LEN_MAX], old_bytes[8];
	struct hv_gva target = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_patcher_old_bytes(s->patcher, gpa, old_bytes))
		return HV_STUB_NONE;
	err = hv_guest_read(s->guest, gpa, bytes, arch->site_len_bytes);
	if (err || arch->classify_site(bytes, site->ip, &target) != HV_SITE_CALL)
		return HV_STUB_NONE;
	if (!hv_actions_goes_on(s, target, &target))
		return (uint8_t)hv_graph_stub_of(s, target);
	if (target.v)
		return (uint8_t)hv_graph_stub_of(s, target);
	return hv_actions_has(s, site->ip.v) ? HV_STUB_ACTIONS : HV_STUB_NONE;
}

/* What stands in the guest now, whoever asked for it. */
static void note_patched(struct hv_session *s, const struct hv_gpa *gpas)
{
	s->patched = hv_realloc_array(s->patched, s->kernel->sites.nr, 1);
	for (size_t i = 0; i < s->kernel->sites.nr; i++)
		s->patched[i] = standing_stub(s, &s->kernel->sites.list[i], gpas[i]);
}

/* One pass over all sites: those in WANTED's places are made to call, all others are restored. */
static struct hv_err *change_sites(struct hv_session *s, const struct hv_gva *wanted,
				   struct hv_gpa *ret_gpas)
{
	const struct hv_sites *sites = &s->kernel->sites;
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((sites->nr + 1) * sizeof(*changes));
	struct translation t = {.as = &s->kernel->core.as};
	size_t nr = 0, nr_refused = 0;
	HV_AUTO_ERR struct hv_err *ended = NULL;
	struct hv_err *err;

	for (size_t i = 0; i < sites->nr; i++) {
		enum verdict verdict;

		err = plan_site(s, &t, &sites->list[i], wanted[i], &changes[nr], &verdict);
		if (err)
			return hv_err_in(err, "site %s", sites->list[i].name);
		ret_gpas[i] = changes[nr].gpa;
		nr += verdict == CHANGE;
		nr_refused += verdict == REFUSE;
	}
	err = nr ? hv_yield_begin(s) : NULL;
	if (!err)
		err = hv_patcher_apply(s->patcher, changes, nr);
	ended = hv_yield_end_if_done(s);
	if (!err)
		err = hv_take(ended);
	for (size_t i = 0; !err && i < nr; i++)
		nr_refused += changes[i].refused;
	if (!err)
		s->nr_refused = nr_refused;
	return err;
}

/* Where the sites are to call to. */
static struct hv_err *choose_stubs(struct hv_session *s, const uint8_t *wanted, bool frames,
				   struct hv_gva *ret)
{
	struct hv_graph_roles roles = {0};
	const struct hv_sites *sites = &s->kernel->sites;
	struct hv_err *err = frames ? hv_graph_find_roles(s, &roles) : NULL;

	hv_actions_begin(s);
	for (size_t i = 0; !err && i < sites->nr; i++) {
		enum hv_call_role role = frames ? hv_graph_role(&roles, i) : HV_ROLE_NONE;
		bool acts = false;
		struct hv_gva entry;

		if (wanted[i] || role)
			ret[i] = hv_graph_stub_at(s, wanted[i], role);
		if (!sites->list[i].invalid)
			err = hv_actions_stub(s, sites->list[i].ip.v, ret[i], &acts, &entry);
		if (!err && acts)
			ret[i] = entry;
	}
	return err;
}

struct hv_err *hv_session_trace_sites(struct hv_session *s, const uint8_t *wanted)
{
	size_t nr = s->kernel->sites.nr;
	HV_AUTO_FREE struct hv_gpa *gpas = hv_alloc(nr * sizeof(*gpas));
	HV_AUTO_FREE struct hv_gva *stubs = hv_alloc(nr * sizeof(*stubs));
	struct hv_err *err = NULL;
	bool graph = false, frames = false, stacks = false;

	for (size_t i = 0; i < nr; i++) {
		graph |= (wanted[i] & ~HV_STUB_PROFILED) >= HV_STUB_GRAPH;
		frames |= wanted[i] >= HV_STUB_GRAPH;
		stacks |= wanted[i] == (HV_STUB_FUNCTION_STACK | HV_STUB_PROFILED);
	}
	if (stacks)
		err = hv_err_new(EBUSY, "the profile and func_stack_trace: one at a time");
	if (!err && frames)
		err = hv_graph_start(s);
	if (!err)
		err = choose_stubs(s, wanted, frames, stubs);
	if (err)
		return err;
	if (graph)
		hv_graph_record(s, true);
	err = change_sites(s, stubs, gpas);
	hv_actions_end(s, !err);
	note_patched(s, gpas);
	if (!err && !graph)
		hv_graph_record(s, false);
	if (!err && !frames)
		hv_graph_stop(s);
	return err;
}

struct hv_err *hv_session_check_calls(struct hv_session *s)
{
	const struct hv_sites *sites = &s->kernel->sites;
	const struct hv_arch *arch = s->kernel->core.as.arch;
	struct translation t = {.as = &s->kernel->core.as};

	for (size_t i = 0; i < sites->nr; i++) {
		const struct hv_site *site = &sites->list[i];
		uint8_t bytes[HV_SITE_LEN_MAX];
		struct hv_gva target;
		struct hv_gpa gpa;
		bool present;
		struct hv_err *err = translate(&t, site->ip, &present, &gpa);

		if (!err && !present)
			continue;
		if (!err)
			err = hv_guest_read(s->guest, gpa, bytes, arch->site_len_bytes);
		if (err)
			return hv_err_in(err, "site %s", site->name);
		if (arch->classify_site(bytes, site->ip, &target) == HV_SITE_CALL &&
		    hv_gva_in(target, s->range))
			return hv_err_new(EBUSY, "site %s (0x%llx) still calls a stub", site->name,
					  (unsigned long long)site->ip.v);
	}
	return hv_yield_check_gone(s);
}

/* Where the sites are now; what cannot be translated is nowhere. */
static void note_patched_anew(struct hv_session *s)
{
	const struct hv_sites *sites = &s->kernel->sites;
	HV_AUTO_FREE struct hv_gpa *gpas = hv_alloc(sites->nr * sizeof(*gpas));
	struct translation t = {.as = &s->kernel->core.as};

	for (size_t i = 0; i < sites->nr; i++) {
		bool present = false;
		HV_AUTO_ERR struct hv_err *err =
			translate(&t, sites->list[i].ip, &present, &gpas[i]);

		if (err || !present)
			gpas[i] = hv_gpa(UINT64_MAX);
	}
	note_patched(s, gpas);
}

/* A kernel that was starting when we came has its code by now. */
static void settle(struct hv_session *s)
{
	bool changed;
	struct hv_err *err = hv_kernel_settle(s->kernel, &changed);

	if (!err && changed)
		err = hv_session_place_stubs(s);
	/* Tried again with the next refresh; a bare return goes on to work. */
	s->kernel->is_starting |= err != NULL;
	hv_err_free(err);
}

unsigned hv_session_refresh(struct hv_session *s)
{
	uint64_t signature;
	HV_AUTO_ERR struct hv_err *unseen = hv_modules_signature(&s->kernel->core, &signature);
	bool init_ended = hv_init_code_end(s);
	struct hv_err *err;

	settle(s);
	if (init_ended)
		note_patched_anew(s);
	if (unseen || (!hv_yield_looked(s) && signature == s->modules_signature))
		return init_ended;
	err = hv_kernel_refresh(s->kernel);
	if (err) {
		hv_err_free(err);
		return init_ended;
	}
	s->modules_signature = signature;
	if (s->orc)
		hv_orc_forget_modules(s->orc);
	hv_patcher_forget_gone(s->patcher);
	hv_yield_forget_taken(s);
	note_patched_anew(s);
	return 1;
}

const uint8_t *hv_session_patched(const struct hv_session *s)
{
	return s->patched;
}
