/* A hold through the gdb stub: started at run time by the monitor, on a unix socket that only the
 * VMM's user and we can reach, owned by the guardian, and taken away at the end. */
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/clock.h"
#include "vmm/qemu/machine.h"
#include "vmm/text_store.h"
#include "vmm/unix_socket.h"

#define FIRST_HOLD_NS (2 * HV_NS_PER_S)
#define BATCH_PACKETS 8192
#define RUN_MAX_BYTES 1024 /* QEMU 7.2 takes packets of 4096 characters */
/* Measured with the 34,948 sites of a Debian 6.1 kernel under QEMU 7.2: a packet costs QEMU 4.5 us
 * (two writes to its socket), a byte 15 ns. ns a site by this limit: 0: 8,100, 64: 7,400, 96:
 * 5,900, 128: 6,400, 256: 5,200; code between sites is translated anew, so not more than pays. */
#define GAP_MAX_BYTES 96

/* ---- the stub's socket ---- */

/* Directory of the monitor's socket as the VMM itself names it: under libvirt the domain's private
 * directory, where it may bind (its user, AppArmor). Caller frees. */
static struct hv_err *libvirt_dir(struct hv_machine *m, char **ret)
{
	HV_AUTO_JSON struct json_object *devices = NULL;
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-chardev", NULL, &devices);

	for (size_t i = 0; !err && i < hv_json_len(devices); i++) {
		struct json_object *device = json_object_array_get_idx(devices, i);
		const char *label = hv_json_string(device, "label");
		const char *filename = hv_json_string(device, "filename");
		const char *path = filename ? strstr(filename, "unix:") : NULL;
		HV_AUTO_FREE char *copy = NULL;

		if (!label || strcmp(label, "charmonitor") || !path)
			continue;
		copy = strndup(path + 5, strcspn(path + 5, ","));
		if (!copy)
			abort();
		*ret = hv_strdup(dirname(copy));
		return NULL;
	}
	return err ? err
		   : hv_err_new(ENOENT, "gdb stub: the monitor's socket is not among the VMM's "
					"character devices");
}

/* A directory of our own beside the QMP socket, for the VMM's user alone. */
static struct hv_err *make_dir(struct hv_machine *m, char **ret)
{
	HV_AUTO_FREE char *dir = hv_format("%s/hvtrace-%d", m->qmp_dir, (int)m->process.pid);

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return hv_err_new(errno, "gdb stub: directory %s: %s", dir, strerror(errno));
	m->stub_dir = hv_strdup(dir);
	if (lchown(dir, m->process.uid, m->process.gid) < 0)
		return hv_err_new(errno, "gdb stub: directory %s: %s", dir, strerror(errno));
	*ret = hv_take(dir);
	return NULL;
}

static struct hv_err *choose_path(struct hv_machine *m)
{
	HV_AUTO_FREE char *dir = NULL;
	HV_AUTO_FREE char *real = NULL;
	struct hv_err *err = m->qmp_dir ? make_dir(m, &dir) : libvirt_dir(m, &dir);

	if (err)
		return err;
	real = realpath(dir, NULL);
	if (!real)
		return hv_err_new(errno, "gdb stub: directory %s: %s", dir, strerror(errno));
	free(m->stub_path);
	m->stub_path = hv_format("%s/%s", real, HV_STUB_SOCKET);
	if (!hv_unix_path_fits(m->stub_path))
		return hv_err_new(ENAMETOOLONG, "gdb stub: socket path %s is too long",
				  m->stub_path);
	return NULL;
}

/* One word of an HMP line (monitor/hmp.c get_str); a comma of an option's value is doubled
 * (util/qemu-option.c). */
static void add_hmp_path(struct hv_text *line, const char *path)
{
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			hv_text_add(line, "\\");
		if (*path == ',')
			hv_text_add(line, ",");
		hv_text_add_bytes(line, path, 1);
	}
}

static struct hv_err *stub_off(struct hv_machine *m)
{
	HV_AUTO_FREE char *said = NULL;

	return hv_monitor_hmp(m->monitor, "gdbserver none", &said);
}

