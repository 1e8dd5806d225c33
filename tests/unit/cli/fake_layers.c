/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of vmm/, kernel/ and tracer/ that cli/ calls, without a guest: a domain, "fake",
 * and a session with it. Its tree is in fake_tree.c. Domains that cannot be attached: "locked" (no
 * injection), "bare" (no symbols), "guarded" (it checks its text), "left" (by a service that died).
 * "other" is a second domain.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "kernel/early.h"
#include "kernel/irq_sites.h"
#include "kernel/preempt_sites.h"
#include "kernel/vmlinux.h"
#include "patcher/mapping.h"
#include "tests/unit/cli/fake_layers.h"
#include "tracer/events/clocks.h"
#include "tracer/graph_tracer.h"
#include "tracer/hibernation.h"
#include "tracer/section_tracer.h"
#include "tracer/stubs.h"
#include "tracer/yield.h"
#include "vmm/hosttrace/instance.h"
#include "vmm/warden/far.h"
#include "vmm/warden/near.h"
#include "vmm/warden/sandbox.h"

#define FAKE_EPOCH_NS UINT64_C(1700000000000000000)

struct hv_guest {
	struct hv_guest_info info;
	int exit_fd;
};

/* vmm */

void hv_host_trace_clean(const char *id)
{
	(void)id;
}

/* The VMM is the process in FAKE_VMM, which a test can kill, or one that never ends. */
static pid_t fake_vmm(void)
{
	const char *pid = getenv("FAKE_VMM");

	return pid ? atoi(pid) : 1;
}

struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret)
{
	struct hv_guest *g;

	(void)libvirt_uri;
	if (via == HV_VIA_INJECT)
		return hv_err_new(ENOTSUP, "injection is not there yet");
	if (strcmp(spec, "locked") == 0)
		return hv_err_mark(hv_err_new(EPERM, "injection is not possible: a seccomp filter"),
				   HV_ERR_NEEDS_MONITOR);
	if (strcmp(spec, "fake") != 0 && strcmp(spec, "left") != 0 && strcmp(spec, "bare") != 0 &&
	    strcmp(spec, "guarded") != 0 && strcmp(spec, "other") != 0)
		return hv_err_mark(hv_err_new(ENOENT, "domain '%s': no such domain", spec),
				   HV_ERR_NAMES_DOMAIN);
	g = hv_alloc(sizeof(*g));
	g->info = (struct hv_guest_info){
		.name = strcmp(spec, "left") == 0      ? "left"
			: strcmp(spec, "bare") == 0    ? "bare"
			: strcmp(spec, "guarded") == 0 ? "guarded"
			: strcmp(spec, "other") == 0   ? "other"
						       : "fake",
		.id = strcmp(spec, "other") == 0 ? "1f0a4a3e-0000-4000-8000-000000000002"
						 : "1f0a4a3e-0000-4000-8000-000000000001",
		.pid = fake_vmm(),
		.nr_vcpus = 2,
		.ram_bytes = 512 << 20,
		.transport = "fake",
	};
	g->exit_fd = eventfd(0, EFD_CLOEXEC);
	*ret = g;
	return NULL;
}

void hv_guest_free(struct hv_guest *g)
{
	if (!g)
		return;
	close(g->exit_fd);
	free(g);
}

const struct hv_guest_info *hv_guest_info(const struct hv_guest *g)
{
	return &g->info;
}

struct hv_err *hv_guest_region(struct hv_guest *g, struct hv_region *ret)
{
	(void)g;
	*ret = (struct hv_region){.gpa = {0x100000000}, .len_bytes = 64 << 20};
	return NULL;
}

struct hv_err *hv_guest_sleeps(struct hv_guest *g, bool *ret)
{
	(void)g;
	*ret = false;
	return NULL;
}

struct hv_err *hv_guest_count_vcpus(struct hv_guest *g hv_unused)
{
	return NULL;
}

struct hv_err *hv_guest_registers(struct hv_guest *g, struct hv_vcpu_regs *ret)
{
	(void)g;
	(void)ret;
	return hv_err_new(ENOTSUP, "no registers");
}

struct hv_err *hv_guest_refusal(struct hv_guest *g)
{
	(void)g;
	return NULL;
}

struct hv_err *hv_guest_let_run(struct hv_guest *g hv_unused, bool *ret_stood)
{
	*ret_stood = false;
	return NULL;
}

