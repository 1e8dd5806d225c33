/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of kernel/, patcher/ and tracer/ that cli/ calls, without a guest: a session with a
 * domain of fake_vmm.c. fake_tree.c has its tree. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kernel/core/btf_members.h"
#include "kernel/early.h"
#include "kernel/code/section_sites.h"
#include "kernel/image/vmlinux.h"
#include "kernel/programs/program.h"
#include "patcher/mapping.h"
#include "tests/unit/cli/fake_layers.h"
#include "tracer/events/clocks.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/hooks/kernel_calls.h"
#include "tracer/sections/section_tracer.h"
#include "tracer/guest/trampolines.h"
#include "kernel/sites/ftrace_users.h"
#include "tracer/hooks/guest_ftrace.h"

#define FAKE_EPOCH_NS UINT64_C(1700000000000000000)

/* kernel */

/* The functions in the events of trace_pipe_raw (fake_raw.h). */
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

/* A kernel without BTF: no file belongs to it. */
static struct hv_err *untyped(const struct hv_btf_files *files)
{
	struct hv_btf_given given = {.fd = -1};
	struct hv_err *err = files->open(files->ctx, "6.1.0-fake", &given);

	if (!err) {
		close(given.fd);
		err = hv_err_new(EINVAL, "%s: this file is of another build", given.path);
		free(given.path);
		return err;
	}
	if (err->code != ENOENT)
		return err;
	return hv_err_mark(hv_err_in(err, "kernel without BTF"), HV_ERR_NEEDS_BTF);
}

struct hv_err *hv_kernel_open(struct hv_guest *g, const struct hv_vmlinux_file *vmlinux,
			      const struct hv_btf_files *files, struct hv_kernel **ret)
{
	const char *vmlinux_path = vmlinux ? vmlinux->path : NULL;
	struct hv_kernel *k;

	/* A FIFO blocks until a writer opens it. */
	if (vmlinux_path && strstr(vmlinux_path, "fifo"))
		close(open(vmlinux_path, O_RDONLY));
	else if (vmlinux_path)
		return hv_err_new(EINVAL, "%s: build id 11 is not the kernel's, which is 22",
				  vmlinux_path);
	if (strcmp(hv_guest_info(g)->name, "deadly") == 0)
		raise(SIGKILL);
	if (strcmp(hv_guest_info(g)->name, "bare") == 0)
		return hv_err_mark(hv_err_new(ENOENT, "no symbol linux_banner"),
				   HV_ERR_NEEDS_VMLINUX);
	if (strcmp(hv_guest_info(g)->name, "untyped") == 0)
		return untyped(files);
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
	strcpy(k->modules.list[0].name,
	       strcmp(hv_guest_info(g)->name, "guarded") == 0 ? "lkrg" : "m");
	k->modules.list[0].text =
		(struct hv_gva_range){hv_gva(0xffffffffc0001000), hv_gva(0xffffffffc0003000)};
	*ret = k;
	return NULL;
}

struct hv_err *hv_kernel_open_core(struct hv_guest *g, const struct hv_btf_files *files,
				   struct hv_kernel **ret)
{
	return hv_kernel_open(g, NULL, files, ret);
}

