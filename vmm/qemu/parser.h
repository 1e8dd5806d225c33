/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser: an unprivileged process (base/confine.h) that parses the VMM's answers.
 *
 * The guest may have taken over the VMM, which would attack through its JSON and text. So the
 * process that accesses the guest sends requests to the parser and receives values of fixed size
 * (facts.h). It must not trust them: a parser that was taken over returns the values that the VMM
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

#include <sys/types.h>

#include "arch/arch.h"
#include "vmm/qemu/facts.h"
#include "vmm/qemu/monitor.h"

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

/* Each requests the result of the function with its name in questions.h, ram_layout.h or pin.h.
 * Strings are NUL-terminated, counts fit the array, enumerations have known values, RAM is
 * ascending and does not wrap. Nothing else is checked. Fail with ETIME, EPIPE or EPROTO if the
 * parser did not answer. */
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
struct hv_err *hv_parser_place(struct hv_parser *p, unsigned phys_bits, uint64_t floor,
			       uint64_t len_bytes, struct hv_gpa *ret) hv_must_use;
