/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends frames as packets of an AF_XDP socket. Frames are built in the packet memory. The Ethernet
 * address of the collector comes from the kernel's ARP table. */
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "stream/packet.h"
#include "stream/xdp.h"
#include "stream/xsk.h"

#define FRAME_OFF  64 /* offset of a frame in its chunk; the headers end there */
#define KICKS_MAX  256
#define BATCH	   32
#define ROOM_MS	   100
#define ARP_TRIES  50
#define ARP_MS	   20
#define ARP_NS	   HV_NS_PER_S
#define DISCARD	   9 /* port for the datagram that makes the kernel resolve the neighbour */
#define IP_UDP_LEN 28

struct xdp {
	struct hv_stream_out base;
	struct hv_xsk xsk;
	struct hv_stream_route route;
	char dev[IFNAMSIZ];
	int fd;				/* UDP socket for ioctls; reserves the source port */
	uint32_t chunks[HV_XSK_CHUNKS]; /* free chunks */
	uint32_t nr_free;
	uint32_t nr_sent; /* chunks that the kernel has not returned */
	uint64_t asked_ns;
};

static struct xdp *xdp_of(struct hv_stream_out *out)
{
	return (struct xdp *)out;
}

static void take_back(struct xdp *x)
{
	uint32_t at, nr = xsk_ring_cons__peek(&x->xsk.completion, HV_XSK_CHUNKS, &at);

	for (uint32_t i = 0; i < nr; i++)
		x->chunks[x->nr_free++] =
			(uint32_t)(*xsk_ring_cons__comp_addr(&x->xsk.completion, at + i) /
				   HV_XSK_CHUNK_BYTES);
	xsk_ring_cons__release(&x->xsk.completion, nr);
	x->nr_sent -= nr;
}

static bool has_unsent(struct xdp *x)
{
	return xsk_prod_nb_free(&x->xsk.tx, HV_XSK_RING_LEN) < HV_XSK_RING_LEN;
}

/* In copy mode, the kernel sends only a few packets per call. */
static void kick(struct xdp *x)
{
	for (unsigned i = 0; i < KICKS_MAX && has_unsent(x); i++) {
		if (sendto(hv_xsk_fd(&x->xsk), NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EBUSY && errno != EINTR) {
			x->base.code = errno;
			break;
		}
		x->base.code = 0;
	}
	take_back(x);
}

static bool ask_neighbour(struct xdp *x)
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

static void xdp_flush(struct hv_stream_out *out)
{
	struct xdp *x = xdp_of(out);

	kick(x);
	if (hv_now_ns() - x->asked_ns >= ARP_NS)
		ask_neighbour(x);
}

static uint8_t *xdp_room(struct hv_stream_out *out)
{
	struct xdp *x = xdp_of(out);
	struct pollfd p = {hv_xsk_fd(&x->xsk), POLLOUT, 0};

	/* Keep one chunk free: it is the buffer for frames that are dropped. */
	if (x->nr_free <= 1)
		kick(x);
	if (x->nr_free <= 1 && poll(&p, 1, ROOM_MS) > 0)
		take_back(x);
	return x->xsk.area + (size_t)x->chunks[x->nr_free - 1] * HV_XSK_CHUNK_BYTES + FRAME_OFF;
}

/* Reserves an entry in the TX ring. Returns false if there is none, or only one free chunk. */
static bool reserve(struct xdp *x, uint32_t *ret_at)
{
	if (x->nr_free <= 1)
		return false;
	if (xsk_ring_prod__reserve(&x->xsk.tx, 1, ret_at) == 1)
		return true;
	kick(x);
	return xsk_ring_prod__reserve(&x->xsk.tx, 1, ret_at) == 1;
}

/* Remembers the index of the current chunk because kick() appends returned chunks to the list. */
static void xdp_put(struct hv_stream_out *out, size_t len_bytes)
{
	struct xdp *x = xdp_of(out);
	uint32_t place = x->nr_free - 1, chunk = x->chunks[place], at;
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
	x->chunks[place] = x->chunks[--x->nr_free];
	if (++x->nr_sent % BATCH == 0)
		kick(x);
}

static void xdp_drain(struct hv_stream_out *out)
{
	struct xdp *x = xdp_of(out);

	for (unsigned i = 0; i < ROOM_MS && x->nr_sent; i++) {
		kick(x);
		if (x->nr_sent)
			poll(NULL, 0, 1);
	}
}

static void xdp_free(struct hv_stream_out *out)
{
	struct xdp *x = xdp_of(out);

	hv_xsk_close(&x->xsk);
	hv_close_at(&x->fd);
	free(x);
}

static const struct hv_stream_out_ops xdp_ops = {
	.room = xdp_room,
	.put = xdp_put,
	.flush = xdp_flush,
	.drain = xdp_drain,
	.free = xdp_free,
};

static struct hv_err *ask(struct xdp *x, unsigned long what, struct ifreq *ret)
{
	memcpy(ret->ifr_name, x->dev, sizeof(x->dev));
	if (ioctl(x->fd, what, ret) != 0)
		return hv_err_new(errno, "%s", strerror(errno));
	return NULL;
}

static uint32_t v4_of(const struct ifreq *r)
{
	return ((const struct sockaddr_in *)&r->ifr_addr)->sin_addr.s_addr;
}

/* Reads the addresses and the MTU of the device. Fails if the collector is on another network. */
static struct hv_err *find_link(struct xdp *x)
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
static struct hv_err *find_neighbour(struct xdp *x)
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
static struct hv_err *find_port(struct xdp *x)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	socklen_t len = sizeof(own);

	x->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (x->fd < 0 || bind(x->fd, (struct sockaddr *)&own, len) != 0 ||
	    getsockname(x->fd, (struct sockaddr *)&own, &len) != 0)
		return hv_err_new(errno, "%s", strerror(errno));
	x->route.from_port = own.sin_port;
	return NULL;
}

static struct hv_err *open_all(struct xdp *x, const char *dev, const struct hv_stream_target *to)
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
	return err ? err : hv_xsk_open(&x->xsk, dev, 0, HV_XSK_SENDS);
}

struct hv_err *hv_stream_out_xdp(const char *dev, const struct hv_stream_target *to,
				 struct hv_stream_out **ret)
{
	struct xdp *x = hv_alloc(sizeof(*x));
	size_t most = HV_XSK_CHUNK_BYTES - FRAME_OFF, want = to->mtu - IP_UDP_LEN;
	struct hv_err *err;

	x->fd = -1;
	x->base = (struct hv_stream_out){.ops = &xdp_ops};
	x->base.want_bytes = x->base.max_bytes = want < most ? want : most;
	err = open_all(x, dev, to);
	if (err) {
		xdp_free(&x->base);
		return err;
	}
	for (uint32_t i = 0; i < HV_XSK_CHUNKS; i++)
		x->chunks[x->nr_free++] = i;
	*ret = &x->base;
	return NULL;
}