static struct hv_err *stub_on(struct hv_machine *m)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	HV_AUTO_FREE char *said = NULL;
	HV_AUTO_FREE char *path = NULL;
	struct hv_err *err;

	hv_text_add(&line, "gdbserver \"unix:");
	add_hmp_path(&line, m->stub_path);
	hv_text_add(&line, ",server=on,wait=off\"");
	err = hv_monitor_hmp(m->monitor, line.data, &said);
	if (!err)
		err = hv_machine_stub_state(m, &path);
	if (!err && !path)
		err = hv_err_new(EIO, "gdb stub: not started: %.*s", (int)strcspn(said, "\r\n"),
				 said);
	return err;
}

static void remove_files(struct hv_machine *m)
{
	if (m->stub_path)
		unlink(m->stub_path);
	if (m->stub_dir)
		rmdir(m->stub_dir);
	free(hv_take(m->stub_path));
	free(hv_take(m->stub_dir));
}

/* A stub that an hvtrace which died has left. */
static struct hv_err *clear_stale(struct hv_machine *m)
{
	HV_AUTO_FREE char *path = NULL;
	struct hv_err *err = hv_machine_stub_state(m, &path);

	if (err || !path)
		return err;
	err = stub_off(m);
	unlink(path);
	return err;
}

/* The machine stands through us, and whoever should let it run has failed. */
static void continue_by_monitor(struct hv_machine *m)
{
	HV_AUTO_JSON struct json_object *status = NULL;
	HV_AUTO_JSON struct json_object *done = NULL;
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-status", NULL, &status);
	const char *name = err ? NULL : hv_json_string(status, "status");

	if (err || !name || !strcmp(name, "paused")) {
		hv_err_free(err);
		err = hv_monitor_execute(m->monitor, "cont", NULL, &done);
	}
	hv_err_free(err);
}

static struct hv_err *begin(struct hv_machine *m, uint64_t max_ns)
{
	struct hv_err *err = hv_machine_is_running(m);
	bool asleep = false;

	if (err) {
		struct hv_err *unknown = hv_machine_sleeps(m, &asleep);

		if (unknown || !asleep) {
			hv_err_free(unknown);
			return err;
		}
		hv_err_free(err);
	}
	err = asleep ? hv_guardian_hold_asleep(m->guardian, max_ns)
		     : hv_guardian_hold(m->guardian, max_ns);
	if (err)
		m->may_stand = true;
	if (err && err->code != EBUSY)
		continue_by_monitor(m);
	return hv_err_in(err, "hold");
}

/* QEMU answers p and P only to clients that have asked for its register description. */
static struct hv_err *ask_once(struct hv_machine *m)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_err *err = begin(m, FIRST_HOLD_NS);
	struct hv_err *end;

	if (err)
		return err;
	hv_packets_add(&packets, "qXfer:features:read:target.xml:0,ffb");
	err = hv_guardian_exchange(m->guardian, &packets, &answers);
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
	if (m->guardian) {
		hv_guardian_free(hv_take(m->guardian));
		hv_err_free(stub_off(m));
	}
	if (m->may_stand)
		continue_by_monitor(m);
	m->may_stand = false;
	remove_files(m);
	hv_machine_forget_threads(m);
}

/* Whoever paused it otherwise did it while no hvtrace's stub was there, or knows how to go on. */
struct hv_err *hv_machine_let_run(struct hv_machine *m, bool *ret_stood)
{
	HV_AUTO_JSON struct json_object *status = NULL;
	HV_AUTO_JSON struct json_object *done = NULL;
	HV_AUTO_FREE char *path = NULL;
	struct hv_err *err = hv_monitor_execute(m->monitor, "query-status", NULL, &status);
	const char *name = err ? NULL : hv_json_string(status, "status");

	if (err || !name || strcmp(name, "paused"))
		return err;
	err = hv_machine_stub_state(m, &path);
	if (err || !path)
		return err;
	err = clear_stale(m);
	if (!err)
		err = hv_monitor_execute(m->monitor, "cont", NULL, &done);
	if (!err)
		*ret_stood = true;
	return err;
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
	unlink(m->stub_path);
	err = stub_on(m);
	if (!err)
		err = hv_guardian_start(m->stub_path, &m->guardian);
	if (err) {
		hv_err_free(stub_off(m));
		remove_files(m);
		continue_by_monitor(m);
		return err;
	}
	err = ask_once(m);
	if (err)
		hv_machine_drop_hold(m);
	m->prepared = m->prepared || !err;
	return err;
}

