#include "daemon/linux/filter/nft_rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/wire/netns.h"

#define CHAIN_NAT "redirect"
#define CHAIN_FILTER "refuse"

/* Log lines and nflog messages of refused packets: enough to tell of each program, too few to fill a disk. */
#define LOG_PER_SECOND 20
#define LOG_BURST 60

/* nf_conntrack_common.h has the bits of `ct state` only for the kernel itself. */
#define CT_STATE_BIT(info) (1u << ((info) % IP_CT_IS_REPLY + 1))

/* One batch while it is written. Failures stick in .error, so that the ruleset below reads as a list. */
struct writer {
	struct mnl_nlmsg_batch *batch;
	struct nftnl_rule *rule;
	uint32_t sequence;
	int error;
};

static struct nlmsghdr *next_message(struct writer *w, uint16_t type, uint16_t flags)
{
	return nftnl_nlmsg_build_hdr(mnl_nlmsg_batch_current(w->batch), type, NFPROTO_INET, flags | NLM_F_ACK,
				     w->sequence++);
}

static void message_done(struct writer *w)
{
	/* False once the bytes pass the batch's limit. */
	if (!mnl_nlmsg_batch_next(w->batch))
		w->error = -EMSGSIZE;
}

static struct nftnl_expr *expression(struct writer *w, const char *name)
{
	struct nftnl_expr *e = w->error < 0 ? NULL : nftnl_expr_alloc(name);

	if (!e && w->error == 0)
		w->error = -ENOMEM;
	return e;
}

static void set_u32(struct nftnl_expr *e, uint16_t attribute, uint32_t value)
{
	if (e)
		nftnl_expr_set_u32(e, attribute, value);
}

static void set_bytes(struct writer *w, struct nftnl_expr *e, uint16_t attribute, const void *data, uint32_t n)
{
	if (e && nftnl_expr_set(e, attribute, data, n) < 0)
		w->error = -ENOMEM;
}

static void add(struct writer *w, struct nftnl_expr *e)
{
	if (e)
		nftnl_rule_add_expr(w->rule, e);
}

static void compare(struct writer *w, uint32_t op, const void *data, uint32_t n)
{
	struct nftnl_expr *e = expression(w, "cmp");

	set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	set_u32(e, NFTNL_EXPR_CMP_OP, op);
	set_bytes(w, e, NFTNL_EXPR_CMP_DATA, data, n);
	add(w, e);
}

static void match_meta_u8(struct writer *w, uint32_t key, uint8_t value)
{
	struct nftnl_expr *e = expression(w, "meta");

	set_u32(e, NFTNL_EXPR_META_KEY, key);
	set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
	add(w, e);
	compare(w, NFT_CMP_EQ, &value, sizeof(value));
}

static void load_payload(struct writer *w, uint32_t base, uint32_t offset, uint32_t n)
{
	struct nftnl_expr *e = expression(w, "payload");

	set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
	set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
	set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, n);
	add(w, e);
}

static void mask(struct writer *w, const void *keep, uint32_t n)
{
	static const uint8_t zero[16];
	struct nftnl_expr *e = expression(w, "bitwise");

	set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	set_u32(e, NFTNL_EXPR_BITWISE_LEN, n);
	set_bytes(w, e, NFTNL_EXPR_BITWISE_MASK, keep, n);
	set_bytes(w, e, NFTNL_EXPR_BITWISE_XOR, zero, n);
	add(w, e);
}

/* ip daddr 127.0.0.0/8 */
static void match_loopback_v4(struct writer *w)
{
	static const uint8_t net[1] = { 127 };

	match_meta_u8(w, NFT_META_NFPROTO, NFPROTO_IPV4);
	load_payload(w, NFT_PAYLOAD_NETWORK_HEADER, offsetof(struct iphdr, daddr), sizeof(net));
	compare(w, NFT_CMP_EQ, net, sizeof(net));
}

