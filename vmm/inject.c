#include "vmm/inject.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#include "base/text.h"
#include "vmm/clock.h"
#include "vmm/inject_kvm.h"

#define REGION_BYTES (64ull << 20)
#define BRIEF_NS     (2 * HV_NS_PER_S) /* limit of a stop for one request */
#define SLOTS_TRIED  4
#define BITS_MIN     36
#define GIB	     (1ull << 30)

struct hv_inject {
	struct hv_machine *m; /* its region is ours, not the ivshmem device's */
	struct hv_call_code code;
	struct hv_kvm kvm;
	struct hv_keeper *keeper;
	uint64_t region_hva;
	uint64_t held_ns;
	bool held;
};

/* ---- refusals ---- */

/* KEY's number in a thread's status; 0 when there is none. */
static long status_of(pid_t pid, const char *tid, const char *key)
{
	HV_AUTO_FREE char *line = NULL;
	size_t cap = 0, len = strlen(key);
	char path[64];
	long value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", (int)pid, tid);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0)
		if (!strncmp(line, key, len))
			value = strtol(line + len, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static struct hv_err *check_filter(const struct hv_inject *j, const char *tid)
{
	const char *sandbox = "";

	hv_process_arg(&j->m->process, "-sandbox", 0, &sandbox);
	if (!status_of(j->m->process.pid, tid, "Seccomp:") || !strncmp(sandbox, "on", 2))
		return NULL;
	return hv_err_new(EPERM, "the VMM has a seccomp filter that is not QEMU's own sandbox: "
				 "what it does to injected calls is not known");
}

static struct hv_err *check_debugger(const struct hv_inject *j, const char *tid)
{
	long tracer = status_of(j->m->process.pid, tid, "TracerPid:");

	if (!tracer || (j->keeper && tracer == hv_keeper_pid(j->keeper)))
		return NULL;
	return hv_err_new(EBUSY, "a debugger is attached to the VMM (process %ld, thread %s)",
			  tracer, tid);
}

typedef struct hv_err *(*thread_check)(const struct hv_inject *j, const char *tid);

static struct hv_err *check_threads(const struct hv_inject *j, thread_check check)
{
	struct hv_err *err = NULL;
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)j->m->process.pid);
	dir = opendir(path);
	if (!dir)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	while (!err && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			err = check(j, entry->d_name);
	closedir(dir);
	return err;
}

/* Opening a process's memory asks what attaching to it asks (Yama and all). */
static struct hv_err *check_rights(pid_t pid)
{
	HV_AUTO_FD int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return hv_err_new(errno, "no right to ptrace the VMM, process %d: %s", (int)pid,
				  strerror(errno));
	return NULL;
}

static struct hv_err *inject_refusal(void *self)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_machine_refusal(j->m);

	if (!err)
		err = check_rights(j->m->process.pid);
	if (!err)
		err = check_threads(j, check_filter);
	return err ? err : check_threads(j, check_debugger);
}

/* ---- holds ---- */

/* Asked anew each time: the threads of vCPUs come and go. */
static struct hv_err *vcpu_threads(const struct hv_inject *j, pid_t *ret)
{
	HV_AUTO_JSON struct json_object *cpus = NULL;
	struct hv_err *err = hv_monitor_execute(j->m->monitor, "query-cpus-fast", NULL, &cpus);

	if (!err && hv_json_len(cpus) != j->m->nr_vcpus)
		err = hv_err_new(EBUSY, "the machine has %zu vCPUs now, not %u", hv_json_len(cpus),
				 j->m->nr_vcpus);
	for (unsigned i = 0; !err && i < j->m->nr_vcpus; i++) {
		struct json_object *cpu = json_object_array_get_idx(cpus, i);
		pid_t pid = 0;

		ret[i] = (pid_t)hv_json_int(cpu, "thread-id", 0);
		err = hv_process_of_thread(ret[i], &pid);
		if (!err && pid != j->m->process.pid)
			err = hv_err_new(ESRCH, "vCPU %u is no thread of process %d", i,
					 (int)j->m->process.pid);
	}
	return err;
}

