/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holds through QEMU's gdb stub. The monitor starts the stub at run time, on a unix socket that
 * only the VMM's user and root can reach. The guardian (guardian.h) is its client. The stub is
 * removed at the end. */
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "base/text.h"
#include "vmm/qemu/machine.h"
#include "vmm/root_path.h"
#include "vmm/unix_socket.h"

/* -- the directory of the stub's socket -------------------------------------------------------- */

/* The directory of the gdb stub's socket, if libvirt has not created one: next to the QMP socket,
 * accessible only to the VMM's user. Other users who can write to that directory may have created
 * the name before, so a name alone gives no access. */

static struct hv_err *failed(const char *path)
{
	return hv_err_new(errno, "gdb stub: directory %s: %s", path, strerror(errno));
}

/* Whether an open directory can be one that mkdir(2) has just created: owned by this user, mode
 * 0700, without subdirectories. */
static bool is_fresh(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 07777) == 0700 && st->st_nlink <= 2;
}

/* While it exists, this thread opens, creates and removes files with the permissions of another
 * user (setfsuid(2)). */
struct as_user {
	uid_t uid; /* the previous one */
	gid_t gid;
};

static struct as_user become(uid_t uid, gid_t gid)
{
	struct as_user was = {.gid = (gid_t)setfsgid(gid)};

	was.uid = (uid_t)setfsuid(uid);
	return was;
}

static void become_again(struct as_user *was)
{
	setfsuid(was->uid);
	setfsgid(was->gid);
}
#define AS_USER hv_cleanup(become_again) hv_unused

static bool make_as(const char *path, uid_t uid, gid_t gid)
{
	AS_USER struct as_user was = become(uid, gid);

	return mkdir(path, 0700) == 0;
}