/* A guardian that somebody killed is replaced: what stands in the guest must be undone still. */
struct hv_err *hv_machine_hold_begin(struct hv_machine *m, uint64_t max_ns)
{
	struct hv_err *err;

	if (!m->prepared)
		return hv_err_new(EINVAL, "hold: not prepared");
	if (!m->guardian || !hv_guardian_is_alive(m->guardian)) {
		err = hv_machine_prepare_hold(m);
		if (err)
			return err;
	}
	err = hv_machine_look_at_ram(m);
	if (!err)
		err = begin(m, max_ns);
	if (err)
		return err;
	m->held = true;
	err = hv_machine_count_threads(m);
	if (err)
		hv_err_free(hv_machine_hold_end(m));
	return err;
}

struct hv_err *hv_machine_hold_end(struct hv_machine *m)
{
	struct hv_err *err = hv_guardian_release(m->guardian, &m->held_ns);

	m->held = false;
	if (err && err->code != ETIMEDOUT) {
		m->may_stand = true;
		continue_by_monitor(m);
	}
	return hv_err_in(err, "hold");
}

/* ---- text ---- */

/* How many of WRITES, from the first, go into one packet: what lies between neighbours is written
 * with what it holds, which is cheaper than another packet when it is short. */
static size_t run_len(const struct hv_text_write *writes, size_t nr)
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

static struct hv_err *read_text(struct hv_machine *m, struct hv_gpa gpa, uint8_t *to, size_t len)
{
	if (m->region.host && gpa.v >= m->region.gpa.v &&
	    gpa.v - m->region.gpa.v <= m->region.len_bytes - len) {
		memcpy(to, m->region.host + (gpa.v - m->region.gpa.v), len);
		return NULL;
	}
	return hv_ram_read(&m->ram, gpa, to, len);
}

/* One packet for NR writes that make a run. */
static struct hv_err *add_run(struct hv_machine *m, struct hv_packets *packets,
			      const struct hv_text_write *writes, size_t nr)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t start = writes[0].gpa.v;
	size_t len = writes[nr - 1].gpa.v + writes[nr - 1].len_bytes - start;
	char packet[2 * RUN_MAX_BYTES + 48];
	uint8_t bytes[RUN_MAX_BYTES];
	struct hv_err *err = nr > 1 ? read_text(m, writes[0].gpa, bytes, len) : NULL;
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

/* QEMU's writes to RAM by the stub drop the code translated from it (exec.c
 * invalidate_and_set_dirty); guest-physical addresses need no vCPU's page tables. */
static struct hv_err *write_batch(struct hv_machine *m, const struct hv_text_write *writes,
				  size_t nr)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_err *err = NULL;

	hv_packets_add(&packets, "Qqemu.PhyMemMode:1");
	for (size_t i = 0, run; !err && i < nr; i += run) {
		run = run_len(writes + i, nr - i);
		err = add_run(m, &packets, writes + i, run);
	}
	hv_packets_add(&packets, "Qqemu.PhyMemMode:0");
	if (!err)
		err = hv_guardian_exchange(m->guardian, &packets, &answers);
	return err ? err : hv_packets_all_ok(&packets, &answers);
}

static bool in_region(const struct hv_machine *m, const struct hv_text_write *w)
{
	return m->region.host && w->gpa.v >= m->region.gpa.v &&
	       w->gpa.v - m->region.gpa.v <= m->region.len_bytes - w->len_bytes;
}

/* Under KVM text is memory like any other. */
static struct hv_err *write_direct(struct hv_machine *m, const struct hv_text_write *writes,
				   size_t nr)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++) {
		const struct hv_text_write *w = &writes[i];

		if (in_region(m, w))
			hv_text_store(m->region.host, w->gpa.v - m->region.gpa.v, w->bytes,
				      w->len_bytes);
		else
			err = hv_ram_write_text(&m->ram, w->gpa, w->bytes, w->len_bytes);
	}
	return err;
}

struct hv_err *hv_machine_hold_write_text(struct hv_machine *m, const struct hv_text_write *writes,
					  size_t nr)
{
	struct hv_err *err = NULL;

	if (m->accel == HV_ACCEL_KVM)
		return write_direct(m, writes, nr);
	for (size_t done = 0; !err && done < nr; done += BATCH_PACKETS)
		err = write_batch(m, writes + done,
				  nr - done < BATCH_PACKETS ? nr - done : BATCH_PACKETS);
	return err;
}