static struct hv_err *need_keeper(struct hv_inject *j)
{
	if (j->keeper && hv_keeper_is_alive(j->keeper))
		return NULL;
	hv_keeper_free(hv_take(j->keeper));
	return hv_keeper_start(j->m->process.pid, &j->code, &j->keeper);
}

static struct hv_err *stop(struct hv_inject *j, uint64_t max_ns)
{
	HV_AUTO_FREE pid_t *tids = hv_alloc(j->m->nr_vcpus * sizeof(*tids));
	struct hv_err *err = vcpu_threads(j, tids);

	if (!err)
		err = need_keeper(j);
	return err ? err : hv_keeper_hold(j->keeper, tids, j->m->nr_vcpus, max_ns);
}

/* What a stop was for has failed with ERR, or not. */
static struct hv_err *go_on(struct hv_inject *j, struct hv_err *err)
{
	struct hv_err *end = hv_keeper_release(j->keeper, &j->held_ns);

	if (!err)
		return end;
	hv_err_free(end);
	return err;
}

static struct hv_err *inject_prepare_hold(void *self)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_machine_is_running(j->m);

	if (!err)
		err = check_threads(j, check_debugger);
	return err ? err : need_keeper(j);
}

static struct hv_err *inject_hold_begin(void *self, uint64_t max_ns)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_machine_is_running(j->m);

	if (!err)
		err = stop(j, max_ns);
	j->held = !err;
	return err;
}

static struct hv_err *inject_hold_end(void *self)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_keeper_release(j->keeper, &j->held_ns);

	j->held = false;
	if (err && err->code == EPIPE) {
		hv_err_free(err);
		return hv_err_new(ETIMEDOUT, "hold: its keeper has died, and it ended with it");
	}
	return err;
}

static uint64_t inject_held_ns(void *self)
{
	return ((struct hv_inject *)self)->held_ns;
}

/* ---- registers, memory ---- */

static struct hv_err *inject_hold_registers(void *self, struct hv_vcpu_regs *ret)
{
	struct hv_inject *j = self;

	return hv_kvm_registers(&j->kvm, j->keeper, j->m->arch, ret);
}

static struct hv_err *inject_registers(void *self, struct hv_vcpu_regs *ret)
{
	struct hv_inject *j = self;
	struct hv_err *err;

	if (j->held)
		return inject_hold_registers(self, ret);
	err = stop(j, BRIEF_NS);
	return err ? err : go_on(j, inject_hold_registers(self, ret));
}

static struct hv_err *inject_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	return hv_machine_read(((struct hv_inject *)self)->m, gpa, buf, len);
}

static struct hv_err *inject_write(void *self, struct hv_gpa gpa, const void *buf, size_t len)
{
	return hv_machine_write(((struct hv_inject *)self)->m, gpa, buf, len);
}

static struct hv_err *inject_hold_write_text(void *self, const struct hv_text_write *writes,
					     size_t nr)
{
	return hv_machine_hold_write_text(((struct hv_inject *)self)->m, writes, nr);
}

/* What a vCPU has cached KVM had mapped; taking that away flushes every vCPU of everything. */
static struct hv_err *inject_hold_flush(void *self, uint64_t off, uint64_t len_bytes)
{
	struct hv_inject *j = self;

	struct hv_err *err;

	if (!j->m->region.host)
		return hv_err_new(ENODEV, "region: not mapped");
	err = hv_kvm_unmap(j->keeper, j->region_hva + off, len_bytes);
	if (!err || err->code != EINVAL)
		return err;
	/* A VMM that locks its memory: its pages go only with the file's. */
	hv_err_free(err);
	return hv_machine_remap_region(j->m, off, len_bytes);
}

/* ---- the region ---- */

/* The window for PCI that the firmware tells the guest of, by QEMU's own properties. */
static void add_pci_window(const struct hv_inject *j, const char *bridge, struct hv_taken_list *t)
{
	static const char *const names[] = {"pci-hole64-start", "pci-hole64-end"};
	uint64_t ends[2] = {0};

	for (unsigned i = 0; i < 2; i++) {
		HV_AUTO_JSON struct json_object *answer = NULL;
		struct json_object *args = json_object_new_object();
		struct hv_err *err;

		json_object_object_add(args, "path", json_object_new_string(bridge));
		json_object_object_add(args, "property", json_object_new_string(names[i]));
		err = hv_monitor_execute(j->m->monitor, "qom-get", args, &answer);
		if (!err)
			ends[i] = json_object_get_uint64(answer);
		hv_err_free(err);
	}
	if (ends[0] && ends[1] > ends[0])
		hv_taken_add(t, ends[0], ends[1]);
}

