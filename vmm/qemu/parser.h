/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser: a process without rights (base/confine.h) that reads what a VMM says. The VMM may
 * have been taken over by its guest, and its JSON and text are where it would attack. So the
 * process that reaches the guest asks the parser, and gets values of fixed size (facts.h). It must
 * not believe them: a parser that was taken over says what the VMM wants.
 *
 *                                  QMP socket
 *   privileged --questions--> parser ----------> VMM
 *       |      <---values----    |
 *       +--- libvirt's monitor <-+   commands and answers are relayed as text that nobody reads
 * there
 *
 * A parser that dies, answers late or out of form is killed: the question fails, and the next one
 * starts another parser. Leaves to others: comparing values with what the host's kernel says. */
#pragma once

#include <sys/types.h>

#include "arch/arch.h"
#include "vmm/qemu/facts.h"
#include "vmm/qemu/monitor.h"

struct hv_parser;

/* Takes RELAY, the way to the monitor: nothing that comes from there is read in this process. */
struct hv_parser *hv_parser_relay(struct hv_monitor *relay);
/* Connects to QMP on a unix socket. EXPECTED and RET_PEER: as of hv_unix_peer(), which looks at the
 * process before a byte is sent or taken. EBUSY: another client is connected. */
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

/* What libvirt itself says, if it has the monitor: as hv_monitor_is_paused_by_other(). */
bool hv_parser_is_paused_by_other(struct hv_parser *p);

/* Each asks what the function of its name in questions.h, ram_layout.h or pin.h does. Strings end
 * in a NUL, counts fit the room, enumerations have known values, RAM is ascending and does not
 * wrap. Nothing else is sure. ETIME, EPIPE, EPROTO: the parser did not answer. */
struct hv_err *hv_parser_kind(struct hv_parser *p, struct hv_vmm_kind *ret) hv_must_use;
struct hv_err *hv_parser_status(struct hv_parser *p, struct hv_vmm_status *ret) hv_must_use;
struct hv_err *hv_parser_migration(struct hv_parser *p, struct hv_vmm_migration *ret) hv_must_use;
struct hv_err *hv_parser_has_sev(struct hv_parser *p, bool *ret) hv_must_use;
/* The first MAX; *RET_NR counts all of them, of which there are at most HV_VCPUS_MAX. */
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