struct hv_err *hv_guest_want_shadow(struct hv_guest *g)
{
	(void)g;
	return NULL;
}

struct hv_err *hv_guest_unpin(struct hv_guest *g)
{
	(void)g;
	return NULL;
}

int hv_guest_stop_fd(const struct hv_guest *g)
{
	(void)g;
	return -1;
}

void hv_guest_end_stop(struct hv_guest *g)
{
	(void)g;
}

struct hv_err *hv_guest_run_to(struct hv_guest *g hv_unused, struct hv_gva at hv_unused)
{
	return hv_err_new(ENOTSUP, "a fake does not run");
}

unsigned hv_session_refresh(struct hv_session *s)
{
	(void)s;
	return 0;
}

int hv_guest_exit_fd(const struct hv_guest *g)
{
	return g->exit_fd;
}

bool hv_guest_has_ended(const struct hv_guest *g)
{
	struct pollfd fd = {g->exit_fd, POLLIN, 0};

	return poll(&fd, 1, 0) > 0;
}

void fake_guest_ends(struct hv_guest *g)
{
	uint64_t one = 1;

	if (write(g->exit_fd, &one, sizeof(one)) < 0)
		abort();
}

/* The process without rights has a fake of its own, of the same name. */
struct hv_far *hv_far_new(struct hv_guest *g, bool may_adopt hv_unused)
{
	return (struct hv_far *)g;
}

unsigned hv_far_nr_refused(const struct hv_far *f hv_unused)
{
	return 0;
}

void hv_far_renew(struct hv_far *f hv_unused)
{
}

void hv_far_put_journal_back(const struct hv_far *f hv_unused)
{
}

void hv_far_free(struct hv_far *f hv_unused)
{
}

struct hv_err *hv_far_answer(struct hv_far *f, int socket, const struct hv_message *question)
{
	const char *name = ((struct hv_guest *)f)->info.name;
	const struct hv_message answer = {.bytes = (uint8_t *)name, .len_bytes = strlen(name)};

	return hv_channel_answer(
		socket,
		question->kind == HV_ASK_OPEN ? NULL : hv_err_new(ENOSYS, "a fake has no memory"),
		&answer);
}

struct hv_err *hv_near_guest(int socket, struct hv_guest **ret)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err =
		hv_channel_ask(socket, &(struct hv_message){.kind = HV_ASK_OPEN}, &answer);

	return err ? err : hv_guest_open((char *)answer.bytes, NULL, HV_VIA_AUTO, ret);
}

struct hv_err *hv_near_machine(int socket, struct hv_guest **ret)
{
	return hv_near_guest(socket, ret);
}

const struct hv_windows *hv_near_windows(const struct hv_guest *g hv_unused)
{
	return NULL;
}

struct hv_err *hv_sandbox_keep(int *warden hv_unused)
{
	return NULL;
}

struct hv_err *hv_sandbox_enter(int warden hv_unused, const struct hv_windows *windows hv_unused)
{
	return NULL;
}

struct hv_err *hv_domain_list(const char *libvirt_uri, struct hv_domain **ret, size_t *ret_nr)
{
	struct hv_domain *d = hv_alloc(6 * sizeof(*d));

