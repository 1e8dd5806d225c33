#include "tests/lib/fake_session.h"

#include <string.h>

#include "tests/lib/fake_buffer.h"
#include "tracer/events/comms.h"

struct hv_session {
	struct hv_kernel kernel;
	uint8_t *patched;
	struct hv_site_actions *actions;
	size_t nr_actions;
	struct hv_graph_options graph;
	unsigned profile_on;
	struct fake_count {
		unsigned cpu;
		struct hv_profile_count count;
	} * counts; /* owned */
	size_t nr_counts;
	struct hv_buffer buffer;
	struct {
		uint32_t pid;
		uint32_t tgid;
		char comm[16];
	} comms[64];
	size_t nr_comms;
	uint32_t pids[64];
	size_t nr_pids;
	uint32_t not_pids[64];
	size_t nr_not_pids;
	uint8_t muted[HV_FAKE_NR_CPUS];
	enum hv_forks forks;
	size_t comms_max;
	unsigned ignores_comms;
	unsigned recording;
	enum hv_clock_kind clock;
	unsigned has_host_clock;
	int fail;
	unsigned modules_changed;
	unsigned livepatch;
};

struct hv_session *hv_fake_new(void)
{
	struct hv_session *s = hv_alloc(sizeof(*s));

	s->buffer.nr_cpus = 2;
	s->comms_max = HV_COMMS_MAX;
	s->kernel.release = (char *)"6.1.0-fake";
	for (unsigned cpu = 0; cpu < HV_FAKE_NR_CPUS; cpu++)
		s->buffer.sizes_bytes[cpu] = 1 << 20;
	return s;
}

void hv_fake_free(struct hv_session *s)
{
	struct hv_sites *sites = &s->kernel.sites;

	for (size_t i = 0; i < sites->nr; i++) {
		free((char *)sites->list[i].name);
		free((char *)sites->list[i].module);
	}
	free(sites->list);
	free(s->patched);
	free(s->counts);
	fake_buffer_deinit(&s->buffer);
	free(s->actions);
	free(s->kernel.modules.list);
	free(s);
}

static void add_module(struct hv_modules *modules, const char *name)
{
	for (size_t i = 0; i < modules->nr; i++)
		if (strcmp(modules->list[i].name, name) == 0)
			return;
	modules->list = hv_realloc_array(modules->list, modules->nr + 1, sizeof(*modules->list));
	modules->list[modules->nr] = (struct hv_module){0};
	strncpy(modules->list[modules->nr++].name, name, sizeof(modules->list->name) - 1);
}

void hv_fake_site(struct hv_session *s, uint64_t ip, const char *name, const char *module,
		  unsigned invalid)
{
	struct hv_sites *sites = &s->kernel.sites;

	sites->list = hv_realloc_array(sites->list, sites->nr + 1, sizeof(*sites->list));
	s->patched = hv_realloc_array(s->patched, sites->nr + 1, 1);
	s->patched[sites->nr] = 0;
	s->modules_changed = 1;
	if (module)
		add_module(&s->kernel.modules, module);
	sites->list[sites->nr++] = (struct hv_site){
		.ip = hv_gva(ip),
		.name = hv_strdup(name),
		.module = module ? hv_strdup(module) : NULL,
		.invalid = invalid,
	};
}

void hv_fake_event(struct hv_session *s, const struct hv_event *e)
{
	fake_buffer_put(&s->buffer, e);
}

void hv_fake_overrun(struct hv_session *s, uint64_t nr)
{
	s->buffer.overrun = nr;
}

void hv_fake_comm(struct hv_session *s, uint32_t pid, uint32_t tgid, const char *comm)
{
	if (s->nr_comms == HV_ARRAY_LEN(s->comms))
		return;
	s->comms[s->nr_comms].pid = pid;
	s->comms[s->nr_comms].tgid = tgid;
	strncpy(s->comms[s->nr_comms++].comm, comm, 15);
}

void hv_fake_cpus(struct hv_session *s, unsigned nr)
{
	s->buffer.nr_cpus = nr;
}

void hv_fake_lazy(struct hv_session *s)
{
	s->kernel.layout.has_lazy = true;
}

void hv_fake_clock(struct hv_session *s, enum hv_clock_kind clock)
{
	s->clock = clock;
}

void hv_fake_fail(struct hv_session *s, int code)
{
	s->fail = code;
}

unsigned hv_fake_recording(const struct hv_session *s)
{
	return s->recording;
}

const uint32_t *hv_fake_not_pids(const struct hv_session *s, size_t *ret_nr)
{
	*ret_nr = s->nr_not_pids;
	return s->not_pids;
}

const uint32_t *hv_fake_pids(const struct hv_session *s, size_t *ret_nr)
{
	*ret_nr = s->nr_pids;
	return s->pids;
}

