#include "daemon/linux/net/launch_net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"

/* In every network namespace the first link is lo. */
#define LOOPBACK_INDEX 1

static int loopback_up(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	if (fd < 0)
		return -errno;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

/* ip route add local default dev lo */
static int route_all_local(int family)
{
	struct {
		struct nlmsghdr header;
		struct rtmsg route;
		struct rtattr attribute;
		uint32_t link;
	} message = {
		.header = { .nlmsg_len = sizeof(message),
			    .nlmsg_type = RTM_NEWROUTE,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
			    .nlmsg_seq = 1 },
		.route = { .rtm_family = (unsigned char)family,
			   .rtm_table = RT_TABLE_LOCAL,
			   .rtm_protocol = RTPROT_STATIC,
			   .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			   .rtm_type = RTN_LOCAL },
		.attribute = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF },
		.link = LOOPBACK_INDEX,
	};

	return launch_netlink_send(NETLINK_ROUTE, &message, sizeof(message), NULL);
}

static int write_sysctl(const struct launch *l, const char *path, const char *value)
{
	_cleanup_close_ int fd = openat(l->proc_fd, path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_full(fd, value, strlen(value));
}

int launch_net_loopback(struct launch *l, struct error *e)
{
	_cleanup_close_ int v6 = openat(l->proc_fd, "net/if_inet6", O_RDONLY | O_CLOEXEC);
	int r;

	if (v6 < 0)
		return launch_step_fail(e, EAFNOSUPPORT, "Boot without ipv6.disable=1.",
					"The kernel has no IPv6, which the sandbox's network needs.");
	/* A host that turns IPv6 off does so for new namespaces too; in this one it reaches nobody. */
	r = write_sysctl(l, "sys/net/ipv6/conf/lo/disable_ipv6", "0");
	if (r < 0)
		return r;
	r = loopback_up();
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "lo cannot be brought up: %s.", strerror(-r));
	r = route_all_local(AF_INET);
	if (r == 0)
		r = route_all_local(AF_INET6);
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "The route that keeps all packets inside cannot be made: %s.",
					strerror(-r));
	return 0;
}

int launch_net_sysctl(struct launch *l, struct error *e)
{
	int r = write_sysctl(l, "sys/net/ipv4/ip_unprivileged_port_start", "0");

	if (r < 0)
		return launch_step_fail(e, -r, NULL, "Ports below 1024 cannot be opened for use: %s.", strerror(-r));
	return 0;
}

int launch_net_ruleset(struct launch *l, struct error *e)
{
	unsigned index = 0;
	int r = launch_netlink_send(NETLINK_NETFILTER, l->ruleset, l->ruleset_len, &index);

	if (r < 0)
		return launch_step_fail(
			e, -r,
			"The kernel needs nf_tables with the inet family, nat, redirect, reject and nflog: "
			"try modprobe nf_tables nft_chain_nat nft_redir nft_reject_inet nft_log nfnetlink_log.",
			"The kernel refused the firewall rules of the session at message %u: %s.", index, strerror(-r));
	return 0;
}
