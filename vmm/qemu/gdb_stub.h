/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client of QEMU's gdb stub on a unix socket. While the guest runs, the stub accepts only the
 * interrupt, which stops the guest. While the guest is stopped, the stub answers packets in order,
 * so that many can be sent before the first answer is read.
 *
 * Acknowledgements: an answer that is not acknowledged is dropped by QEMU when the next packet
 * begins (gdbstub.c gdb_read_byte), so a stopped guest needs none. While the guest runs, any byte
 * that QEMU does not expect stops the guest, and QEMU does not see an interrupt while an answer
 * waits for its acknowledgement. So the stop replies of a guest that somebody else stops are
 * acknowledged, and nothing else is. Leaves to others: whose socket it is, when to stop the guest
 * (guardian.h). */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "vmm/qemu/rsp.h"

/* What ends an exchange before all is answered. */
struct hv_gdb_limit {
	uint64_t deadline_ns;
	int hangup_fd; /* ends it when the other end is closed; -1: none */
};

struct hv_gdb_stub {
	int fd;
	struct hv_rsp_reader in;
	size_t nr_unanswered; /* packets that were sent and not answered yet */
	size_t nr_late;	      /* earlier ones, whose answers nobody waits for any more */
	size_t idle_bytes;    /* that came since the guest was resumed */
	uint64_t looked_ns;   /* the last deadline after which the socket was looked at */
	uint64_t nr_sent;     /* packets */
	bool was_stopped;     /* a stop reply came in an exchange: the guest was running */
};

/* Strings one after the other, each with its NUL: the payloads of packets, or their answers. */
struct hv_packets {
	struct hv_text bytes;
	size_t nr;
};
void hv_packets_add(struct hv_packets *p, const char *payload);
void hv_packets_deinit(struct hv_packets *p);
/* EIO, EPROTO: not every packet was answered with "OK". */
struct hv_err *hv_packets_all_ok(const struct hv_packets *packets,
				 const struct hv_packets *answers) hv_must_use;
#define HV_AUTO_PACKETS hv_cleanup(hv_packets_deinit)

/* Takes FD. Connecting stops the guest, and it is stopped on return. */
struct hv_err *hv_gdb_stub_open(int fd, struct hv_gdb_limit limit,
				struct hv_gdb_stub *ret) hv_must_use;
void hv_gdb_stub_close(struct hv_gdb_stub *s);

/* Stops a running guest. ECANCELED: LIMIT came first, and the stop may still come. */
struct hv_err *hv_gdb_stub_interrupt(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Waits for the stop after an interrupt that ended with ECANCELED. */
struct hv_err *hv_gdb_stub_await_stop(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Sends PACKETS to a stopped guest and appends the answers. ECANCELED: LIMIT came first; a whole
 * number of packets was sent, and NR_UNANSWERED of them are not answered. */
struct hv_err *hv_gdb_stub_exchange(struct hv_gdb_stub *s, const struct hv_packets *packets,
				    struct hv_gdb_limit limit,
				    struct hv_packets *answers) hv_must_use;
/* Acknowledges the last answer, for a guest that will run again by itself (one that sleeps): the
 * stub would not see the next interrupt otherwise. To be called once for an answer. */
struct hv_err *hv_gdb_stub_acknowledge(struct hv_gdb_stub *s,
				       struct hv_gdb_limit limit) hv_must_use;
/* Resumes the guest and drops outstanding answers, also those that come later. On return the stub
 * has read the packet; ECANCELED: it was sent, but not read within LIMIT. */
struct hv_err *hv_gdb_stub_continue(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Waits until the stub has read all that was sent: QEMU drops what it has not read when the socket
 * is closed (chardev/char-socket.c tcp_chr_hup). */
struct hv_err *hv_gdb_stub_await_taken(struct hv_gdb_stub *s,
				       struct hv_gdb_limit limit) hv_must_use;
/* Reads what the stub has sent while the guest runs. ECONNRESET: the VMM has closed the connection.
 * EPROTO: it sends more than a guest that somebody else stops can cause. ECANCELED: it does not
 * read. */
struct hv_err *hv_gdb_stub_drain(struct hv_gdb_stub *s) hv_must_use;
