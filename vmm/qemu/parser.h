/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser: an unprivileged process (base/confine.h) that parses the VMM's answers.
 *
 * The guest may have taken over the VMM, which would attack through its JSON and text. So the
 * process that accesses the guest sends requests to the parser and receives values of fixed size
 * (below). It must not trust them: a parser that was taken over returns the values that the VMM
 * wants.
 *
 *                                  QMP socket
 *   privileged --questions--> parser ----------> VMM
 *       |      <---values----    |
 *       +--- libvirt's monitor <-+   commands and answers are relayed as unparsed text
 *
 * A parser that dies or whose answers are late or malformed is killed: the request fails, and the
 * next one starts another parser. The caller compares the values with the host kernel's
 * information. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/addr.h"
#include "vmm/qemu/monitor.h"

/* -- values ------------------------------------------------------------------------------------ */

/* Properties of a VMM and its guest, as values of fixed size. An unprivileged process derives them
 * from the monitor's answers (parser_run.c). The process that accesses the guest receives only
 * these values and checks them against the host kernel. */

#define HV_VMM_WORD_BYTES 32  /* size of a text, including the NUL */
#define HV_VMM_TEXT_BYTES 200 /* size of a longer text, including the NUL */
#define HV_VMM_RANGES_MAX 1024

struct hv_vmm_kind {
	uint32_t has_kvm;
	char arch[HV_VMM_WORD_BYTES];
};

struct hv_vmm_status {
	uint32_t is_running;
	uint32_t is_suspended; /* S3 */
	uint32_t is_paused;
	char word[HV_VMM_WORD_BYTES]; /* "": the VMM does not report it */
};

struct hv_vmm_migration {
	uint32_t is_under_way;
	char word[HV_VMM_WORD_BYTES];
};

#define HV_STUB_SOCKET "hvtrace-gdb.sock" /* the last component of its path */
enum hv_vmm_stub_state {
	HV_STUB_NONE,
	HV_STUB_OURS,	 /* has the name of hvtrace's socket and no client */
	HV_STUB_IN_USE,	 /* has the name of hvtrace's socket and a client */
	HV_STUB_ANOTHER, /* a debugger's */
	HV_NR_STUB_STATES,
};
struct hv_vmm_stub {
	uint32_t state;
	char where[HV_VMM_TEXT_BYTES];
};

/* BAR 2 of the ivshmem device. */
struct hv_vmm_ivshmem {
	uint32_t nr; /* number of such devices; the rest is set if it is 1 */
	uint32_t has_bus;
	uint32_t is_on; /* it has an address */
	char where[HV_VMM_WORD_BYTES];
	struct hv_gpa start;
	uint64_t len_bytes;
};

/* RAM that is contiguous in the guest and in the VMM. */
struct hv_vmm_range {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t hva; /* in the VMM */
};

enum hv_vmm_device {
	HV_VMM_NO_DEVICE,
	HV_VMM_VFIO,
	HV_VMM_VHOST_USER,
	HV_VMM_VDPA,
	HV_NR_VMM_DEVICES,
};

/* -- questions --------------------------------------------------------------------------------- */

struct hv_parser;

/* Takes RELAY, the connection to the monitor; this process does not parse its answers. */
struct hv_parser *hv_parser_relay(struct hv_monitor *relay);
/* Connects to QMP on a unix socket. EXPECTED and RET_PEER as for hv_unix_peer(), which checks the
 * process before any byte is sent or received. Fails with EBUSY if another client is connected. */
struct hv_err *hv_parser_qmp(const char *path, pid_t expected, struct hv_parser **ret,
			     struct hv_unix_peer *ret_peer) hv_must_use;
void hv_parser_free(struct hv_parser *p);

static inline void hv_parser_free_at(struct hv_parser **p)
{
	hv_parser_free(*p);
}
#define HV_AUTO_PARSER hv_cleanup(hv_parser_free_at)

/* The process; -1: none is running. */
pid_t hv_parser_pid(const struct hv_parser *p);

/* Like hv_monitor_is_paused_by_other(); answered by libvirt itself if it has the monitor. */
bool hv_parser_is_paused_by_other(struct hv_parser *p);

/* Each requests the result of the function with its name in parser_run.c or pin.h. Strings are
 * NUL-terminated, counts fit the array, enumerations have known values, RAM is ascending and does
 * not wrap. Nothing else is checked. Fail with ETIME, EPIPE or EPROTO if the parser did not
 * answer. */
struct hv_err *hv_parser_kind(struct hv_parser *p, struct hv_vmm_kind *ret) hv_must_use;
struct hv_err *hv_parser_status(struct hv_parser *p, struct hv_vmm_status *ret) hv_must_use;
struct hv_err *hv_parser_migration(struct hv_parser *p, struct hv_vmm_migration *ret) hv_must_use;
struct hv_err *hv_parser_has_sev(struct hv_parser *p, bool *ret) hv_must_use;
/* Returns the first MAX; *RET_NR counts all of them, at most HV_VCPUS_MAX. */
struct hv_err *hv_parser_threads(struct hv_parser *p, pid_t *ret, size_t max,
				 unsigned *ret_nr) hv_must_use;
struct hv_err *hv_parser_registers(struct hv_parser *p, const struct hv_arch *arch,
				   struct hv_vcpu_regs *ret, size_t nr) hv_must_use;
/* RET has room for HV_VMM_RANGES_MAX. */
struct hv_err *hv_parser_ram(struct hv_parser *p, struct hv_vmm_range *ret, size_t *ret_nr,
			     bool *ret_can_go) hv_must_use;
struct hv_err *hv_parser_hva(struct hv_parser *p, struct hv_gpa gpa, uint64_t *ret) hv_must_use;
struct hv_err *hv_parser_ivshmem(struct hv_parser *p, struct hv_vmm_ivshmem *ret) hv_must_use;
struct hv_err *hv_parser_stub(struct hv_parser *p, struct hv_vmm_stub *ret) hv_must_use;
struct hv_err *hv_parser_gdbserver(struct hv_parser *p, const char *path,
				   char ret[HV_VMM_TEXT_BYTES]) hv_must_use;
struct hv_err *hv_parser_cont(struct hv_parser *p) hv_must_use;
struct hv_err *hv_parser_pin_is_set(struct hv_parser *p, bool *ret) hv_must_use;
struct hv_err *hv_parser_pin_set(struct hv_parser *p, const char *path) hv_must_use;
struct hv_err *hv_parser_pin_clear(struct hv_parser *p) hv_must_use;
struct hv_err *hv_parser_devices(struct hv_parser *p, enum hv_vmm_device *ret) hv_must_use;
struct hv_err *hv_parser_free_gpa(struct hv_parser *p, unsigned phys_bits, uint64_t floor,
				  uint64_t len_bytes, struct hv_gpa *ret) hv_must_use;