static struct hv_err *load_taken(const struct hv_inject *j, struct hv_taken_list *t)
{
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err = hv_monitor_hmp(j->m->monitor, "info mtree -f", &text);

	if (err)
		return err;
	hv_taken_parse(t, text);
	if (!t->nr)
		return hv_err_new(EPROTO, "monitor: 'info mtree -f': no ranges");
	add_pci_window(j, "/machine/q35", t);
	add_pci_window(j, "/machine/i440fx", t);
	return NULL;
}

/* Above what memory hotplug may fill: each DIMM is aligned to 1 GiB (hw/i386/pc.c). */
static uint64_t hotplug_end(const struct hv_inject *j)
{
	const char *value = "";
	uint64_t bytes = 0;

	for (size_t i = 0; (i = hv_process_arg(&j->m->process, "-m", i, &value));) {
		HV_AUTO_FREE char *max = hv_option_value(value, "maxmem", NULL);
		HV_AUTO_FREE char *slots = hv_option_value(value, "slots", NULL);

		if (max && hv_size_parse(max, &bytes))
			bytes += (slots ? strtoul(slots, NULL, 10) + 2 : 258) * GIB;
	}
	return 4 * GIB + bytes;
}

static struct hv_err *make_new(struct hv_inject *j, const struct hv_taken_list *taken,
			       unsigned bits)
{
	uint32_t nr_slots = hv_kvm_nr_slots();
	uint64_t floor = hotplug_end(j);
	struct hv_err *err = hv_err_new(ENOSPC, "inject: no guest-physical place for the region "
						"above its memory");

	for (; bits >= BITS_MIN; bits--) {
		struct hv_gpa gpa;

		if (!hv_place_choose(taken, bits, floor, REGION_BYTES, &gpa))
			continue;
		for (unsigned i = 1; i <= SLOTS_TRIED; i++) {
			j->kvm.region = (struct hv_fd_link){
				.kind = HV_FD_REGION, .slot = nr_slots - i, .gpa = gpa};
			hv_err_free(err);
			err = stop(j, BRIEF_NS);
			if (!err)
				err = go_on(j, hv_kvm_make_region(&j->kvm, j->keeper, REGION_BYTES,
								  &j->region_hva));
			if (!err || err->code != EEXIST)
				return err;
		}
	}
	return err;
}

static struct hv_err *make_region(struct hv_inject *j)
{
	struct hv_taken_list taken = {0};
	unsigned bits = 0;
	struct hv_err *err = load_taken(j, &taken);

	if (!err)
		err = stop(j, BRIEF_NS);
	if (!err)
		err = go_on(j, hv_kvm_phys_bits(&j->kvm, j->keeper, &bits));
	if (!err)
		err = make_new(j, &taken, bits);
	hv_taken_deinit(&taken);
	return err;
}

static struct hv_err *find_again(struct hv_inject *j)
{
	struct hv_err *err = stop(j, BRIEF_NS);

	return err ? err
		   : go_on(j, hv_kvm_make_region(&j->kvm, j->keeper, REGION_BYTES, &j->region_hva));
}

static struct hv_err *map_region(struct hv_inject *j)
{
	HV_AUTO_FD int fd = pidfd_getfd(j->m->pidfd, j->kvm.region_fd, 0);
	struct stat st;
	void *host;

	if (fd < 0)
		return hv_err_new(errno, "inject: pidfd_getfd: %s", strerror(errno));
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)REGION_BYTES)
		return hv_err_new(EPROTO, "inject: region of %lld bytes", (long long)st.st_size);
	host = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (host == MAP_FAILED)
		return hv_err_new(errno, "inject: mapping the region: %s", strerror(errno));
	/* not the keeper's, which may outlive us for a moment */
	madvise(host, REGION_BYTES, MADV_DONTFORK);
	j->m->region = (struct hv_region){
		.gpa = j->kvm.region.gpa, .host = host, .len_bytes = REGION_BYTES};
	j->m->region_fd = hv_take_fd(&fd);
	j->m->region_file_off = 0;
	return NULL;
}