static struct hv_err *change(struct hv_session *s)
{
	int code = s->fail;

	s->fail = 0;
	return code ? hv_err_new(code, "the guest could not be changed") : NULL;
}

struct hv_kernel *hv_session_kernel(struct hv_session *s)
{
	return &s->kernel;
}

bool hv_kernel_symbol_at(const struct hv_kernel *k, struct hv_gva addr, const char **ret_name,
			 const char **ret_module, uint64_t *ret_off)
{
	const struct hv_site *best = NULL;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->ip.v <= addr.v && (!best || site->ip.v > best->ip.v))
			best = site;
	}
	if (!best)
		return false;
	*ret_name = best->name;
	*ret_module = best->module;
	*ret_off = addr.v - best->ip.v;
	return true;
}

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret)
{
	for (size_t i = 0; i < k->sites.nr; i++) {
		if (strcmp(k->sites.list[i].name, name) != 0)
			continue;
		*ret = k->sites.list[i].ip;
		return true;
	}
	return false;
}

uint64_t hv_kernel_symbol_size(const struct hv_kernel *k, struct hv_gva addr)
{
	uint64_t next = 0, start = 0;

	for (size_t i = 0; i < k->sites.nr; i++) {
		uint64_t ip = k->sites.list[i].ip.v;

		if (ip <= addr.v && ip > start)
			start = ip;
		if (ip > addr.v && (!next || ip < next))
			next = ip;
	}
	return next ? next - start : 0x100;
}

void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret)
{
	*ret = (struct hv_session_stat){
		.nr_sites = s->kernel.sites.nr,
		.nr_cpus = s->buffer.nr_cpus,
		.ring_bytes = (uint64_t)s->buffer.nr_cpus << 20,
	};
}

struct hv_err *hv_session_trace_sites(struct hv_session *s, const uint8_t *wanted)
{
	struct hv_err *err = change(s);

	if (!err && s->kernel.sites.nr)
		memcpy(s->patched, wanted, s->kernel.sites.nr);
	return err;
}

struct hv_err *hv_session_filter_pids(struct hv_session *s, const uint32_t *only, size_t nr_only,
				      const uint32_t * not, size_t nr_not)
{
	struct hv_err *err = change(s);
	size_t max = HV_ARRAY_LEN(s->pids);

	if (err)
		return err;
	s->nr_pids = nr_only < max ? nr_only : max;
	if (s->nr_pids)
		memcpy(s->pids, only, s->nr_pids * sizeof(*only));
	s->nr_not_pids = nr_not < max ? nr_not : max;
	if (s->nr_not_pids)
		memcpy(s->not_pids, not, s->nr_not_pids * sizeof(*not ));
	return NULL;
}

struct hv_err *hv_session_set_actions(struct hv_session *s, const struct hv_site_actions *list,
				      size_t nr)
{
	s->actions = hv_realloc_array(s->actions, nr + 1, sizeof(*list));
	if (nr)
		memcpy(s->actions, list, nr * sizeof(*list));
	s->nr_actions = nr;
	return NULL;
}

struct hv_err *hv_session_can_unwind(struct hv_session *s hv_unused)
{
	return NULL;
}

int64_t hv_session_action_left(const struct hv_session *s, uint64_t ip, enum hv_action action,
			       int64_t not_set)
{
	for (size_t i = 0; i < s->nr_actions; i++)
		if (s->actions[i].ip == ip && s->actions[i].bits >> action & 1)
			return s->actions[i].left[action];
	return not_set;
}

struct hv_err *hv_session_follow_forks(struct hv_session *s, enum hv_forks how)
{
	struct hv_err *err = how == s->forks ? NULL : change(s);

	if (!err)
		s->forks = how;
	return err;
}

size_t hv_session_pids(const struct hv_session *s, enum hv_pid_kind kind, uint32_t **ret)
{
	const uint32_t *pids = kind == HV_PIDS_RECORDED ? s->pids : s->not_pids;
	size_t nr = kind == HV_PIDS_RECORDED ? s->nr_pids : s->nr_not_pids;

	*ret = nr ? memcpy(hv_alloc(nr * sizeof(*pids)), pids, nr * sizeof(*pids)) : NULL;
	return nr;
}

/* The task PID makes CHILD. */
void hv_fake_fork(struct hv_session *s, uint32_t pid, uint32_t child)
{
	uint32_t *pids = s->forks == HV_FORKS_OF_ONLY ? s->pids : s->not_pids;
	size_t *nr = s->forks == HV_FORKS_OF_ONLY ? &s->nr_pids : &s->nr_not_pids;

	for (size_t i = 0; s->forks != HV_FORKS_NOT && i < *nr; i++) {
		if (pids[i] != pid || *nr == HV_ARRAY_LEN(s->pids))
			continue;
		pids[(*nr)++] = child;
		return;
	}
}