/* ip6 daddr ::1 */
static void match_loopback_v6(struct writer *w)
{
	match_meta_u8(w, NFT_META_NFPROTO, NFPROTO_IPV6);
	load_payload(w, NFT_PAYLOAD_NETWORK_HEADER, offsetof(struct ip6_hdr, ip6_dst), sizeof(in6addr_loopback));
	compare(w, NFT_CMP_EQ, &in6addr_loopback, sizeof(in6addr_loopback));
}

static void match_protocol(struct writer *w, uint8_t protocol)
{
	match_meta_u8(w, NFT_META_L4PROTO, protocol);
}

static void match_port(struct writer *w, uint16_t port)
{
	uint16_t wire = htons(port);

	load_payload(w, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof(wire));
	compare(w, NFT_CMP_EQ, &wire, sizeof(wire));
}

static void match_established_or_related(struct writer *w)
{
	static const uint32_t keep = CT_STATE_BIT(IP_CT_ESTABLISHED) | CT_STATE_BIT(IP_CT_RELATED);
	static const uint32_t none;
	struct nftnl_expr *e = expression(w, "ct");

	set_u32(e, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
	set_u32(e, NFTNL_EXPR_CT_DREG, NFT_REG_1);
	add(w, e);
	mask(w, &keep, sizeof(keep));
	compare(w, NFT_CMP_NEQ, &none, sizeof(none));
}

static void redirect_to(struct writer *w, uint16_t port)
{
	uint16_t wire = htons(port);
	struct nftnl_expr *e = expression(w, "immediate");

	set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
	set_bytes(w, e, NFTNL_EXPR_IMM_DATA, &wire, sizeof(wire));
	add(w, e);
	e = expression(w, "redir");
	set_u32(e, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
	add(w, e);
}

static void verdict(struct writer *w, int code)
{
	struct nftnl_expr *e = expression(w, "immediate");

	set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	set_u32(e, NFTNL_EXPR_IMM_VERDICT, (uint32_t)code);
	add(w, e);
}

static void limit_rate(struct writer *w)
{
	struct nftnl_expr *e = expression(w, "limit");

	if (!e)
		return;
	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_RATE, LOG_PER_SECOND);
	nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_UNIT, 1);
	set_u32(e, NFTNL_EXPR_LIMIT_BURST, LOG_BURST);
	set_u32(e, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
	add(w, e);
}

static void log_to_group(struct writer *w)
{
	struct nftnl_expr *e = expression(w, "log");

	if (e)
		nftnl_expr_set_u16(e, NFTNL_EXPR_LOG_GROUP, NETNS_NFLOG_GROUP);
	add(w, e);
}

static void reject_at_once(struct writer *w)
{
	struct nftnl_expr *e = expression(w, "counter");

	add(w, e);
	e = expression(w, "reject");
	set_u32(e, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	if (e)
		nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
	add(w, e);
}

static void begin_rule(struct writer *w, const char *chain)
{
	w->rule = w->error < 0 ? NULL : nftnl_rule_alloc();
	if (!w->rule) {
		w->error = w->error < 0 ? w->error : -ENOMEM;
		return;
	}
	nftnl_rule_set_u32(w->rule, NFTNL_RULE_FAMILY, NFPROTO_INET);
	if (nftnl_rule_set_str(w->rule, NFTNL_RULE_TABLE, NETNS_TABLE) < 0 ||
	    nftnl_rule_set_str(w->rule, NFTNL_RULE_CHAIN, chain) < 0)
		w->error = -ENOMEM;
}

static void end_rule(struct writer *w)
{
	if (w->error == 0) {
		nftnl_rule_nlmsg_build_payload(next_message(w, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND), w->rule);
		message_done(w);
	}
	if (w->rule)
		nftnl_rule_free(w->rule);
	w->rule = NULL;
}

static void put_table(struct writer *w)
{
	struct nftnl_table *t = nftnl_table_alloc();

	if (!t || nftnl_table_set_str(t, NFTNL_TABLE_NAME, NETNS_TABLE) < 0) {
		w->error = -ENOMEM;
	} else {
		nftnl_table_set_u32(t, NFTNL_TABLE_FAMILY, NFPROTO_INET);
		nftnl_table_nlmsg_build_payload(next_message(w, NFT_MSG_NEWTABLE, NLM_F_CREATE), t);
		message_done(w);
	}
	if (t)
		nftnl_table_free(t);
}

static void put_chain(struct writer *w, const char *name, const char *type, int32_t priority, uint32_t policy)
{
	struct nftnl_chain *c = nftnl_chain_alloc();

	if (!c || nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, NETNS_TABLE) < 0 ||
	    nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name) < 0 || nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, type) < 0) {
		w->error = -ENOMEM;
	} else {
		nftnl_chain_set_u32(c, NFTNL_CHAIN_FAMILY, NFPROTO_INET);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
		nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, priority);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, policy);
		nftnl_chain_nlmsg_build_payload(next_message(w, NFT_MSG_NEWCHAIN, NLM_F_CREATE), c);
		message_done(w);
	}
	if (c)
		nftnl_chain_free(c);
}