void hv_kernel_free(struct hv_kernel *k)
{
	if (!k)
		return;
	free(k->core.symbols.by_addr);
	hv_btf_free(k->core.btf);
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

struct hv_err *hv_read_u64(const struct hv_address_space *as, struct hv_gva gva, uint64_t *ret)
{
	return hv_read(as, gva, ret, sizeof(*ret));
}

const struct hv_btf_member_row *hv_btf_member_row(unsigned index hv_unused)
{
	return NULL;
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

	if (strcmp(hv_guest_info(guest)->name, "left") == 0)
		return hv_err_mark(hv_err_new(EEXIST, "region: changes are left in the guest"),
				   HV_ERR_NEEDS_RECOVERY);
	s = hv_alloc(sizeof(*s));
	s->session.kernel = kernel;
	kernel->core.btf = fake_types();
	s->guest = guest;
	s->nr_holds = 1;
	*ret = &s->session;
	return NULL;
}

struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report)
{
	struct fake_session *f = fake_session_of(s);

	if (f->is_torn)
		return hv_err_new(EIO, "hold: it ended in the middle");
	if (f->busy) {
		return --f->busy ? hv_err_new(EBUSY, "task 71 (cat) may return into a trampoline")
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
	*ret_found = strcmp(hv_guest_info(guest)->name, "left") == 0;
	if (*ret_found)
		hv_text_add(report, "2 sites restored and read back\n");
	return NULL;
}

void hv_session_set_stops(struct hv_session *s hv_unused, bool (*stops)(void *ctx) hv_unused,
			  void *ctx hv_unused)
{
}

bool hv_session_release_memory(struct hv_session *s hv_unused)
{
	return false;
}

bool hv_session_is_quiet(const struct hv_session *s hv_unused)
{
	return true;
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
	*ret = strcmp(hv_guest_info(guest)->name, "left") == 0;
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
		.nr_joined = 1,
		.unseen = {.nr_now = 1, .nr = 2, .total_ns = 30000000, .longest_ns = 20000000},
		.nr_holds = f->nr_holds,
		.hold_total_ns = f->nr_holds * 500000,
		.hold_last_ns = 500000,
		.hold_max_ns = 1500000,
		.region_bytes = 64 << 20,
		.part_bytes = 64 << 20,
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

const char *hv_session_why_refused(const struct hv_session *s hv_unused, const struct hv_site *site)
{
	return site->busy ? "the guest itself uses it" : "it cannot be changed now";
}

const char *hv_session_why_names_stay(const struct hv_session *s hv_unused)
{
	return NULL;
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

unsigned hv_session_refresh(struct hv_session *s)
{
	(void)s;
	return 0;
}

struct hv_err *hv_ftrace_users_count(const struct hv_kernel_core *core hv_unused,
				     const struct hv_sites *sites hv_unused, size_t *ret)
{
	*ret = 1;
	return NULL;
}

bool hv_session_is_followed(const struct hv_session *s hv_unused)
{
	return false;
}

size_t hv_session_in_use(struct hv_session *s)
{
	return s->kernel->sites.nr;
}

bool hv_session_maps(const struct hv_session *s hv_unused, struct hv_gva at hv_unused,
		     struct hv_gpa gpa hv_unused)
{
	return false;
}

struct hv_err *hv_session_alive(struct hv_session *s)
{
	return fake_session_of(s)->rebooted ? hv_err_new(ECONNRESET, "the guest was rebooted")
					    : NULL;
}

bool hv_session_is_whole(const struct hv_session *s)
{
	return !fake_session_of((struct hv_session *)s)->is_torn;
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

/* kernel/early.h: only `hvtrace run` calls this, which these tests do not use. */

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

/* tracer/hooks/kernel_calls.h: hibernation */

struct hv_err *hv_hibernation_look(const struct hv_kernel *k hv_unused,
				   struct hv_text *ret_reason hv_unused)
{
	return NULL;
}

/* tracer/hooks/kernel_calls.h: names of tasks */

struct hv_err *hv_renames_look(const struct hv_kernel *k hv_unused,
			       struct hv_text *ret_reason hv_unused)
{
	return NULL;
}

/* tracer/hooks/guest_ftrace.h */

struct hv_err *hv_trampolines_refusal(const struct hv_arch *arch)
{
	(void)arch;
	return NULL;
}

struct hv_err *hv_mapping_refusal(const struct hv_kernel_core *core)
{
	(void)core;
	return NULL;
}

struct hv_err *hv_guest_ftrace_look(const struct hv_kernel *k hv_unused,
				    struct hv_text *ret_reasons)
{
	hv_text_add(ret_reasons, "its call of the reader was not found");
	return NULL;
}

/* kernel/code/section_sites.h */

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
	return cover == HV_IRQ_NO_NOP ? "without its own nops" : "";
}

bool hv_kernel_symbol_at(const struct hv_kernel *k hv_unused, struct hv_gva addr hv_unused,
			 const char **ret_name, const char **ret_module, uint64_t *ret_off)
{
	*ret_name = "vfs_read";
	*ret_module = NULL;
	*ret_off = 0;
	return true;
}

/* tracer/sections/section_tracer.h */

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

/* No program is known. */
bool hv_program_read(struct hv_kernel *k hv_unused, uint32_t pid hv_unused,
		     struct hv_program *ret hv_unused)
{
	return false;
}

void hv_program_deinit(struct hv_program *p hv_unused)
{
}

bool hv_program_find_functions(struct hv_kernel *k hv_unused,
			       const struct hv_program_file_id *id hv_unused,
			       struct hv_elf_place *list hv_unused, size_t nr hv_unused)
{
	return false;
}

uint64_t hv_program_read_pages(struct hv_kernel *k hv_unused, uint32_t pid hv_unused,
			       const struct hv_program_file_id *id hv_unused,
			       uint64_t first hv_unused, unsigned nr hv_unused, void *buf hv_unused)
{
	return 0;
}