void hv_session_mute_cpus(struct hv_session *s, const uint8_t *muted)
{
	memset(s->muted, 0, sizeof(s->muted));
	if (muted)
		memcpy(s->muted, muted,
		       s->buffer.nr_cpus < HV_FAKE_NR_CPUS ? s->buffer.nr_cpus : HV_FAKE_NR_CPUS);
}

const uint8_t *hv_fake_muted(const struct hv_session *s)
{
	return s->muted;
}

enum hv_forks hv_fake_forks(const struct hv_session *s)
{
	return s->forks;
}

const char *hv_kernel_preempt_model(const struct hv_kernel *k hv_unused)
{
	return "preempt";
}

uint32_t hv_session_tgid(const struct hv_session *s, uint32_t pid)
{
	for (size_t i = 0; i < s->nr_comms; i++)
		if (s->comms[i].pid == pid)
			return s->comms[i].tgid;
	return 0;
}

size_t hv_session_comms_max(const struct hv_session *s)
{
	return s->comms_max;
}

void hv_session_keep_comms(struct hv_session *s, size_t nr_max)
{
	s->comms_max = nr_max;
}

void hv_session_note_comms(struct hv_session *s, unsigned on)
{
	s->ignores_comms = !on;
}

unsigned hv_session_recording(const struct hv_session *s)
{
	return s->recording;
}

const struct hv_site_actions *hv_fake_actions(const struct hv_session *s, size_t *ret_nr)
{
	*ret_nr = s->nr_actions;
	return s->actions;
}

void hv_session_set_recording(struct hv_session *s, unsigned on)
{
	s->recording = on;
}

unsigned hv_session_refresh(struct hv_session *s)
{
	unsigned changed = s->modules_changed;

	s->modules_changed = 0;
	return changed;
}

struct hv_err *hv_session_livepatch(struct hv_session *s)
{
	return s->livepatch ? hv_err_new(EBUSY, "a livepatch waits") : NULL;
}

void hv_session_put_back(struct hv_session *s)
{
	s->livepatch = 0;
}

void hv_fake_livepatch(struct hv_session *s)
{
	s->livepatch = 1;
}

void hv_session_graph_options(struct hv_session *s, const struct hv_graph_options *options)
{
	s->graph = *options;
}

void hv_session_set_profile(struct hv_session *s, unsigned on)
{
	s->profile_on = on;
}

void hv_session_clear_profile(struct hv_session *s)
{
	s->nr_counts = 0;
}

void hv_fake_count(struct hv_session *s, unsigned cpu, const struct hv_profile_count *count)
{
	struct fake_count new = {cpu, *count};

	if (!s->profile_on || !(s->patched[count->site] & HV_STUB_PROFILED))
		return;
	s->counts = hv_realloc_array(s->counts, s->nr_counts + 1, sizeof(new));
	s->counts[s->nr_counts++] = new;
}

size_t hv_session_profile(struct hv_session *s, unsigned cpu, struct hv_profile_count **ret)
{
	size_t nr = 0;

	*ret = hv_alloc((s->nr_counts + 1) * sizeof(**ret));
	for (size_t i = 0; i < s->nr_counts; i++)
		if (s->counts[i].cpu == cpu)
			(*ret)[nr++] = s->counts[i].count;
	return nr;
}

const struct hv_graph_options *hv_fake_graph(const struct hv_session *s)
{
	return &s->graph;
}

const uint8_t *hv_session_patched(const struct hv_session *s)
{
	return s->patched;
}

void hv_fake_host_clock(struct hv_session *s)
{
	s->has_host_clock = 1;
}

enum hv_clock_kind hv_session_guest_clock(const struct hv_session *s)
{
	return s->clock;
}

bool hv_session_has_host_clock(const struct hv_session *s)
{
	return s->has_host_clock;
}

bool hv_session_now_ns(struct hv_session *s, enum hv_trace_clock clock hv_unused, uint64_t *ret)
{
	const struct hv_event *last =
		s->buffer.nr_events ? &s->buffer.events[s->buffer.nr_events - 1] : NULL;

	*ret = last ? last->time_ns + 1000 : 1000;
	return true;
}

struct hv_buffer *hv_session_buffer(struct hv_session *s)
{
	return &s->buffer;
}

bool hv_session_comm_at(struct hv_session *s, size_t index, uint32_t *ret_pid,
			const char **ret_comm)
{
	if (index >= s->nr_comms)
		return false;
	*ret_pid = s->comms[index].pid;
	*ret_comm = s->comms[index].comm;
	return true;
}
