/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of the guest's kernel, which the service reads. */
#include <errno.h>
#include <string.h>

#include "lib/session.h"

#define PART_BYTES (64u << 10) /* other clients of the service wait for one part at most */

/* Asks for the bytes at ADDRESS. */
static struct hvt_error *ask(struct conn *c, enum wire_kind kind, uint64_t address, uint32_t arg,
			     struct wire_frame *ret)
{
	const struct wire_frame request = {.kind = (uint16_t)kind,
					   .arg = arg,
					   .data = {(const uint8_t *)&address, sizeof(address)}};

	return conn_call(c, &request, ret);
}

/* Reads at most LEN_BYTES, and at least one. */
static struct hvt_error *read_part(struct conn *c, uint64_t address, uint8_t *buffer,
				   size_t len_bytes, size_t *ret_bytes)
{
	uint32_t want = len_bytes < PART_BYTES ? (uint32_t)len_bytes : PART_BYTES;
	struct wire_frame reply;
	struct hvt_error *error = ask(c, WIRE_MEMORY, address, want, &reply);

	if (error)
		return error;
	if (!reply.data.len_bytes || reply.data.len_bytes > want)
		return error_new(EPROTO, "domain '%s': %zu bytes of memory in place of %u",
				 c->domain, reply.data.len_bytes, want);
	memcpy(buffer, reply.data.data, reply.data.len_bytes);
	*ret_bytes = reply.data.len_bytes;
	return NULL;
}

struct hvt_error *hvt_memory_read(struct hvt_session *session, uint64_t address, void *buffer,
				  size_t len_bytes, size_t *ret_bytes)
{
	struct hvt_error *error = session_check(session);
	size_t done = 0, nr = 0;

	if (ret_bytes)
		*ret_bytes = 0;
	if (!error && !buffer)
		error = error_null("buffer");
	if (!error && len_bytes && len_bytes - 1 > UINT64_MAX - address)
		error = error_new(EFAULT, "%zu bytes at 0x%llx end beyond the address space",
				  len_bytes, (unsigned long long)address);
	while (!error && done < len_bytes) {
		error = read_part(session->conn, address + done, (uint8_t *)buffer + done,
				  len_bytes - done, &nr);
		if (!error)
			done += nr;
	}
	if (ret_bytes)
		*ret_bytes = done;
	return error;
}

struct hvt_error *hvt_memory_of_cpu(struct hvt_session *session, uint64_t address, unsigned cpu,
				    uint64_t *ret)
{
	struct hvt_error *error = session_check(session);
	struct wire_frame reply;

	if (!error && !ret)
		error = error_null("ret");
	if (!error)
		error = ask(session->conn, WIRE_PERCPU, address, cpu, &reply);
	if (error)
		return error;
	if (reply.data.len_bytes != sizeof(*ret))
		return error_new(EPROTO, "domain '%s': an address of %zu bytes", session->domain,
				 reply.data.len_bytes);
	memcpy(ret, reply.data.data, sizeof(*ret));
	return NULL;
}
