/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/xsk.h"

#include <string.h>
#include <sys/mman.h>

#define AREA_LEN ((size_t)HV_XSK_CHUNKS * HV_XSK_CHUNK_BYTES)

static struct hv_err *make_memory(struct hv_xsk *x)
{
	const struct xsk_umem_config config = {
		.fill_size = HV_XSK_CHUNKS,
		.comp_size = HV_XSK_CHUNKS,
		.frame_size = HV_XSK_CHUNK_BYTES,
	};
	void *area =
		mmap(NULL, AREA_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int code;

	if (area == MAP_FAILED)
		return hv_err_new(errno, "memory of an AF_XDP socket: %s", strerror(errno));
	x->area = area;
	code = xsk_umem__create(&x->umem, area, AREA_LEN, &x->fill, &x->completion, &config);
	if (code)
		return hv_err_new(-code, "memory of an AF_XDP socket: %s", strerror(-code));
	return NULL;
}

/* Gives all chunks to the kernel for reception. */
static void fill_all(struct hv_xsk *x)
{
	uint32_t at;

	if (xsk_ring_prod__reserve(&x->fill, HV_XSK_CHUNKS, &at) != HV_XSK_CHUNKS)
		return;
	for (uint32_t i = 0; i < HV_XSK_CHUNKS; i++)
		*xsk_ring_prod__fill_addr(&x->fill, at + i) = (uint64_t)i * HV_XSK_CHUNK_BYTES;
	xsk_ring_prod__submit(&x->fill, HV_XSK_CHUNKS);
}

/* The kernel selects zero-copy or copy mode depending on the driver. */
struct hv_err *hv_xsk_open(struct hv_xsk *x, const char *dev, unsigned queue, enum hv_xsk_use use)
{
	const struct xsk_socket_config config = {
		.rx_size = HV_XSK_CHUNKS,
		.tx_size = HV_XSK_RING_LEN,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_USE_NEED_WAKEUP,
	};
	bool takes = use == HV_XSK_TAKES;
	struct hv_err *err = make_memory(x);
	int code;

	if (err)
		return err;
	code = xsk_socket__create(&x->socket, dev, queue, x->umem, takes ? &x->rx : NULL,
				  takes ? NULL : &x->tx, &config);
	if (code)
		return hv_err_new(-code, "AF_XDP socket at queue %u: %s", queue, strerror(-code));
	if (takes)
		fill_all(x);
	return NULL;
}

void hv_xsk_close(struct hv_xsk *x)
{
	if (x->socket)
		xsk_socket__delete(x->socket);
	if (x->umem)
		xsk_umem__delete(x->umem);
	if (x->area)
		munmap(x->area, AREA_LEN);
	*x = (struct hv_xsk){0};
}

int hv_xsk_fd(const struct hv_xsk *x)
{
	return xsk_socket__fd(x->socket);
}
