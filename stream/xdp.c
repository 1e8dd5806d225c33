/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/xdp.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <xdp/xsk.h>

#include "base/clock.h"
#include "base/err.h"
#include "stream/inet.h"
#include "stream/redirect.h"

/* -- the sockets ------------------------------------------------------------------------------ */

/* An AF_XDP socket and its own packet memory. The memory consists of chunks; four rings pass their
 * ownership between kernel and process. */

#define HV_XSK_CHUNKS	   4096u
#define HV_XSK_CHUNK_BYTES 4096u
#define HV_XSK_RING_LEN	   2048u

struct xsk {
	struct xsk_umem *umem;	   /* owned */
	struct xsk_socket *socket; /* owned */
	uint8_t *area;		   /* owned; HV_XSK_CHUNKS chunks */
	struct xsk_ring_prod fill;
	struct xsk_ring_cons completion;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod tx;
};

enum xsk_use { HV_XSK_TAKES, HV_XSK_SENDS };

#define AREA_LEN ((size_t)HV_XSK_CHUNKS * HV_XSK_CHUNK_BYTES)

static struct hv_err *make_memory(struct xsk *x)
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
static void fill_all(struct xsk *x)
{
	uint32_t at;

	if (xsk_ring_prod__reserve(&x->fill, HV_XSK_CHUNKS, &at) != HV_XSK_CHUNKS)
		return;
	for (uint32_t i = 0; i < HV_XSK_CHUNKS; i++)
		*xsk_ring_prod__fill_addr(&x->fill, at + i) = (uint64_t)i * HV_XSK_CHUNK_BYTES;
	xsk_ring_prod__submit(&x->fill, HV_XSK_CHUNKS);
}

static struct hv_err *queue_failed(unsigned queue, int code)
{
	return hv_err_new(code, "AF_XDP socket at queue %u: %s", queue, strerror(code));
}

/* Opens a socket on QUEUE of device DEV. The kernel selects zero-copy or copy mode depending on the driver. */
static struct hv_err *xsk_open(struct xsk *x, const char *dev, unsigned queue, enum xsk_use use)
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
		return queue_failed(queue, -code);
	if (takes)
		fill_all(x);
	return NULL;
}

/* A zeroed X counts as closed. */
static void xsk_close(struct xsk *x)
{
	if (x->socket)
		xsk_socket__delete(x->socket);
	if (x->umem)
		xsk_umem__delete(x->umem);
	if (x->area)
		munmap(x->area, AREA_LEN);
	*x = (struct xsk){0};
}

static int xsk_fd(const struct xsk *x)
{
	return xsk_socket__fd(x->socket);
}

/* -- reception -------------------------------------------------------------------------------- */

/* Receives frames with an XDP program and AF_XDP sockets. A BPF link attaches the program, so the
 * kernel detaches it when this process exits for any reason. */

#define QUEUES_MAX 64
#define IN_BATCH   64
#define ROUNDS_MAX 32

/* The compiled redirect.bpf.c, embedded by scripts/embed. */
extern const uint8_t hv_redirect_object[];
extern const size_t hv_redirect_object_bytes;

struct xdp_in {
	struct hv_stream_in base; /* its fd is an epoll instance */
	struct bpf_object *object;
	struct bpf_link *link;
	struct xsk queues[QUEUES_MAX];
	unsigned nr_queues;
};

