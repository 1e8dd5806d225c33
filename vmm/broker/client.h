/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service's half of a guest: a guest whose operations are requests to the broker, and the RAM
 * that the service reads itself. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "vmm/guest.h"
#include "vmm/broker/wire.h"

/* -- readable RAM ------------------------------------------------------------------------------ */

/* Readable RAM: the guest's RAM that an unprivileged process can read without the broker. RAM that
 * is a file is mapped read-only. Other RAM is read through a file for the VMM's whole memory, from
 * which the sandbox's system-call filter allows only these reads (sandbox.h). The broker reads all
 * other RAM, and makes all writes. */

/* Limit for one read of the VMM's memory. The filter checks the length and the start of a read
 * separately, so it rejects reads that start less than this before the end of a part. */
#define HV_READABLE_BYTES_MAX 65536
/* The VMM's memory and the broker's socket have this descriptor number or a higher one, all other
 * files a lower one. So the filters can tell them apart by one comparison. */
#define HV_READABLE_FD_MIN    1000

struct hv_readable_part {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t off;
	const uint8_t *host; /* mapping of the RAM; NULL: it is at OFF of the VMM's memory */
};

struct hv_readable_ram {
	struct hv_readable_part list[HV_BROKER_RAM_MAX];
	size_t nr;
	int memory_fd; /* the VMM's memory, owned; -1: none */
};
#define HV_READABLE_RAM_NONE ((struct hv_readable_ram){.memory_fd = -1})

void hv_readable_ram_close(struct hv_readable_ram *r);

/* -- the guest --------------------------------------------------------------------------------- */

/* A guest as an unprivileged process sees it: it reads and changes the guest through requests to
 * the broker, the process at the other end of a socket (server.h). It maps only the region and
 * readable RAM. */

/* SOCKET is borrowed and must not be used elsewhere while a function of the guest runs. Errors are
 * those of hv_guest_open() in the broker. */
struct hv_err *hv_broker_client_guest(int socket, struct hv_guest **ret) hv_must_use;
/* Like hv_broker_client_guest(), for the broker of an hvtrace machine (minivm/minivm.h): the peer
 * on SOCKET is the VMM, which created the socket. The broker passes the guest's RAM files on to the
 * service. It answers hv_guest_tsc() from the host's debugfs, which the VMM may not read. NAME is
 * the guest's name and its id. Fails with EPROTO or E2BIG if the VMM describes an impossible guest.
 */
struct hv_err *hv_broker_client_machine(int socket, const char *name,
					struct hv_guest **ret) hv_must_use;
/* Returns the RAM of G, a guest of hv_broker_client_guest(), that the client reads itself. */
const struct hv_readable_ram *hv_broker_client_readable_ram(const struct hv_guest *g);
