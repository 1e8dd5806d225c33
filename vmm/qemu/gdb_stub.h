/* A client of QEMU's gdb stub on a unix socket. The stub knows two states: the machine runs, and
 * the only thing to say is the interrupt; or it stands, and packets are answered in order, so that
 * many can be on their way.
 *
 * Acknowledgements: QEMU (gdbstub.c gdb_read_byte) drops an answer that was not acknowledged when
 * the next packet begins, so a standing machine needs none; but *any* byte that it does not expect
 * stops a running one, and while an answer is not acknowledged it does not see the interrupt. So:
 * stop replies of a machine that somebody else stops are acknowledged, nothing else is. Leaves to
 * others: whose socket it is, when to stop the machine (guardian.h). */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "vmm/qemu/rsp.h"

/* What may end an exchange before its time. */
struct hv_gdb_limit {
	uint64_t deadline_ns;
	int hangup_fd; /* becomes a hangup; -1: none */
};

struct hv_gdb_stub {
	int fd;
	struct hv_rsp_reader in;
	size_t nr_unanswered; /* packets sent whose answer has not come */
	uint64_t nr_sent;     /* packets */
	bool was_stopped;     /* a stop reply came in an exchange: the machine ran when it began */
};

/* Strings end to end, each with its NUL: packets' payloads, or their answers. */
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

/* Connecting stops the machine, and it stands on return. FD is taken. */
struct hv_err *hv_gdb_stub_open(int fd, struct hv_gdb_limit limit,
				struct hv_gdb_stub *ret) hv_must_use;
void hv_gdb_stub_close(struct hv_gdb_stub *s);

/* Stops a running machine. */
struct hv_err *hv_gdb_stub_interrupt(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* The stop that an interrupt which ended with ECANCELED asked for. */
struct hv_err *hv_gdb_stub_await_stop(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Sends PACKETS (to a standing machine) and appends the answers. ECANCELED when LIMIT came first: a
 * whole number of packets was sent, NR_UNANSWERED says how many answers are outstanding. */
struct hv_err *hv_gdb_stub_exchange(struct hv_gdb_stub *s, const struct hv_packets *packets,
				    struct hv_gdb_limit limit,
				    struct hv_packets *answers) hv_must_use;
/* Of a machine that will go on by itself: the last answer is acknowledged, as the stub would not
 * see the next interrupt. Not twice for one answer. */
struct hv_err *hv_gdb_stub_acknowledge(struct hv_gdb_stub *s,
				       struct hv_gdb_limit limit) hv_must_use;
/* Lets the machine run; outstanding answers are dropped. On return the stub has taken the packet;
 * ECANCELED: it is sent, but not taken within LIMIT. */
struct hv_err *hv_gdb_stub_continue(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Until all that was sent is taken: what QEMU has not read when the socket closes is lost
 * (chardev/char-socket.c tcp_chr_hup). */
struct hv_err *hv_gdb_stub_await_taken(struct hv_gdb_stub *s,
				       struct hv_gdb_limit limit) hv_must_use;
/* Takes what came while the machine runs. ECONNRESET: the VMM is gone. */
struct hv_err *hv_gdb_stub_drain(struct hv_gdb_stub *s) hv_must_use;