static struct hv_err *inject_region(void *self, struct hv_region *ret)
{
	struct hv_inject *j = self;
	struct hv_err *err = NULL;

	if (!j->m->region.host) {
		err = j->kvm.region_fd >= 0 ? find_again(j) : make_region(j);
		if (!err)
			err = map_region(j);
	}
	if (err)
		return err;
	*ret = j->m->region;
	return NULL;
}

/* ---- the guest ---- */

static int inject_exit_fd(void *self)
{
	return ((struct hv_inject *)self)->m->pidfd;
}

static void inject_free(void *self)
{
	struct hv_inject *j = self;

	hv_keeper_free(j->keeper);
	hv_kvm_deinit(&j->kvm);
	if (j->m->region.host) {
		munmap(j->m->region.host, j->m->region.len_bytes);
		hv_close_at(&j->m->region_fd);
		j->m->region = (struct hv_region){0};
	}
	hv_machine_free(j->m);
	free(j);
}

static const struct hv_guest_ops inject_ops = {
	.free = inject_free,
	.read = inject_read,
	.write = inject_write,
	.registers = inject_registers,
	.region = inject_region,
	.refusal = inject_refusal,
	.exit_fd = inject_exit_fd,
	.prepare_hold = inject_prepare_hold,
	.hold_begin = inject_hold_begin,
	.hold_registers = inject_hold_registers,
	.hold_write_text = inject_hold_write_text,
	.hold_flush_translations = inject_hold_flush,
	.hold_end = inject_hold_end,
	.held_ns = inject_held_ns,
};

bool hv_inject_has_region(const struct hv_machine *m)
{
	return hv_process_has_file(&m->process, "memfd:hvtrace-region-");
}

static struct hv_err *look(struct hv_inject *j, struct hv_machine *m)
{
	struct hv_err *err;

	if (m->accel != HV_ACCEL_KVM)
		return hv_err_new(ENOTSUP, "injection needs KVM, and the machine runs by TCG");
	if (!m->arch->decode_kvm_registers)
		return hv_err_new(ENOTSUP, "injection is not there for %s guests", m->arch->name);
	err = check_rights(m->process.pid);
	if (!err)
		err = check_threads(j, check_filter);
	if (!err)
		err = hv_call_code_find(m->process.pid, &j->code);
	if (!err)
		err = hv_kvm_find(m->process.pid, &j->kvm);
	if (!err && j->kvm.nr_vcpus != m->nr_vcpus)
		err = hv_err_new(EBUSY, "%u vCPUs by KVM's files, %u by the monitor",
				 j->kvm.nr_vcpus, m->nr_vcpus);
	return err;
}

static struct hv_guest *make_guest(struct hv_inject *j)
{
	HV_AUTO_TEXT struct hv_text t = {0};
	struct hv_machine *m = j->m;
	struct hv_guest_info info = {
		.name = m->name,
		.id = m->id,
		.pid = m->process.pid,
		.accel = m->accel,
		.nr_vcpus = m->nr_vcpus,
		.arch = m->arch,
		.ram_bytes = m->ram.len_bytes,
		.region_to_make_bytes = j->kvm.region_fd < 0 ? REGION_BYTES : 0,
	};

	hv_text_printf(&t, "injected calls (%s), RAM %s", m->monitor_kind,
		       m->ram.mapped_bytes == m->ram.len_bytes ? "mapped"
		       : m->ram.mapped_bytes		       ? "partly mapped"
							       : "copied");
	info.transport = t.data;
	return hv_guest_new(&inject_ops, j, &info);
}

struct hv_err *hv_inject_guest(struct hv_machine *m, struct hv_guest **ret)
{
	struct hv_inject *j = hv_alloc(sizeof(*j));
	struct hv_err *err;

	j->kvm.vm_fd = j->kvm.region_fd = -1;
	j->m = m;
	err = look(j, m);
	if (err) {
		hv_kvm_deinit(&j->kvm);
		free(j);
		return err;
	}
	*ret = make_guest(j);
	return NULL;
}