/* The first packet of a connection decides where all of it goes; what is for loopback stays with the program's own. */
static void put_redirects(struct writer *w)
{
	static const uint8_t dns_over[] = { IPPROTO_UDP, IPPROTO_TCP };

	begin_rule(w, CHAIN_NAT);
	match_loopback_v4(w);
	verdict(w, NFT_RETURN);
	end_rule(w);
	begin_rule(w, CHAIN_NAT);
	match_loopback_v6(w);
	verdict(w, NFT_RETURN);
	end_rule(w);
	for (size_t i = 0; i < ARRAY_SIZE(dns_over); i++) {
		begin_rule(w, CHAIN_NAT);
		match_protocol(w, dns_over[i]);
		match_port(w, 53);
		redirect_to(w, NETNS_DNS_PORT);
		end_rule(w);
	}
	begin_rule(w, CHAIN_NAT);
	match_protocol(w, IPPROTO_TCP);
	redirect_to(w, NETNS_CAPTURE_PORT);
	end_rule(w);
}

/* Replies of the gateway come from the address that the program dialled, so they are told by their connection. */
static void put_refusals(struct writer *w)
{
	begin_rule(w, CHAIN_FILTER);
	match_established_or_related(w);
	verdict(w, NF_ACCEPT);
	end_rule(w);
	begin_rule(w, CHAIN_FILTER);
	match_loopback_v4(w);
	verdict(w, NF_ACCEPT);
	end_rule(w);
	begin_rule(w, CHAIN_FILTER);
	match_loopback_v6(w);
	verdict(w, NF_ACCEPT);
	end_rule(w);
	begin_rule(w, CHAIN_FILTER);
	limit_rate(w);
	log_to_group(w);
	end_rule(w);
	begin_rule(w, CHAIN_FILTER);
	reject_at_once(w);
	end_rule(w);
}

static void put_ruleset(struct writer *w)
{
	nftnl_batch_begin(mnl_nlmsg_batch_current(w->batch), w->sequence++);
	message_done(w);
	put_table(w);
	put_chain(w, CHAIN_NAT, "nat", NF_IP_PRI_NAT_DST, NF_ACCEPT);
	put_chain(w, CHAIN_FILTER, "filter", NF_IP_PRI_FILTER, NF_DROP);
	put_redirects(w);
	put_refusals(w);
	nftnl_batch_end(mnl_nlmsg_batch_current(w->batch), w->sequence++);
	message_done(w);
}

int nft_rules_build(struct buffer *ret)
{
	/* libmnl wants room for one more message behind the limit. */
	_cleanup_free_ char *space = calloc(2, NFT_RULES_MAX);
	struct writer w = { 0 };
	int r;

	if (!space)
		return -ENOMEM;
	w.batch = mnl_nlmsg_batch_start(space, NFT_RULES_MAX);
	if (!w.batch)
		return -ENOMEM;
	put_ruleset(&w);
	r = w.error < 0 ? w.error : buffer_append(ret, space, mnl_nlmsg_batch_size(w.batch));
	mnl_nlmsg_batch_stop(w.batch);
	return r;
}