	(void)libvirt_uri;
	d[5] = (struct hv_domain){hv_strdup("-web"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000006"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	d[3] = (struct hv_domain){hv_strdup("büro-日本10"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000004"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	d[4] = (struct hv_domain){hv_strdup("büro-日本9"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000005"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	d[0] = (struct hv_domain){hv_strdup("fake"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000001"), 7,
				  hv_strdup("running"), NULL};
	d[1] = (struct hv_domain){hv_strdup("other"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000002"),
				  8,
				  hv_strdup("running"),
				  hv_strdup("no ivshmem device"),
				  true};
	d[2] = (struct hv_domain){hv_strdup("one-with-rather-a-long-name"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000003"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	*ret = d;
	*ret_nr = 6;
	return NULL;
}

void hv_domain_list_free(struct hv_domain *domains, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free(domains[i].name);
		free(domains[i].uuid);
		free(domains[i].state);
		free(domains[i].reason);
	}
	free(domains);
}

/* kernel */

/* The functions that trace_pipe_raw has events of (fake_raw.h). */
static void add_symbols(struct hv_kernel *k)
{
	static const char *const names[] = {"vfs_read", "vfs_write", "ksys_read"};

	k->core.symbols.nr = HV_ARRAY_LEN(names);
	k->core.symbols.by_addr =
		hv_alloc(sizeof(names) / sizeof(names[0]) * sizeof(*k->core.symbols.by_addr));
	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		k->core.symbols.by_addr[i] =
			(struct hv_symbol){hv_gva(0xffffffff81000000 + i * 0x100), names[i], 'T'};
}

struct hv_err *hv_kernel_open(struct hv_guest *g, const struct hv_vmlinux_file *vmlinux,
			      struct hv_kernel **ret)
{
	const char *vmlinux_path = vmlinux ? vmlinux->path : NULL;
	struct hv_kernel *k;

	/* Blocks until somebody writes to it. */
	if (vmlinux_path && strstr(vmlinux_path, "fifo"))
		close(open(vmlinux_path, O_RDONLY));
	else if (vmlinux_path)
		return hv_err_new(EINVAL, "%s: build id 11 is not the kernel's, which is 22",
				  vmlinux_path);
	if (strcmp(g->info.name, "bare") == 0)
		return hv_err_mark(hv_err_new(ENOENT, "no symbol linux_banner"),
				   HV_ERR_NEEDS_VMLINUX);
	k = hv_alloc(sizeof(*k));
	k->guest = g;
	k->banner = hv_strdup("Linux version 6.1.0-fake");
	k->release = hv_strdup("6.1.0-fake");
	k->sites.nr = 3;
	k->sites.list = hv_alloc(3 * sizeof(*k->sites.list));
	for (size_t i = 0; i < 3; i++)
		k->sites.list[i].name = "vfs_fake";
	k->sites.list[0].busy = true;
	add_symbols(k);
	k->modules.nr = 1;
	k->modules.list = hv_alloc(sizeof(*k->modules.list));
	strcpy(k->modules.list[0].name, strcmp(g->info.name, "guarded") == 0 ? "lkrg" : "m");
	k->modules.list[0].text =
		(struct hv_gva_range){hv_gva(0xffffffffc0001000), hv_gva(0xffffffffc0003000)};
	*ret = k;
	return NULL;
}

struct hv_err *hv_kernel_open_core(struct hv_guest *g, struct hv_kernel **ret)
{
	return hv_kernel_open(g, NULL, ret);
}

void hv_kernel_free(struct hv_kernel *k)
{
	if (!k)
		return;
	free(k->core.symbols.by_addr);
	free(k->sites.list);
	free(k->modules.list);
	free(k->banner);
	free(k->release);
	free(k);
}

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret)
{
	(void)k;
	(void)name;
	(void)ret;
	return false;
}

struct hv_err *hv_walk(const struct hv_address_space *as, struct hv_gva gva, struct hv_mapping *ret)
{
	(void)as;
	(void)ret;
	return hv_err_new(EFAULT, "0x%llx", (unsigned long long)gva.v);
}

bool hv_leads_to(const struct hv_address_space *as hv_unused, struct hv_gva gva hv_unused,
		 struct hv_gpa gpa hv_unused)
{
	return false;
}

bool hv_vcpu_leads_to(const struct hv_address_space *as hv_unused,
		      const struct hv_vcpu_regs *vcpu hv_unused, struct hv_gva gva hv_unused,
		      struct hv_gpa gpa hv_unused)
{
	return false;
}

struct hv_err *hv_read(const struct hv_address_space *as, struct hv_gva gva, void *buf,
		       size_t len_bytes)
{
	(void)as;
	memset(buf, 0, len_bytes);
	return hv_err_new(EFAULT, "0x%llx", (unsigned long long)gva.v);
}

struct hv_err *hv_read_u64(const struct hv_address_space *as, struct hv_gva gva, uint64_t *ret)
{
	return hv_read(as, gva, ret, sizeof(*ret));
}

size_t hv_btf_nr_types(const struct hv_btf *btf)
{
	(void)btf;
	return 0;
}

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret)
{
	(void)k;
	*ret = NULL;
	return NULL;
}

void hv_clock_free(struct hv_clock *c)
{
	(void)c;
}

enum hv_clock_kind hv_clock_kind(const struct hv_clock *c)
{
	(void)c;
	return HV_CLOCK_TSC;
}

/* tracer: session */

struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret)
{
	struct fake_session *s;

	if (strcmp(guest->info.name, "left") == 0)
		return hv_err_mark(hv_err_new(EEXIST, "region: changes are left in the guest"),
				   HV_ERR_NEEDS_RECOVERY);
	s = hv_alloc(sizeof(*s));
	s->session.kernel = kernel;
	s->guest = guest;
	s->nr_holds = 1;
	*ret = &s->session;
	return NULL;
}

struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report)
{
	struct fake_session *f = fake_session_of(s);

	if (f->busy) {
		return --f->busy ? hv_err_new(EBUSY, "task 71 (cat) may return into a stub")
				 : hv_err_new(ETIMEDOUT, "hold: 1700 ms old");
	}
	f->nr_patched = 0;
	hv_text_add(report, "text: every byte as before\n");
	return NULL;
}