/* Whether only root can redirect the path to PATH's directory. */
static bool is_roots_path(const char *path)
{
	HV_AUTO_FREE char *copy = hv_strdup(path);
	HV_AUTO_FREE char *real = realpath(dirname(copy), NULL);
	struct stat st;

	/* A path through /proc cannot be checked like this. */
	if (hv_starts_with(path, "/proc/"))
		return false;
	/* The directory does not exist, or its path has a symbolic link. */
	if (!real || !hv_starts_with(path, real))
		return false;
	for (char *end = real + strlen(real);;) {
		if (lstat(*real ? real : "/", &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0 ||
		    (st.st_mode & 022))
			return false;
		if (end == real)
			return true;
		while (end > real && *end != '/')
			end--;
		*end = '\0';
	}
}

enum maker { MADE_BY_NONE, MADE_BY_USER, MADE_BY_ROOT };

static enum maker make(const char *path, uid_t uid, gid_t gid)
{
	if (make_as(path, uid, gid))
		return MADE_BY_USER;
	if (errno != EACCES)
		return MADE_BY_NONE;
	if (is_roots_path(path))
		return mkdir(path, 0700) == 0 ? MADE_BY_ROOT : MADE_BY_NONE;
	errno = EACCES;
	return MADE_BY_NONE;
}

void hv_stub_dir_remove(const char *path, uid_t uid, gid_t gid)
{
	if (is_roots_path(path)) {
		rmdir(path);
		return;
	}
	AS_USER struct as_user was = become(uid, gid);

	rmdir(path);
}

void hv_stub_file_remove(const char *path, uid_t uid, gid_t gid)
{
	AS_USER struct as_user was = become(uid, gid);
	HV_AUTO_FREE char *dir = hv_strdup(path);
	char *name = strrchr(dir, '/');
	HV_AUTO_FD int fd = -1;

	if (!name)
		return;
	*name++ = '\0';
	/* The VMM may have replaced the directory by a link. */
	fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		unlinkat(fd, name, 0);
}

struct hv_err *hv_stub_dir_make(const char *path, uid_t uid, gid_t gid)
{
	HV_AUTO_FD int fd = -1;
	enum maker maker;
	struct stat st;

	hv_stub_dir_remove(path, uid, gid); /* left by an hvtrace that was killed */
	maker = make(path, uid, gid);
	if (maker == MADE_BY_NONE && errno == EACCES)
		return hv_err_new(EACCES,
				  "gdb stub: directory %s: the VMM's user, %u, may not make it",
				  path, (unsigned)uid);
	if (maker == MADE_BY_NONE && errno != EEXIST)
		return failed(path);
	/* Use a descriptor from here on: the name may refer to another file by now. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return hv_err_new(EEXIST, "gdb stub: %s is there, and is not a directory", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(path);
	if (st.st_uid == uid)
		return NULL;
	if (maker != MADE_BY_ROOT || !is_fresh(&st))
		return hv_err_new(EEXIST,
				  "gdb stub: directory %s is there, and belongs to user %u, not to "
				  "the VMM's, %u",
				  path, (unsigned)st.st_uid, (unsigned)uid);
	return fchown(fd, uid, gid) < 0 ? failed(path) : NULL;
}

/* -- holds ------------------------------------------------------------------------------------- */

#define FIRST_HOLD_NS  (2 * HV_NS_PER_S)
#define BATCH_PACKETS  8192
#define HIDDEN_TRIES   100
#define HIDDEN_WAIT_MS 1
#define RUN_MAX_BYTES  1024 /* QEMU 7.2 accepts packets of up to 4096 characters */
/* The largest gap between two sites that share a packet. Measured with the 34,948 sites of a Debian
 * 6.1 kernel under QEMU 7.2: a packet costs QEMU 4.5 us (two writes to its socket), a byte 15 ns.
 * ns per site, by this limit: 0: 8,100, 64: 7,400, 96: 5,900, 128: 6,400, 256: 5,200. QEMU must
 * retranslate the code between the sites, so the limit is no higher than necessary. */
#define GAP_MAX_BYTES  96

/* ---- the stub's socket ---- */

/* The caller frees the result. */
static char *dir_beside_qmp(const struct hv_machine *m)
{
	return hv_format("%s/hvtrace-%d", m->qmp_dir, (int)m->process.pid);
}

/* Makes a directory beside the QMP socket that only the VMM's user can access. */
static struct hv_err *make_dir(struct hv_machine *m, char **ret)
{
	HV_AUTO_FREE char *dir = dir_beside_qmp(m);
	struct hv_err *err = hv_stub_dir_make(dir, m->process.uid, m->process.gid);

	if (err)
		return err;
	m->stub_dir = hv_strdup(dir);
	*ret = hv_take(dir);
	return NULL;
}

/* Checks that the VMM can open the directory by the path that this process uses. */
static struct hv_err *check_dir(const struct hv_machine *m)
{
	pid_t pid = m->process.pid;
	HV_AUTO_FREE char *real = m->vmm_dir ? NULL : realpath(m->qmp_dir, NULL);

	if (!real || !hv_root_is_elsewhere(pid) || hv_root_path_is_same(pid, real))
		return NULL;
	return hv_err_new(EXDEV,
			  "gdb stub: process %d is in another mount namespace, where %s does not "
			  "exist or is another directory: name the guest pid:%d, or "
			  "qmp:/proc/%d/root/PATH with the socket's path there",
			  (int)pid, real, (int)pid, (int)pid);
}

/* Under libvirt, uses the domain's private directory: the VMM's user may create a socket there, and
 * AppArmor allows it. */
static struct hv_err *choose_dir(struct hv_machine *m, char **ret)
{
	if (m->qmp_dir) {
		struct hv_err *err = check_dir(m);

		return err ? err : make_dir(m, ret);
	}
	if (!m->private_dir)
		return hv_err_new(ENOENT, "gdb stub: the domain has no directory for its socket");
	*ret = hv_strdup(m->private_dir);
	return NULL;
}

static struct hv_err *choose_path(struct hv_machine *m)
{
	HV_AUTO_FREE char *dir = NULL;
	HV_AUTO_FREE char *real = NULL;
	struct hv_err *err = choose_dir(m, &dir);

	if (err)
		return err;
	real = m->vmm_dir ? hv_strdup(dir) : realpath(dir, NULL);
	if (!real)
		return hv_err_new(errno, "gdb stub: directory %s: %s", dir, strerror(errno));
	free(m->stub_path);
	free(m->stub_vmm_path);
	m->stub_path = hv_format("%s/%s", real, HV_STUB_SOCKET);
	m->stub_vmm_path = m->vmm_dir ? hv_format("%s/hvtrace-%d/%s", m->vmm_dir,
						  (int)m->process.pid, HV_STUB_SOCKET)
				      : hv_strdup(m->stub_path);
	if (!hv_unix_path_fits(m->stub_path) || !hv_unix_path_fits(m->stub_vmm_path))
		return hv_err_new(ENAMETOOLONG, "gdb stub: socket path %s is too long",
				  m->stub_vmm_path);
	return NULL;
}

static struct hv_err *stub_off(struct hv_machine *m)
{
	char said[HV_VMM_TEXT_BYTES];

	return hv_parser_gdbserver(m->monitor, "", said);
}

static struct hv_err *stub_on(struct hv_machine *m)
{
	char said[HV_VMM_TEXT_BYTES];
	bool is_on = false;
	struct hv_err *err = hv_parser_gdbserver(m->monitor, m->stub_vmm_path, said);

	if (!err)
		err = hv_machine_stub_state(m, &is_on);
	if (!err && !is_on)
		err = hv_err_new(EIO, "gdb stub: not started: %s", said);
	return err;
}

static void remove_files(struct hv_machine *m)
{
	if (m->stub_path)
		hv_stub_file_remove(m->stub_path, m->process.uid, m->process.gid);
	if (m->stub_dir)
		hv_stub_dir_remove(m->stub_dir, m->process.uid, m->process.gid);
	free(hv_take(m->stub_path));
	free(hv_take(m->stub_vmm_path));
	free(hv_take(m->stub_dir));
}

/* Removes the socket at the path that this VMM would use, without trusting the VMM's answer. */
static void remove_socket(const struct hv_machine *m)
{
	HV_AUTO_FREE char *dir = m->qmp_dir ? dir_beside_qmp(m) : NULL;
	const char *socket_dir = m->qmp_dir ? dir : m->private_dir;
	HV_AUTO_FREE char *path =
		socket_dir ? hv_format("%s/%s", socket_dir, HV_STUB_SOCKET) : NULL;

	if (path)
		hv_stub_file_remove(path, m->process.uid, m->process.gid);
}

/* Stops a gdb stub left by an hvtrace that was killed. */
static struct hv_err *clear_stale(struct hv_machine *m)
{
	bool is_left = false;
	struct hv_err *err = hv_machine_stub_state(m, &is_left);

	if (err || !is_left)
		return err;
	err = stub_off(m);
	remove_socket(m);
	return err;
}

/* Sets *RET if the guest is paused, and not by another client as far as is known. */
static struct hv_err *is_stopped(struct hv_machine *m, bool *ret)
{
	struct hv_vmm_status status = {0};
	struct hv_err *err = hv_parser_status(m->monitor, &status);

	*ret = !err && status.is_paused && !hv_parser_is_paused_by_other(m->monitor);
	return err;
}

/* Resumes a guest that a hold stopped and the guardian failed to resume. Sends nothing if the
 * monitor does not answer: the command could run later, when another client may have paused the
 * guest. */
static void continue_by_monitor(struct hv_machine *m)
{
	bool stopped = false;
	struct hv_err *err = is_stopped(m, &stopped);

	if (!err && stopped)
		err = hv_parser_cont(m->monitor);
	m->may_be_stopped = m->may_be_stopped && err;
	hv_err_free(err);
}

/* Decides whether a stop that timed out can still arrive. QEMU ignores the interrupt if another
 * client has paused the guest first; otherwise the guest stops, and the guardian resumes it. So if
 * the guest is paused and stays paused, the guardian must stop waiting: it would mistake the next
 * pause for its own and resume the guest. */
static void settle_stop(struct hv_machine *m)
{
	HV_AUTO_ERR struct hv_err *running = hv_machine_is_running(m);
	HV_AUTO_ERR struct hv_err *still = NULL;

	if (!running || running->code != EBUSY)
		return;
	if (hv_guardian_state(m->guardian) != HV_GUARDIAN_STOPPING)
		return;
	still = hv_machine_is_running(m);
	if (still && still->code == EBUSY)
		hv_guardian_forget_stop(m->guardian);
}

/* Cleans up after a hold that failed to begin. Takes and returns ERR. */
static struct hv_err *not_begun(struct hv_machine *m, struct hv_err *err)
{
	enum hv_guardian_state state;

	m->may_be_stopped = true;
	if (err->code != EBUSY) {
		continue_by_monitor(m);
		return err;
	}
	settle_stop(m);
	state = hv_guardian_state(m->guardian);
	m->may_be_stopped = state != HV_GUARDIAN_RUNS;
	/* The next hold replaces a guardian that has lost the stub. */
	if (state == HV_GUARDIAN_UNREACHED)
		hv_guardian_free(hv_take(m->guardian));
	return err;
}

static struct hv_err *begin(struct hv_machine *m, uint64_t max_ns)
{
	struct hv_err *err = hv_machine_is_running(m);
	bool asleep = false;

	/* Do not query an unresponsive monitor again. */
	if (err && err->code != EBUSY)
		return err;
	if (err) {
		struct hv_err *unknown = hv_machine_sleeps(m, &asleep);

		if (unknown || !asleep) {
			hv_err_free(unknown);
			return err;
		}
		hv_err_free(err);
	}
	err = asleep ? hv_guardian_hold_asleep(m->guardian, max_ns, &m->held_from_ns)
		     : hv_guardian_hold(m->guardian, max_ns, &m->held_from_ns);
	if (err)
		return hv_err_in(not_begun(m, err), "hold");
	m->may_be_stopped = false;
	return NULL;
}

static struct hv_err *describe_once(struct hv_machine *m)
{
	struct hv_err *err = begin(m, FIRST_HOLD_NS);
	struct hv_err *end;

	if (err)
		return err;
	err = hv_guardian_describe(m->guardian, m->arch);
	end = hv_machine_hold_end(m);
	if (err) {
		hv_err_free(end);
		return err;
	}
	return end;
}

/* ---- the hold ---- */

void hv_machine_drop_hold(struct hv_machine *m)
{
	/* The guardian may have resumed the guest since. */
	if (m->may_be_stopped && m->guardian && hv_guardian_is_alive(m->guardian))
		m->may_be_stopped = hv_guardian_state(m->guardian) != HV_GUARDIAN_RUNS;
	if (m->guardian) {
		hv_guardian_free(hv_take(m->guardian));
		hv_err_free(stub_off(m));
	}
	if (m->may_be_stopped)
		continue_by_monitor(m);
	remove_files(m);
}

/* Removes leftovers while the guest runs. Ignores errors: files that cannot be removed belong to
 * another process. */
static void remove_left(struct hv_machine *m)
{
	HV_AUTO_FREE char *dir = m->qmp_dir ? dir_beside_qmp(m) : NULL;

	if (m->guardian)
		return;
	hv_err_free(clear_stale(m));
	if (dir)
		hv_stub_dir_remove(dir, m->process.uid, m->process.gid);
}

/* A guest is resumed only if a gdb stub of hvtrace was left and libvirt was not asked to pause it.
 * Otherwise another client has paused it and will resume it. */
struct hv_err *hv_machine_let_run(struct hv_machine *m, bool *ret_was_stopped)
{
	struct hv_vmm_status status = {0};
	bool is_left = false;
	struct hv_err *err = hv_parser_status(m->monitor, &status);

	if (err)
		return err;
	if (!status.is_paused) {
		remove_left(m);
		return NULL;
	}
	err = hv_machine_stub_state(m, &is_left);
	if (err || !is_left)
		return err;
	err = clear_stale(m);
	if (err || hv_parser_is_paused_by_other(m->monitor))
		return err;
	err = hv_parser_cont(m->monitor);
	*ret_was_stopped = !err;
	return err;
}

static struct hv_err *start_guardian(struct hv_machine *m)
{
	HV_AUTO_FREE char *name = NULL;
	HV_AUTO_FREE char *opened = NULL;
	HV_AUTO_FD int fd = -1;
	struct hv_err *err;

	if (!m->vmm_dir)
		return hv_guardian_start(m->stub_path, m->process.pid, &m->guardian);
	name = hv_format("hvtrace-%d/%s", (int)m->process.pid, HV_STUB_SOCKET);
	err = hv_root_path_open_at(m->qmp_dir_fd, name, m->stub_vmm_path, &fd);
	opened = hv_format("/proc/self/fd/%d", fd);
	if (!err)
		err = hv_guardian_start(opened, m->process.pid, &m->guardian);
	return hv_err_in(err, "gdb stub, in the mount namespace of process %d",
			 (int)m->process.pid);
}

struct hv_err *hv_machine_prepare_hold(struct hv_machine *m)
{
	struct hv_err *err = hv_machine_is_running(m);

	if (err || (m->guardian && hv_guardian_is_alive(m->guardian)))
		return err;
	hv_machine_drop_hold(m);
	err = hv_machine_reserve_region(m);
	if (!err)
		err = clear_stale(m);
	if (!err)
		err = choose_path(m);
	if (err) {
		remove_files(m);
		return err;
	}
	hv_stub_file_remove(m->stub_path, m->process.uid, m->process.gid);
	err = stub_on(m);
	if (!err)
		err = start_guardian(m);
	if (err) {
		hv_err_free(stub_off(m));
		remove_files(m);
		continue_by_monitor(m);
		return err;
	}
	err = describe_once(m);
	if (err)
		hv_machine_drop_hold(m);
	m->prepared = m->prepared || !err;
	return err;
}

static unsigned first_hidden(const struct hv_machine *m, const struct hv_vcpu_regs *regs,
			     enum hv_hidden least)
{
	unsigned i = 0;

	while (i < m->nr_vcpus && regs[i].hidden < least)
		i++;
	return i;
}

/* Reads the registers of all vCPUs, which stay valid during the hold. *RET_VCPU is the first hidden
 * vCPU, or the number of vCPUs if no vCPU is hidden. Queries the slow human monitor only if a vCPU
 * is at an address where the kernel does not execute. */
static struct hv_err *look_at_vcpus(struct hv_machine *m, unsigned *ret_vcpu)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	HV_AUTO_FREE struct hv_vcpu_regs *told = NULL;
	struct hv_err *err = hv_guardian_look(m->guardian, m->nr_vcpus, &regs, &m->nr_vcpus);

	if (err)
		return err;
	told = hv_alloc(m->nr_vcpus * sizeof(*told));
	*ret_vcpu = first_hidden(m, regs, HV_HIDDEN_YES);
	if (*ret_vcpu == m->nr_vcpus && first_hidden(m, regs, HV_HIDDEN_MAYBE) < m->nr_vcpus) {
		err = hv_machine_registers(m, told, m->nr_vcpus);
		if (err)
			return err;
		*ret_vcpu = first_hidden(m, told, HV_HIDDEN_YES);
	}
	free(m->held_regs);
	m->held_regs = hv_take(regs);
	return NULL;
}

static struct hv_err *begin_and_look(struct hv_machine *m, uint64_t max_ns, unsigned *ret_vcpu)
{
	struct hv_err *err = begin(m, max_ns);

	if (err)
		return err;
	m->held = true;
	err = look_at_vcpus(m, ret_vcpu);
	if (err)
		hv_err_free(hv_machine_hold_end(m));
	return err;
}

/* Retries until no vCPU is hidden: the position of a hidden vCPU in the kernel is unknown, and it
 * may be in a trampoline. Firmware returns after some microseconds, a nested guest at its next
 * exit. */
static struct hv_err *begin_with_none_hidden(struct hv_machine *m, uint64_t max_ns)
{
	unsigned vcpu = 0;

	for (unsigned tries = 0; tries < HIDDEN_TRIES; tries++) {
		struct hv_err *err = begin_and_look(m, max_ns, &vcpu);

		if (err || vcpu == m->nr_vcpus)
			return err;
		err = hv_machine_hold_end(m);
		if (err)
			return err;
		poll(NULL, 0, HIDDEN_WAIT_MS);
	}
	return hv_err_new(EBUSY, "vCPU %u is in %s each time it is stopped", vcpu,
			  m->arch->hidden_in);
}

/* Replaces a guardian that was killed, because patches must still be undone. */
static struct hv_err *get_ready(struct hv_machine *m)
{
	struct hv_err *err;

	if (!m->prepared)
		return hv_err_new(EINVAL, "hold: not prepared");
	if (!m->guardian || !hv_guardian_is_alive(m->guardian)) {
		err = hv_machine_prepare_hold(m);
		if (err)
			return err;
	}
	return hv_machine_look_at_ram(m);
}

struct hv_err *hv_machine_hold_begin(struct hv_machine *m, uint64_t max_ns)
{
	struct hv_err *err = get_ready(m);

	return err ? err : begin_with_none_hidden(m, max_ns);
}

/* In system management mode, the registers show neither the kernel's page tables nor whether the
 * guest was rebooted. */
struct hv_err *hv_machine_hold_begin_anywhere(struct hv_machine *m, uint64_t max_ns)
{
	unsigned vcpu = 0;
	struct hv_err *err = get_ready(m);

	if (err)
		return err;
	return m->arch->hidden_keeps_root ? begin_and_look(m, max_ns, &vcpu)
					  : begin_with_none_hidden(m, max_ns);
}

struct hv_err *hv_machine_hold_end(struct hv_machine *m)
{
	struct hv_err *err = hv_guardian_release(m->guardian, &m->held_ns);

	m->held = false;
	free(hv_take(m->held_regs));
	if (err && err->code != ETIMEDOUT) {
		m->may_be_stopped = true;
		continue_by_monitor(m);
	}
	return hv_err_in(err, "hold");
}

/* ---- vCPUs ---- */

struct hv_err *hv_machine_hold_registers(struct hv_machine *m, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(m->nr_vcpus, nr);

	if (!err && !m->held_regs)
		err = hv_err_new(EINVAL, "registers: the guest is not held");
	if (!err)
		memcpy(ret, m->held_regs, nr * sizeof(*ret));
	return err;
}

struct hv_err *hv_machine_hold_flush(struct hv_machine *m, uint64_t off, uint64_t len_bytes)
{
	return m->accel == HV_ACCEL_KVM ? hv_machine_remap_region(m, off, len_bytes)
					: hv_guardian_flush(m->guardian);
}

/* ---- writes ---- */

/* Returns how many of WRITES, from the first on, go into one packet. The bytes between two of them
 * are written with their current values, which is cheaper than another packet if the gap is
 * small. */
static size_t run_len(const struct hv_hold_write *writes, size_t nr)
{
	uint64_t start = writes[0].gpa.v;
	uint64_t end = start + writes[0].len_bytes;
	size_t i;

	for (i = 1; i < nr; i++) {
		uint64_t next = writes[i].gpa.v;

		if (next < end || next - end > GAP_MAX_BYTES ||
		    next + writes[i].len_bytes - start > RUN_MAX_BYTES)
			break;
		end = next + writes[i].len_bytes;
	}
	return i;
}

static struct hv_err *read_here(struct hv_machine *m, struct hv_gpa gpa, uint8_t *to, size_t len)
{
	if (m->region.host && gpa.v >= m->region.gpa.v &&
	    gpa.v - m->region.gpa.v <= m->region.len_bytes - len) {
		memcpy(to, m->region.host + (gpa.v - m->region.gpa.v), len);
		return NULL;
	}
	return hv_ram_read(&m->ram, gpa, to, len);
}

static struct hv_err *add_run(struct hv_machine *m, struct hv_packets *packets,
			      const struct hv_hold_write *writes, size_t nr)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t start = writes[0].gpa.v;
	size_t len = writes[nr - 1].gpa.v + writes[nr - 1].len_bytes - start;
	char packet[2 * RUN_MAX_BYTES + 48];
	uint8_t bytes[RUN_MAX_BYTES];
	struct hv_err *err = nr > 1 ? read_here(m, writes[0].gpa, bytes, len) : NULL;
	char *at;

	if (err)
		return err;
	for (size_t i = 0; i < nr; i++)
		memcpy(bytes + (writes[i].gpa.v - start), writes[i].bytes, writes[i].len_bytes);
	at = packet + sprintf(packet, "M%" PRIx64 ",%zx:", start, len);
	for (size_t i = 0; i < len; i++) {
		*at++ = hex[bytes[i] >> 4];
		*at++ = hex[bytes[i] & 15];
	}
	*at = '\0';
	hv_packets_add(packets, packet);
	return NULL;
}

