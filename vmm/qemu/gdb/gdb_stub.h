/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client of QEMU's gdb stub on a unix socket. While the guest runs, the stub accepts only the
 * interrupt, which stops the guest. While the guest is stopped, the stub answers packets in order,
 * so that many can be sent before the first answer is read.
 *
 * Acknowledgements: QEMU drops an unacknowledged answer when the next packet begins (gdbstub.c
 * gdb_read_byte), so a stopped guest needs none. While the guest runs, any byte that QEMU does not
 * expect stops the guest, and QEMU ignores an interrupt while an answer waits for its
 * acknowledgement. So only the stop replies of a guest that another client stops are acknowledged.
 * guardian.h connects the socket and decides when to stop the guest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* -- packets ----------------------------------------------------------------------------------- */

/* Framing of gdb's remote serial protocol: `$payload#checksum`, escapes, run-length expansion (gdb
 * manual, appendix "GDB Remote Serial Protocol", section "Overview"). Pure: bytes in, packets out.
 * The caller interprets packets and acknowledges them. */

#define HV_RSP_PACKET_MAX_BYTES (1u << 20) /* limit for received packets, after expansion */

void hv_rsp_frame(struct hv_text *out, const char *payload, size_t len_bytes);

enum hv_rsp_next {
	HV_RSP_MORE,   /* more bytes are needed */
	HV_RSP_PACKET, /* PACKET contains one */
	HV_RSP_NAK,    /* the peer requests the last packet again */
	HV_RSP_BAD,    /* wrong checksum, expansion or size; the packet is skipped */
};

/* Zero-initialised is valid. */
struct hv_rsp_reader {
	struct hv_text in;     /* received but not consumed */
	size_t taken_bytes;    /* consumed bytes of IN */
	size_t scanned_bytes;  /* of the next packet, known not to contain its end */
	uint64_t nr_acks;      /* acknowledgements consumed */
	struct hv_text packet; /* the last packet's payload, expanded; valid until the next call */
};

void hv_rsp_feed(struct hv_rsp_reader *r, const void *bytes, size_t len_bytes);
/* Consumes the next item. Counts acknowledgements (+) before it. */
enum hv_rsp_next hv_rsp_next(struct hv_rsp_reader *r);
void hv_rsp_reader_deinit(struct hv_rsp_reader *r);

/* -- the connection ---------------------------------------------------------------------------- */

/* Conditions that end an exchange early. */
struct hv_gdb_limit {
	uint64_t deadline_ns;
	int hangup_fd; /* ends it when the peer closes; -1: none */
};

struct hv_gdb_stub {
	int fd;
	struct hv_rsp_reader in;
	size_t nr_unanswered; /* packets sent but not answered yet */
	size_t nr_late;	      /* earlier packets whose answers are discarded */
	size_t idle_bytes;    /* received since the guest was resumed */
	uint64_t looked_ns;   /* passed deadline for which the socket was checked once more */
	uint64_t nr_sent;     /* packets */
	bool was_stopped;     /* a stop reply came in an exchange: the guest was running */
};

/* NUL-terminated strings: the payloads of packets, or their answers. */
struct hv_packets {
	struct hv_text bytes;
	size_t nr;
};
void hv_packets_add(struct hv_packets *p, const char *payload);
void hv_packets_deinit(struct hv_packets *p);
/* Fails with EIO or EPROTO if not every packet was answered with "OK". */
struct hv_err *hv_packets_all_ok(const struct hv_packets *packets,
				 const struct hv_packets *answers) hv_must_use;
#define HV_AUTO_PACKETS hv_cleanup(hv_packets_deinit)

/* Takes FD. Connecting stops the guest; it is stopped on return. */
struct hv_err *hv_gdb_stub_open(int fd, struct hv_gdb_limit limit,
				struct hv_gdb_stub *ret) hv_must_use;
void hv_gdb_stub_close(struct hv_gdb_stub *s);

/* Stops a running guest. Fails with ECANCELED if LIMIT was reached; the stop may still follow. */
struct hv_err *hv_gdb_stub_interrupt(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Waits for the stop after an interrupt that ended with ECANCELED. */
struct hv_err *hv_gdb_stub_await_stop(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Sends PACKETS to a stopped guest and appends the answers. Fails with ECANCELED if LIMIT was
 * reached; then only complete packets were sent, and NR_UNANSWERED of them are not answered. */
struct hv_err *hv_gdb_stub_exchange(struct hv_gdb_stub *s, const struct hv_packets *packets,
				    struct hv_gdb_limit limit,
				    struct hv_packets *answers) hv_must_use;
/* Acknowledges the last answer, for a guest that will resume without hvtrace (a suspended one):
 * otherwise the stub would miss the next interrupt. Call this at most once per answer. */
struct hv_err *hv_gdb_stub_acknowledge(struct hv_gdb_stub *s,
				       struct hv_gdb_limit limit) hv_must_use;
/* Resumes the guest and discards outstanding answers, including later ones. On success the stub has
 * read the packet; fails with ECANCELED if it was sent, but not read within LIMIT. */
struct hv_err *hv_gdb_stub_continue(struct hv_gdb_stub *s, struct hv_gdb_limit limit) hv_must_use;
/* Waits until the stub has read all sent bytes: QEMU drops unread bytes when the socket is closed
 * (chardev/char-socket.c tcp_chr_hup). */
struct hv_err *hv_gdb_stub_await_taken(struct hv_gdb_stub *s,
				       struct hv_gdb_limit limit) hv_must_use;
/* Reads data that the stub sends while the guest runs. Fails with ECONNRESET if the VMM has closed
 * the connection, EPROTO if it sends more than stops by other clients can cause, or ECANCELED if it
 * does not read. */
struct hv_err *hv_gdb_stub_drain(struct hv_gdb_stub *s) hv_must_use;