void hv_session_free(struct hv_session *s)
{
	free(fake_session_of(s));
}

struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report, bool *ret_found)
{
	(void)kernel;
	*ret_found = strcmp(guest->info.name, "left") == 0;
	if (*ret_found)
		hv_text_add(report, "2 sites restored and read back\n");
	return NULL;
}

void hv_session_set_stops(struct hv_session *s hv_unused, bool (*stops)(void *ctx) hv_unused,
			  void *ctx hv_unused)
{
}

bool hv_session_delays_hibernation(const struct hv_session *s)
{
	return fake_session_of((struct hv_session *)s)->hibernates;
}

bool hv_session_region_is_lost(const struct hv_session *s)
{
	return fake_session_of((struct hv_session *)s)->lost_region;
}

struct hv_err *hv_session_has_left(struct hv_guest *guest, struct hv_kernel *kernel, bool *ret)
{
	(void)kernel;
	*ret = strcmp(guest->info.name, "left") == 0;
	return NULL;
}

void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret)
{
	struct fake_session *f = fake_session_of(s);

	f->nr_bytes += 5 * (f->nr_patched > f->nr_counted ? f->nr_patched - f->nr_counted
							  : f->nr_counted - f->nr_patched);
	f->nr_counted = f->nr_patched;
	f->nr_events += f->nr_events_more;
	*ret = (struct hv_session_stat){
		.nr_events = f->nr_events,
		.nr_sites = 2,
		.nr_patched = f->nr_patched,
		.bytes_changed = f->nr_bytes,
		.nr_refused = f->nr_refused,
		.nr_holds = f->nr_holds,
		.hold_total_ns = f->nr_holds * 500000,
		.hold_last_ns = 500000,
		.hold_max_ns = 1500000,
		.region_bytes = 64 << 20,
		.ring_bytes = 32 << 20,
		.nr_cpus = 2,
	};
}

uint64_t hv_session_long_holds(const struct hv_session *s hv_unused, uint64_t *ret_last_ns)
{
	*ret_last_ns = 1500000;
	return 1;
}

size_t hv_session_refused(const struct hv_session *s, size_t max, const struct hv_site **ret)
{
	size_t nr = fake_session_of((struct hv_session *)s)->nr_refused;

	nr = nr < max ? nr : max;
	for (size_t i = 0; i < nr; i++)
		ret[i] = &s->kernel->sites.list[i % s->kernel->sites.nr];
	return nr;
}

size_t hv_session_held_modules(const struct hv_session *s, size_t max, const char **ret)
{
	static const char *const names[] = {"xfs", "nf_tables"};
	size_t nr = fake_session_of((struct hv_session *)s)->holds_modules ? 2 : 0;

	nr = nr < max ? nr : max;
	for (size_t i = 0; i < nr; i++)
		ret[i] = names[i];
	return nr;
}

struct hv_err *hv_session_alive(struct hv_session *s)
{
	return fake_session_of(s)->rebooted ? hv_err_new(ECONNRESET, "the guest was rebooted")
					    : NULL;
}

/* tracer: parts of a session */

bool hv_clocks_epoch_ns(const struct hv_clocks *c hv_unused, uint64_t *ret)
{
	*ret = FAKE_EPOCH_NS;
	return true;
}

bool hv_clocks_now_ns(struct hv_clocks *c hv_unused, enum hv_trace_clock clock hv_unused,
		      uint64_t *ret hv_unused)
{
	return false;
}

enum hv_clock_kind hv_clocks_guest_kind(const struct hv_clocks *c hv_unused)
{
	return HV_CLOCK_TSC;
}

void hv_clocks_refresh(struct hv_clocks *c hv_unused)
{
}

