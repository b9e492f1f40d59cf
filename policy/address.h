#ifndef ISOD_POLICY_ADDRESS_H
#define ISOD_POLICY_ADDRESS_H
/* Addresses as binary values only: no spelling is ever compared. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strict: dotted quad of decimal octets without leading zeros, or RFC 5952-parsable IPv6 without zone. Returns the
 * family AF_INET / AF_INET6, or -EINVAL. IPv4 uses the first 4 bytes, the rest is zero. */
int address_parse(const char *text, size_t len, uint8_t ret[16]);

/* Unwraps every embedding of IPv4 in IPv6 (mapped, compatible, NAT64 64:ff9b::/96, 64:ff9b:1::/48 (RFC 6052 /48 form),
 * 6to4, Teredo client) to the address that would really be reached; else copies. Returns the resulting family. */
int address_unwrap(int family, const uint8_t address[16], uint8_t ret[16]);

/* True for everything that is not ordinary global unicast, after unwrapping: unspecified, loopback, private, CGNAT,
 * link-local, site-local, ULA, benchmarking, documentation, multicast, broadcast, reserved, IETF protocol ranges.
 * 6to4, Teredo, ISATAP, IPv4-compatible and 64:ff9b:1::/48 are special whatever they hold; mapped and 64:ff9b::/96 are
 * what the IPv4 address inside is. */
bool address_is_special(int family, const uint8_t address[16]);

/* True where every address of the prefix (:: and ::1 apart) holds an IPv4 one, i.e. address_unwrap() changes it. */
bool address_prefix_is_embedded(int family, const uint8_t prefix[16], unsigned bits);

/* True where the whole prefix lies inside one special range: 10.1.0.0/16 does, 0.0.0.0/0 does not. Not unwrapped. */
bool address_prefix_is_special(int family, const uint8_t prefix[16], unsigned bits);

/* The first bits of address, the rest zero. */
void address_mask(int family, const uint8_t address[16], unsigned bits, uint8_t ret[16]);

bool address_in_prefix(int family, const uint8_t address[16], int prefix_family, const uint8_t prefix[16],
		       unsigned bits);

/* A prefix by which a network reaches IPv4 addresses, beside the well-known one (NAT64, RFC 6052). */
struct address_nat64 {
	uint8_t prefix[16];
	uint8_t bits;
};

/* address: of ipv4only.arpa, by the network's resolver (RFC 7050). False: it tells no prefix. */
bool address_nat64_learn(const uint8_t address[16], struct address_nat64 *ret);
/* The IPv4 address that this IPv6 address leads to, if it has the prefix. */
bool address_nat64_unwrap(const struct address_nat64 *nat64, const uint8_t address[16], uint8_t ret[16]);

/* Presentation form; ret has room for 64. */
const char *address_format(int family, const uint8_t address[16], char ret[64]);

#endif
