/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receives frames with an XDP program and AF_XDP sockets. A BPF link attaches the program, so the
 * kernel detaches it when this process exits for any reason. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "stream/packet.h"
#include "stream/redirect.h"
#include "stream/xdp.h"
#include "stream/xsk.h"

#define QUEUES_MAX 64
#define BATCH	   64
#define ROUNDS_MAX 32

/* The compiled redirect.bpf.c, embedded by scripts/embed. */
extern const uint8_t hv_redirect_object[];
extern const size_t hv_redirect_object_bytes;

struct xdp {
	struct hv_stream_in base; /* its fd is an epoll instance */
	struct bpf_object *object;
	struct bpf_link *link;
	struct hv_xsk queues[QUEUES_MAX];
	unsigned nr_queues;
};

static void take_batch(struct hv_xsk *x, struct hv_stream_collector *c, uint32_t rx, uint32_t fill,
		       uint32_t nr, uint64_t now_ns)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&x->rx, rx + i);
		struct hv_span packet = {xsk_umem__get_data(x->area, d->addr), d->len};
		struct hv_stream_address from;
		struct hv_span frame;

		if (hv_stream_packet_read(packet, &from, &frame))
			hv_stream_collector_take(c, &from, frame, now_ns);
		*xsk_ring_prod__fill_addr(&x->fill, fill + i) =
			d->addr / HV_XSK_CHUNK_BYTES * HV_XSK_CHUNK_BYTES;
	}
	xsk_ring_cons__release(&x->rx, nr);
	xsk_ring_prod__submit(&x->fill, nr);
}

static void take_queue(struct hv_xsk *x, struct hv_stream_collector *c, uint64_t now_ns)
{
	uint32_t rx, fill, nr = BATCH;

	for (unsigned round = 0; round < ROUNDS_MAX && nr; round++) {
		nr = xsk_ring_cons__peek(&x->rx, BATCH, &rx);
		/* This always succeeds: the fill ring has room for all chunks. */
		if (nr && xsk_ring_prod__reserve(&x->fill, nr, &fill) == nr)
			take_batch(x, c, rx, fill, nr, now_ns);
	}
	if (xsk_ring_prod__needs_wakeup(&x->fill))
		recvfrom(hv_xsk_fd(x), NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

static void xdp_take(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns)
{
	struct xdp *x = (struct xdp *)in;

	for (unsigned i = 0; i < x->nr_queues; i++)
		take_queue(&x->queues[i], c, now_ns);
}

static void xdp_free(struct hv_stream_in *in)
{
	struct xdp *x = (struct xdp *)in;

	bpf_link__destroy(x->link);
	for (unsigned i = 0; i < x->nr_queues; i++)
		hv_xsk_close(&x->queues[i]);
	bpf_object__close(x->object);
	hv_close_at(&in->fd);
	free(x);
}

/* Returns 1 for a device that does not report its queues. */
static unsigned count_queues(const char *dev)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq request = {.ifr_data = (char *)&channels};
	HV_AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned nr;

	memcpy(request.ifr_name, dev, strlen(dev));
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request) != 0)
		return 1;
	nr = channels.combined_count + channels.rx_count;
	return nr < 1 ? 1 : nr < QUEUES_MAX ? nr : QUEUES_MAX;
}

static struct hv_redirect_for redirect_for(const struct hv_stream_at *at)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at->addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at->addr;
	struct hv_redirect_for r = {.port = v4->sin_port};

	if (at->addr.ss_family == AF_INET && v4->sin_addr.s_addr != INADDR_ANY) {
		r.family = 4;
		memcpy(r.address, &v4->sin_addr, sizeof(v4->sin_addr));
	} else if (at->addr.ss_family == AF_INET6 && !IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)) {
		r.family = 6;
		memcpy(r.address, &v6->sin6_addr, sizeof(v6->sin6_addr));
	}
	return r;
}

/* Silences libbpf, which writes details to standard error. */
static int say_nothing(enum libbpf_print_level level hv_unused, const char *format hv_unused,
		       va_list args hv_unused)
{
	return 0;
}

static struct hv_err *load(struct xdp *x, const struct hv_stream_at *at)
{
	const struct hv_redirect_for r = redirect_for(at);
	struct bpf_map *data;

	libbpf_set_print(say_nothing);
	x->object = bpf_object__open_mem(hv_redirect_object, hv_redirect_object_bytes, NULL);
	if (!x->object)
		return hv_err_new(errno, "XDP program: %s", strerror(errno));
	data = bpf_object__find_map_by_name(x->object, ".rodata");
	if (!data || bpf_map__set_initial_value(data, &r, sizeof(r)) != 0)
		return hv_err_new(EINVAL, "XDP program: no variable for the port");
	if (bpf_object__load(x->object) != 0)
		return hv_err_new(errno, "XDP program: %s", strerror(errno));
	return NULL;
}

static struct hv_err *open_queue(struct xdp *x, const char *dev, uint32_t i)
{
	int map = bpf_object__find_map_fd_by_name(x->object, "sockets");
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
	struct hv_err *err;
	int fd;

	x->nr_queues = i + 1;
	err = hv_xsk_open(&x->queues[i], dev, i, HV_XSK_TAKES);
	if (err)
		return err;
	fd = hv_xsk_fd(&x->queues[i]);
	if (bpf_map_update_elem(map, &i, &fd, BPF_ANY) != 0 ||
	    epoll_ctl(x->base.fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return hv_err_new(errno, "AF_XDP socket at queue %u: %s", i, strerror(errno));
	return NULL;
}

/* Call this last, so that sockets exist when packets are redirected. */
static struct hv_err *attach(struct xdp *x, const char *dev)
{
	struct bpf_program *program = bpf_object__find_program_by_name(x->object, "redirect");

	x->link = bpf_program__attach_xdp(program, (int)if_nametoindex(dev));
	if (!x->link)
		return hv_err_new(errno, "XDP program: %s", strerror(errno));
	return NULL;
}

struct hv_err *hv_stream_in_xdp(const char *dev, const struct hv_stream_at *at,
				struct hv_stream_in **ret)
{
	struct xdp *x;
	struct hv_err *err;
	unsigned nr_queues;

	if (strlen(dev) >= IFNAMSIZ || !if_nametoindex(dev))
		return hv_err_new(ENODEV, "no such network device");
	x = hv_alloc(sizeof(*x));
	x->base = (struct hv_stream_in){.take = xdp_take, .free = xdp_free};
	x->base.fd = epoll_create1(EPOLL_CLOEXEC);
	nr_queues = count_queues(dev);
	err = load(x, at);
	for (uint32_t i = 0; i < nr_queues && !err; i++)
		err = open_queue(x, dev, i);
	if (!err)
		err = attach(x, dev);
	if (err) {
		xdp_free(&x->base);
		return err;
	}
	*ret = &x->base;
	return NULL;
}