void hv_graph_tracer_sweep(struct hv_graph_tracer *g hv_unused)
{
}

/* kernel/early.h: only machines of our own ask, and there are none here. */

struct hv_err *hv_early_symbol(struct hv_guest *g, const char *name, struct hv_gva *ret)
{
	(void)g;
	(void)ret;
	return hv_err_new(ENOENT, "kernel has no symbol %s", name);
}

struct hv_err *hv_early_return(struct hv_guest *g, struct hv_gva *ret)
{
	(void)g;
	(void)ret;
	return hv_err_new(ENOENT, "no page tables");
}

bool hv_early_in_kernel(struct hv_guest *g)
{
	(void)g;
	return false;
}

bool hv_early_is_up(const struct hv_kernel_core *core)
{
	(void)core;
	return false;
}

/* tracer/hibernation.h */

struct hv_err *hv_hibernation_look(const struct hv_kernel *k hv_unused,
				   struct hv_text *ret_reason hv_unused)
{
	return NULL;
}

/* tracer/yield.h */

struct hv_err *hv_stubs_refusal(const struct hv_arch *arch)
{
	(void)arch;
	return NULL;
}

struct hv_err *hv_mapping_refusal(const struct hv_kernel_core *core)
{
	(void)core;
	return NULL;
}

struct hv_err *hv_yield_look(const struct hv_kernel *k hv_unused, struct hv_text *ret_reasons)
{
	hv_text_add(ret_reasons, "its call of the reader was not found");
	return NULL;
}

/* kernel/preempt_sites.h */

struct hv_err *hv_preempt_sites_read(const struct hv_kernel *k hv_unused,
				     struct hv_preempt_sites *ret)
{
	static const struct hv_preempt_site left = {.at = {0xffffffff81000123},
						    .cover = HV_PREEMPT_IN_TWO_PAGES};

	*ret = (struct hv_preempt_sites){.list = hv_alloc(2 * sizeof(*ret->list)), .nr = 2};
	ret->list[1] = left;
	ret->nr_of[HV_PREEMPT_COVERED] = ret->nr_of[HV_PREEMPT_IN_TWO_PAGES] = 1;
	return NULL;
}

void hv_preempt_sites_deinit(struct hv_preempt_sites *s)
{
	free(s->list);
}

const char *hv_preempt_cover_reason(enum hv_preempt_cover cover)
{
	return cover == HV_PREEMPT_IN_TWO_PAGES ? "in two pages" : "";
}

struct hv_err *hv_irq_sites_read(const struct hv_kernel *k hv_unused, struct hv_irq_sites *ret)
{
	static const struct hv_irq_site left = {.at = {0xffffffff81000456}, .cover = HV_IRQ_NO_NOP};

	*ret = (struct hv_irq_sites){.list = hv_alloc(3 * sizeof(*ret->list)), .nr = 3};
	ret->list[0] = left;
	ret->list[1].cover = HV_IRQ_RELOCATED;
	ret->list[2].cover = HV_IRQ_RETARGETED;
	ret->nr_of[HV_IRQ_RELOCATED] = ret->nr_of[HV_IRQ_RETARGETED] = 1;
	return NULL;
}

void hv_irq_sites_deinit(struct hv_irq_sites *s)
{
	free(s->list);
}

const char *hv_irq_cover_reason(enum hv_irq_cover cover)
{
	return cover == HV_IRQ_NO_NOP ? "without nops of its own" : "";
}

bool hv_kernel_symbol_at(const struct hv_kernel *k hv_unused, struct hv_gva addr hv_unused,
			 const char **ret_name, const char **ret_module, uint64_t *ret_off)
{
	*ret_name = "vfs_read";
	*ret_module = NULL;
	*ret_off = 0;
	return true;
}

/* tracer/section_tracer.h */

bool hv_sections_cover_enough(size_t nr_covered, size_t nr)
{
	return nr_covered * 100 >= nr * 95;
}

void hv_section_tracer_force(struct hv_section_tracer *s hv_unused)
{
}

void hv_section_tracer_coverage(const struct hv_section_tracer *s hv_unused,
				struct hv_section_coverage *ret)
{
	*ret = (struct hv_section_coverage){.nr_covered = 0};
}

size_t hv_section_tracer_left(const struct hv_section_tracer *s hv_unused, size_t max hv_unused,
			      struct hv_section_left *ret hv_unused)
{
	return 0;
}