/* When the gdb stub writes to RAM, QEMU drops the code translated from it (exec.c
 * invalidate_and_set_dirty). Uses guest-physical addresses, so that no vCPU's page tables are
 * needed. */
static struct hv_err *write_batch(struct hv_machine *m, const struct hv_hold_write *writes,
				  size_t nr)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	struct hv_err *err = NULL;

	hv_packets_add(&packets, "Qqemu.PhyMemMode:1");
	for (size_t i = 0, run; !err && i < nr; i += run) {
		run = run_len(writes + i, nr - i);
		err = add_run(m, &packets, writes + i, run);
	}
	hv_packets_add(&packets, "Qqemu.PhyMemMode:0");
	return err ? err : hv_guardian_execute(m->guardian, &packets);
}

/* Writes data through the stub, too, because only that ensures that no write is late: the stub
 * answers a packet only while the guest is stopped, and the guardian resumes the guest after the
 * answers. */
struct hv_err *hv_machine_hold_write(struct hv_machine *m, const struct hv_hold_write *writes,
				     size_t nr)
{
	struct hv_err *err = NULL;

	for (size_t done = 0; !err && done < nr; done += BATCH_PACKETS)
		err = write_batch(m, writes + done,
				  nr - done < BATCH_PACKETS ? nr - done : BATCH_PACKETS);
	return err;
}
