/* vmm/, kernel/ and tracer/ as far as cli/ sees them, with no guest behind: one domain, "fake", and
 * a tree of a few files. Writing to the file "control" makes things happen:
 *     emit N     N lines into trace_pipe          busy N    the next N detaches fail
 *     reboot     the session finds another boot   off       the VMM process ends
 *     dump N     N dumps wait, the Nth of N lines
 *     flood      a dump waits that has 96 MiB */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "kernel/early.h"
#include "tests/unit/fake_layers.h"
#include "tracer/session.h"
#include "tracer/tree.h"

static const char *const fake_names[] = {
	"control",
	"current_tracer",
	"set_ftrace_filter",
	"set_ftrace_notrace",
	"set_graph_function",
	"set_ftrace_pid",
	"tracing_on",
	"trace_pipe",
};

struct hv_guest {
	struct hv_guest_info info;
	int exit_fd;
};

struct hv_session {
	struct hv_kernel *kernel;
	struct hv_guest *guest;
	unsigned busy;
	bool rebooted;
	size_t nr_patched;
	uint64_t nr_holds;
};

struct hv_tree {
	struct hv_session *session;
	char values[HV_ARRAY_LEN(fake_names)][256];
	struct hv_text pipe;
	size_t pipe_taken;
	bool pipe_is_open;
	unsigned nr_dumps; /* asked for */
	unsigned nr_dumped;
	bool floods; /* the dump after those */
};

#define FLOOD UINT_MAX

struct hv_file {
	struct hv_tree *tree;
	size_t name;
	size_t at;
	struct hv_text list; /* of a filter file that is written */
	unsigned dump;	     /* which; 0: it is none, FLOOD: the long one */
	int flags;
};

/* vmm */

struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret)
{
	struct hv_guest *g;

	(void)libvirt_uri;
	if (via == HV_VIA_INJECT)
		return hv_err_new(ENOTSUP, "--via inject: not there yet");
	if (strcmp(spec, "fake") != 0)
		return hv_err_new(ENOENT, "domain '%s': no such domain", spec);
	g = hv_alloc(sizeof(*g));
	g->info = (struct hv_guest_info){
		.name = "fake",
		.id = "1f0a4a3e-0000-4000-8000-000000000001",
		.pid = 4242,
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

unsigned hv_session_refresh(struct hv_session *s)
{
	(void)s;
	return 0;
}

int hv_guest_exit_fd(const struct hv_guest *g)
{
	return g->exit_fd;
}

struct hv_err *hv_domain_list(const char *libvirt_uri, struct hv_domain **ret, size_t *ret_nr)
{
	struct hv_domain *d = hv_alloc(2 * sizeof(*d));

	(void)libvirt_uri;
	d[0] = (struct hv_domain){hv_strdup("fake"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000001"), 7,
				  hv_strdup("running"), NULL};
	d[1] = (struct hv_domain){hv_strdup("other"),
				  hv_strdup("1f0a4a3e-0000-4000-8000-000000000002"), -1,
				  hv_strdup("shut off"), hv_strdup("it is off")};
	*ret = d;
	*ret_nr = 2;
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

struct hv_err *hv_kernel_open(struct hv_guest *g, const char *vmlinux_path, struct hv_kernel **ret)
{
	struct hv_kernel *k;

	if (vmlinux_path)
		return hv_err_new(EINVAL, "%s: build id 11 is not the kernel's, which is 22",
				  vmlinux_path);
	k = hv_alloc(sizeof(*k));
	k->guest = g;
	k->banner = hv_strdup("Linux version 6.1.0-fake");
	k->release = hv_strdup("6.1.0-fake");
	k->sites.nr = 3;
	k->sites.list = hv_alloc(3 * sizeof(*k->sites.list));
	k->sites.list[0].busy = true;
	k->modules.nr = 1;
	k->modules.list = hv_alloc(sizeof(*k->modules.list));
	k->modules.list[0].name[0] = 'm';
	k->modules.list[0].text =
		(struct hv_gva_range){hv_gva(0xffffffffc0001000), hv_gva(0xffffffffc0003000)};
	*ret = k;
	return NULL;
}

void hv_kernel_free(struct hv_kernel *k)
{
	if (!k)
		return;
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
	struct hv_session *s = hv_alloc(sizeof(*s));

	s->kernel = kernel;
	s->guest = guest;
	s->nr_holds = 1;
	*ret = s;
	return NULL;
}

struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report)
{
	if (s->busy) {
		return --s->busy ? hv_err_new(EBUSY, "task 71 (cat) may return into a stub")
				 : hv_err_new(ETIMEDOUT, "hold: 1700 ms old");
	}
	s->nr_patched = 0;
	hv_text_add(report, "text: every byte as before\n");
	return NULL;
}

void hv_session_free(struct hv_session *s)
{
	free(s);
}

struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report)
{
	(void)guest;
	(void)kernel;
	hv_text_add(report, "nothing was left\n");
	return NULL;
}

void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret)
{
	*ret = (struct hv_session_stat){
		.nr_sites = 2,
		.nr_patched = s->nr_patched,
		.nr_holds = s->nr_holds,
		.hold_last_ns = 500000,
		.hold_max_ns = 1500000,
		.region_bytes = 64 << 20,
		.ring_bytes = 32 << 20,
		.nr_cpus = 2,
	};
}

struct hv_err *hv_session_alive(struct hv_session *s)
{
	return s->rebooted ? hv_err_new(ECONNRESET, "the guest was rebooted") : NULL;
}

bool hv_session_found_stale(const struct hv_session *s)
{
	(void)s;
	return false;
}

enum hv_clock_kind hv_session_guest_clock(const struct hv_session *s)
{
	(void)s;
	return HV_CLOCK_TSC;
}

void hv_session_refresh_clock(struct hv_session *s)
{
	(void)s;
}

void hv_session_sweep(struct hv_session *s)
{
	(void)s;
}

/* tracer: tree */

struct hv_err *hv_tree_step_aside(struct hv_tree *tree)
{
	(void)tree;
	return NULL;
}

void hv_tree_refresh(struct hv_tree *tree)
{
	(void)tree;
}

struct hv_err *hv_tree_new(struct hv_session *session, struct hv_tree **ret)
{
	struct hv_tree *t = hv_alloc(sizeof(*t));

	t->session = session;
	strcpy(t->values[FAKE_TRACER], "nop\n");
	strcpy(t->values[FAKE_TRACING_ON], "1\n");
	*ret = t;
	return NULL;
}

void hv_tree_end(struct hv_tree *tree)
{
	(void)tree;
}

void hv_tree_free(struct hv_tree *tree)
{
	if (!tree)
		return;
	hv_text_deinit(&tree->pipe);
	free(tree);
}

bool hv_tree_drains(const struct hv_tree *tree hv_unused)
{
	return false;
}

void hv_tree_drain(struct hv_tree *tree hv_unused)
{
}

void hv_tree_retire(struct hv_tree *tree hv_unused)
{
}

struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why)
{
	struct hv_file *f;

	if (tree->nr_dumped == tree->nr_dumps && !tree->floods)
		return NULL;
	f = hv_alloc(sizeof(*f));
	f->tree = tree;
	if (tree->nr_dumped == tree->nr_dumps) {
		f->dump = FLOOD;
		tree->floods = false;
	} else {
		f->dump = ++tree->nr_dumped;
	}
	*ret_why = "do_exit:dump on CPU 1 by task 7";
	return f;
}

struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret)
{
	(void)tree;
	if (*dir)
		return hv_err_new(ENOENT, "%s: no such directory", dir);
	for (size_t i = 0; i < HV_ARRAY_LEN(fake_names); i++)
		hv_text_printf(ret, "%s\n", fake_names[i]);
	return NULL;
}

static bool is_list(const struct hv_file *f)
{
	return f->name == FAKE_FILTER || f->name == FAKE_NOTRACE || f->name == FAKE_GRAPH;
}

struct hv_err *hv_tree_open(struct hv_tree *tree, const char *path, int flags, struct hv_file **ret)
{
	struct hv_file *f;
	size_t i = 0;

	while (i < HV_ARRAY_LEN(fake_names) && strcmp(path, fake_names[i]) != 0)
		i++;
	if (i == HV_ARRAY_LEN(fake_names))
		return hv_err_new(ENOENT, "%s: no such file", path);
	if (i == FAKE_TRACE_PIPE && tree->pipe_is_open)
		return hv_err_new(EBUSY, "trace_pipe: somebody reads it");
	if (i == FAKE_TRACE_PIPE)
		tree->pipe_is_open = true;
	f = hv_alloc(sizeof(*f));
	f->tree = tree;
	f->name = i;
	f->flags = flags;
	if (is_list(f) && !(flags & O_TRUNC))
		hv_text_add(&f->list, tree->values[i]);
	if (!is_list(f) && (flags & O_TRUNC))
		tree->values[i][0] = '\0';
	*ret = f;
	return NULL;
}

struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path, struct hv_tree_stat *ret)
{
	(void)tree;
	*ret = (struct hv_tree_stat){HV_TREE_DIR, 0700};
	if (!*path)
		return NULL;
	*ret = (struct hv_tree_stat){HV_TREE_FILE, 0640};
	for (size_t i = 0; i < HV_ARRAY_LEN(fake_names); i++)
		if (strcmp(path, fake_names[i]) == 0)
			return NULL;
	return hv_err_new(ENOENT, "%s: no such file", path);
}

struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const char *path)
{
	(void)tree;
	return hv_err_new(EPERM, "%s: no directories can be made here", path);
}

struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const char *path)
{
	(void)tree;
	return hv_err_new(EPERM, "%s: is always there", path);
}

static struct hv_err *read_pipe(struct hv_tree *t, void *buf, size_t len, size_t *ret_len)
{
	size_t left = t->pipe.len_bytes - t->pipe_taken;

	if (!left)
		return hv_err_new(EAGAIN, "trace_pipe: nothing yet");
	len = left < len ? left : len;
	memcpy(buf, t->pipe.data + t->pipe_taken, len);
	t->pipe_taken += len;
	*ret_len = len;
	return NULL;
}

struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes, size_t *ret_len)
{
	const char *value = file->tree->values[file->name];
	size_t len = strlen(value);
	size_t left = file->at < len ? len - file->at : 0;

	if (file->dump == FLOOD) {
		*ret_len = file->at++ < (96 << 20) / len_bytes ? len_bytes : 0;
		memset(buf, 'x', *ret_len);
		return NULL;
	}
	if (file->dump) {
		*ret_len = file->at++ < file->dump ? 5 : 0;
		memcpy(buf, "line\n", *ret_len);
		return NULL;
	}
	if (file->name == FAKE_TRACE_PIPE)
		return read_pipe(file->tree, buf, len_bytes, ret_len);
	len_bytes = left < len_bytes ? left : len_bytes;
	memcpy(buf, value + file->at, len_bytes);
	file->at += len_bytes;
	*ret_len = len_bytes;
	return NULL;
}

static void control(struct hv_tree *t, const char *text)
{
	unsigned n = 0;
	uint64_t one = 1;

	if (sscanf(text, "emit %u", &n) == 1) {
		for (unsigned i = 0; i < n; i++)
			hv_text_printf(&t->pipe, "line %u\n", i);
	} else if (sscanf(text, "busy %u", &n) == 1) {
		t->session->busy = n;
	} else if (sscanf(text, "dump %u", &n) == 1) {
		t->nr_dumps += n;
	} else if (strncmp(text, "flood", 5) == 0) {
		t->floods = true;
	} else if (strncmp(text, "reboot", 6) == 0) {
		t->session->rebooted = true;
	} else if (strncmp(text, "off", 3) == 0) {
		if (write(t->session->guest->exit_fd, &one, sizeof(one)) < 0)
			abort();
	}
}

/* Filter files take a word a call and publish at close, as the kernel's do. */
static struct hv_err *write_filter(struct hv_file *f, const char *buf, size_t len, size_t *ret_len)
{
	size_t word = strcspn(buf, " \n");

	if (strncmp(buf, "nosuch", word) == 0 && word)
		return hv_err_new(EINVAL, "set_ftrace_filter: no function matches '%.*s'",
				  (int)word, buf);
	if (word)
		hv_text_printf(&f->list, "%.*s\n", (int)word, buf);
	*ret_len = word < len ? word + 1 : word;
	return NULL;
}

struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len)
{
	char text[256] = "";

	if (len_bytes >= sizeof(text))
		return hv_err_new(EINVAL, "%zu bytes are too many", len_bytes);
	memcpy(text, buf, len_bytes);
	if (is_list(file))
		return write_filter(file, text, len_bytes, ret_len);
	if (file->name == FAKE_CONTROL)
		control(file->tree, text);
	else if (file->name == FAKE_TRACER && file->tree->pipe_is_open)
		return hv_err_new(EBUSY, "trace_pipe is open");
	else
		strcpy(file->tree->values[file->name], text);
	if (file->name == FAKE_TRACER) {
		file->tree->session->nr_patched = strcmp(text, "nop\n") == 0 ? 0 : 2;
		file->tree->session->nr_holds++;
	}
	*ret_len = len_bytes;
	return NULL;
}

struct hv_err *hv_file_ready(struct hv_file *file)
{
	if (file->name == FAKE_TRACE_PIPE && file->tree->pipe.len_bytes == file->tree->pipe_taken)
		return hv_err_new(EAGAIN, "trace_pipe: nothing yet");
	return NULL;
}

void hv_file_abandon(struct hv_file *file)
{
	if (file->name == FAKE_TRACE_PIPE)
		file->tree->pipe_is_open = false;
	hv_text_deinit(&file->list);
	free(file);
}

struct hv_err *hv_file_close(struct hv_file *file)
{
	if (is_list(file) && (file->flags & O_ACCMODE) != O_RDONLY)
		snprintf(file->tree->values[file->name], sizeof(file->tree->values[0]), "%s",
			 file->list.data ? file->list.data : "");
	hv_file_abandon(file);
	return NULL;
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

bool hv_early_is_up(const struct hv_kernel *k)
{
	(void)k;
	return false;
}
