/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The XDP program of a collector. It redirects UDP datagrams for the collector's port to the AF_XDP
 * socket of the queue they arrived on. Everything else passes to the kernel: other traffic,
 * fragments, packets with IP options or VLAN tags, and packets on queues without a socket. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "redirect.h"

#define QUEUES_MAX    64
#define FRAGMENT_BITS 0x3fff /* the MF flag and the fragment offset */

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

const volatile struct hv_redirect_for redirect_for = {};

static __always_inline int is_our_address(const void *address, unsigned family)
{
	const unsigned char *bytes = address;
	unsigned len = family == 4 ? 4 : 16;

	if (!redirect_for.family)
		return 1;
	if (redirect_for.family != family)
		return 0;
#pragma unroll
	for (unsigned i = 0; i < 16; i++)
		if (i < len && bytes[i] != redirect_for.address[i])
			return 0;
	return 1;
}

static __always_inline int is_our_port(const struct udphdr *udp, const void *end)
{
	return (const void *)(udp + 1) <= end && udp->dest == redirect_for.port;
}

static __always_inline int is_our_v4(const struct iphdr *ip, const void *end)
{
	return (const void *)(ip + 1) <= end && ip->version == 4 && ip->ihl == 5 &&
	       ip->protocol == IPPROTO_UDP && !(ip->frag_off & bpf_htons(FRAGMENT_BITS)) &&
	       is_our_address(&ip->daddr, 4) && is_our_port((const void *)(ip + 1), end);
}

static __always_inline int is_our_v6(const struct ipv6hdr *ip, const void *end)
{
	return (const void *)(ip + 1) <= end && ip->version == 6 && ip->nexthdr == IPPROTO_UDP &&
	       is_our_address(&ip->daddr, 6) && is_our_port((const void *)(ip + 1), end);
}

SEC("xdp")
int redirect(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data;
	const void *end = (const void *)(long)ctx->data_end;
	const struct ethhdr *eth = data;
	int is_ours = 0;

	if ((const void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		is_ours = is_our_v4((const void *)(eth + 1), end);
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		is_ours = is_our_v6((const void *)(eth + 1), end);
	if (!is_ours)
		return XDP_PASS;
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char redirect_license[] SEC("license") = "GPL";