static void take_batch(struct xsk *x, struct hv_stream_collector *c, uint32_t rx, uint32_t fill,
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

static void take_queue(struct xsk *x, struct hv_stream_collector *c, uint64_t now_ns)
{
	uint32_t rx, fill, nr = IN_BATCH;

	for (unsigned round = 0; round < ROUNDS_MAX && nr; round++) {
		nr = xsk_ring_cons__peek(&x->rx, IN_BATCH, &rx);
		/* This always succeeds: the fill ring has room for all chunks. */
		if (nr && xsk_ring_prod__reserve(&x->fill, nr, &fill) == nr)
			take_batch(x, c, rx, fill, nr, now_ns);
	}
	if (xsk_ring_prod__needs_wakeup(&x->fill))
		recvfrom(xsk_fd(x), NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

static void in_take(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns)
{
	struct xdp_in *x = (struct xdp_in *)in;

	for (unsigned i = 0; i < x->nr_queues; i++)
		take_queue(&x->queues[i], c, now_ns);
}

static void in_free(struct hv_stream_in *in)
{
	struct xdp_in *x = (struct xdp_in *)in;

	bpf_link__destroy(x->link);
	for (unsigned i = 0; i < x->nr_queues; i++)
		xsk_close(&x->queues[i]);
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

static struct hv_err *load(struct xdp_in *x, const struct hv_stream_at *at)
{
	const struct hv_redirect_for r = redirect_for(at);
	struct bpf_map *data;
	int failed;

	libbpf_set_print(say_nothing);
	x->object = bpf_object__open_mem(hv_redirect_object, hv_redirect_object_bytes, NULL);
	if (!x->object)
		return hv_err_new(errno, "XDP program: %s", strerror(errno));
	data = bpf_object__find_map_by_name(x->object, ".rodata");
	failed = bpf_map__set_initial_value(data, &r, sizeof(r));
	assert(!failed); /* it is the program's only constant */
	if (bpf_object__load(x->object) != 0)
		return hv_err_new(errno, "XDP program: %s", strerror(errno));
	return NULL;
}

static struct hv_err *open_queue(struct xdp_in *x, const char *dev, uint32_t i)
{
	int map = bpf_object__find_map_fd_by_name(x->object, "sockets");
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
	struct hv_err *err;
	int fd;

	x->nr_queues = i + 1;
	err = xsk_open(&x->queues[i], dev, i, HV_XSK_TAKES);
	if (err)
		return err;
	fd = xsk_fd(&x->queues[i]);
	if (bpf_map_update_elem(map, &i, &fd, BPF_ANY) != 0 ||
	    epoll_ctl(x->base.fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return queue_failed(i, errno);
	return NULL;
}

/* Call this last, so that sockets exist when packets are redirected. */
static struct hv_err *attach(struct xdp_in *x, const char *dev)
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
	struct xdp_in *x;
	struct hv_err *err;
	unsigned nr_queues;

	if (strlen(dev) >= IFNAMSIZ || !if_nametoindex(dev))
		return hv_err_new(ENODEV, "no such network device");
	x = hv_alloc(sizeof(*x));
	x->base = (struct hv_stream_in){.take = in_take, .free = in_free};
	x->base.fd = epoll_create1(EPOLL_CLOEXEC);
	nr_queues = count_queues(dev);
	err = load(x, at);
	for (uint32_t i = 0; i < nr_queues && !err; i++)
		err = open_queue(x, dev, i);
	if (!err)
		err = attach(x, dev);
	if (err) {
		in_free(&x->base);
		return err;
	}
	*ret = &x->base;
	return NULL;
}

/* -- transmission ----------------------------------------------------------------------------- */

/* Sends frames as packets of an AF_XDP socket. Frames are built in the packet memory. The Ethernet
 * address of the collector comes from the kernel's ARP table. */

#define FRAME_OFF  64 /* offset of a frame in its chunk; the headers end there */
#define KICKS_MAX  256
#define OUT_BATCH  32
#define ROOM_MS	   100
#define ARP_TRIES  50
#define ARP_MS	   20
#define ARP_NS	   HV_NS_PER_S
#define DISCARD	   9 /* port for the datagram that makes the kernel resolve the neighbour */
#define IP_UDP_LEN 28

struct xdp_out {
	struct hv_stream_out base;
	struct xsk xsk;
	struct hv_stream_route route;
	char dev[IFNAMSIZ];
	int fd;				/* UDP socket for ioctls; reserves the source port */
	uint32_t chunks[HV_XSK_CHUNKS]; /* free chunks */
	uint32_t nr_free;
	uint32_t nr_sent; /* chunks that the kernel has not returned */
	uint64_t asked_ns;
};

static struct xdp_out *out_of(struct hv_stream_out *out)
{
	return (struct xdp_out *)out;
}

static void take_back(struct xdp_out *x)
{
	uint32_t at, nr = xsk_ring_cons__peek(&x->xsk.completion, HV_XSK_CHUNKS, &at);

	for (uint32_t i = 0; i < nr; i++)
		x->chunks[x->nr_free++] =
			(uint32_t)(*xsk_ring_cons__comp_addr(&x->xsk.completion, at + i) /
				   HV_XSK_CHUNK_BYTES);
	xsk_ring_cons__release(&x->xsk.completion, nr);
	x->nr_sent -= nr;
}

static bool has_unsent(struct xdp_out *x)
{
	return xsk_prod_nb_free(&x->xsk.tx, HV_XSK_RING_LEN) < HV_XSK_RING_LEN;
}

/* In copy mode, the kernel sends only a few packets per call. */
static void kick(struct xdp_out *x)
{
	for (unsigned i = 0; i < KICKS_MAX && has_unsent(x); i++) {
		if (sendto(xsk_fd(&x->xsk), NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EBUSY && errno != EINTR) {
			x->base.code = errno;
			break;
		}
		x->base.code = 0;
	}
	take_back(x);
}

static bool ask_neighbour(struct xdp_out *x)
{
	struct arpreq request = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&request.arp_pa;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = x->route.to;
	memcpy(request.arp_dev, x->dev, strlen(x->dev));
	x->asked_ns = hv_now_ns();
	if (ioctl(x->fd, SIOCGARP, &request) != 0 || !(request.arp_flags & ATF_COM))
		return false;
	memcpy(x->route.to_mac, request.arp_ha.sa_data, HV_STREAM_MAC_LEN);
	return true;
}

static void out_flush(struct hv_stream_out *out)
{
	struct xdp_out *x = out_of(out);

	kick(x);
	if (hv_now_ns() - x->asked_ns >= ARP_NS)
		ask_neighbour(x);
}

static uint8_t *out_room(struct hv_stream_out *out)
{
	struct xdp_out *x = out_of(out);
	struct pollfd p = {xsk_fd(&x->xsk), POLLOUT, 0};

	/* Keep one chunk free: it is the buffer for frames that are dropped. */
	if (x->nr_free <= 1)
		kick(x);
	if (x->nr_free <= 1 && poll(&p, 1, ROOM_MS) > 0)
		take_back(x);
	return x->xsk.area + (size_t)x->chunks[x->nr_free - 1] * HV_XSK_CHUNK_BYTES + FRAME_OFF;
}

/* Reserves an entry in the TX ring. Returns false if there is none, or only one free chunk. */
static bool reserve(struct xdp_out *x, uint32_t *ret_at)
{
	if (x->nr_free <= 1)
		return false;
	if (xsk_ring_prod__reserve(&x->xsk.tx, 1, ret_at) == 1)
		return true;
	kick(x);
	return xsk_ring_prod__reserve(&x->xsk.tx, 1, ret_at) == 1;
}

/* Remembers the index of the current chunk because kick() appends returned chunks to the list. */
static void out_put(struct hv_stream_out *out, size_t len_bytes)
{
	struct xdp_out *x = out_of(out);
	uint32_t index = x->nr_free - 1, chunk = x->chunks[index], at;
	uint64_t begin =
		(uint64_t)chunk * HV_XSK_CHUNK_BYTES + FRAME_OFF - HV_STREAM_V4_HEADERS_LEN;
	struct xdp_desc *d;

	if (!reserve(x, &at)) {
		out->nr_unsent++;
		return;
	}
	hv_stream_packet_write(x->xsk.area + begin, &x->route, len_bytes);
	d = xsk_ring_prod__tx_desc(&x->xsk.tx, at);
	*d = (struct xdp_desc){.addr = begin,
			       .len = (uint32_t)(HV_STREAM_V4_HEADERS_LEN + len_bytes)};
	xsk_ring_prod__submit(&x->xsk.tx, 1);
	x->chunks[index] = x->chunks[--x->nr_free];
	if (++x->nr_sent % OUT_BATCH == 0)
		kick(x);
}

static void out_drain(struct hv_stream_out *out)
{
	struct xdp_out *x = out_of(out);

	for (unsigned i = 0; i < ROOM_MS && x->nr_sent; i++) {
		kick(x);
		if (x->nr_sent)
			poll(NULL, 0, 1);
	}
}

static void out_free(struct hv_stream_out *out)
{
	struct xdp_out *x = out_of(out);

	xsk_close(&x->xsk);
	hv_close_at(&x->fd);
	free(x);
}

static const struct hv_stream_out_ops out_ops = {
	.room = out_room,
	.put = out_put,
	.flush = out_flush,
	.drain = out_drain,
	.free = out_free,
};

static struct hv_err *ask(struct xdp_out *x, unsigned long what, struct ifreq *ret)
{
	memcpy(ret->ifr_name, x->dev, sizeof(x->dev));
	if (ioctl(x->fd, what, ret) != 0)
		return hv_err_new(errno, "its addresses cannot be read: %s", strerror(errno));
	return NULL;
}

static uint32_t v4_of(const struct ifreq *r)
{
	return ((const struct sockaddr_in *)&r->ifr_addr)->sin_addr.s_addr;
}

/* Reads the addresses and the MTU of the device. Fails if the collector is on another network. */
static struct hv_err *find_link(struct xdp_out *x)
{
	struct ifreq mac = {0}, own = {0}, mask = {0}, mtu = {0};
	struct hv_err *err = ask(x, SIOCGIFHWADDR, &mac);

	if (!err && mac.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return hv_err_new(ENOTSUP, "not an Ethernet device");
	if (!err)
		err = ask(x, SIOCGIFADDR, &own);
	if (!err)
		err = ask(x, SIOCGIFNETMASK, &mask);
	if (!err)
		err = ask(x, SIOCGIFMTU, &mtu);
	if (err)
		return err;
	if ((v4_of(&own) ^ x->route.to) & v4_of(&mask) || v4_of(&own) == x->route.to)
		return hv_err_new(ENETUNREACH,
				  "the collector is not on the network of this device");
	if (x->base.want_bytes + IP_UDP_LEN > (size_t)mtu.ifr_mtu)
		x->base.want_bytes = x->base.max_bytes = (size_t)mtu.ifr_mtu - IP_UDP_LEN;
	memcpy(x->route.from_mac, mac.ifr_hwaddr.sa_data, HV_STREAM_MAC_LEN);
	x->route.from = v4_of(&own);
	return NULL;
}

/* Resolves the Ethernet address of the collector: a datagram to the discard port makes the kernel
 * send ARP. */
static struct hv_err *find_neighbour(struct xdp_out *x)
{
	struct sockaddr_in discard = {.sin_family = AF_INET, .sin_port = htons(DISCARD)};

	discard.sin_addr.s_addr = x->route.to;
	sendto(x->fd, "", 0, MSG_DONTWAIT, (struct sockaddr *)&discard, sizeof(discard));
	for (unsigned i = 0; i < ARP_TRIES; i++) {
		if (ask_neighbour(x))
			return NULL;
		poll(NULL, 0, ARP_MS);
	}
	return hv_err_new(EHOSTUNREACH, "the collector does not reply to ARP");
}

/* Reserves a source port by keeping a UDP socket bound to it. */
static struct hv_err *find_port(struct xdp_out *x)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	socklen_t len = sizeof(own);

	x->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (x->fd < 0 || bind(x->fd, (struct sockaddr *)&own, len) != 0 ||
	    getsockname(x->fd, (struct sockaddr *)&own, &len) != 0)
		return hv_err_new(errno, "no source port can be reserved: %s", strerror(errno));
	x->route.from_port = own.sin_port;
	return NULL;
}

static struct hv_err *open_all(struct xdp_out *x, const char *dev,
			       const struct hv_stream_target *to)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&to->addr;
	struct hv_err *err;

	if (strlen(dev) >= IFNAMSIZ || !if_nametoindex(dev))
		return hv_err_new(ENODEV, "no such network device");
	if (to->addr.ss_family != AF_INET)
		return hv_err_new(ENOTSUP, "the collector has no IPv4 address");
	memcpy(x->dev, dev, strlen(dev));
	x->route.to = in->sin_addr.s_addr;
	x->route.to_port = in->sin_port;
	err = find_port(x);
	if (!err)
		err = find_link(x);
	if (!err)
		err = find_neighbour(x);
	return err ? err : xsk_open(&x->xsk, dev, 0, HV_XSK_SENDS);
}

struct hv_err *hv_stream_out_xdp(const char *dev, const struct hv_stream_target *to,
				 struct hv_stream_out **ret)
{
	struct xdp_out *x = hv_alloc(sizeof(*x));
	size_t most = HV_XSK_CHUNK_BYTES - FRAME_OFF, want = to->mtu - IP_UDP_LEN;
	struct hv_err *err;

	x->fd = -1;
	x->base = (struct hv_stream_out){.ops = &out_ops};
	x->base.want_bytes = x->base.max_bytes = want < most ? want : most;
	err = open_all(x, dev, to);
	if (err) {
		out_free(&x->base);
		return err;
	}
	for (uint32_t i = 0; i < HV_XSK_CHUNKS; i++)
		x->chunks[x->nr_free++] = i;
	*ret = &x->base;
	return NULL;
}
