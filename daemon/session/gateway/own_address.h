#ifndef ISOD_SESSION_GATEWAY_OWN_ADDRESS_H
#define ISOD_SESSION_GATEWAY_OWN_ADDRESS_H
/* The machine's own addresses are no places of a session either, global ones included: what listens there trusts who
 * comes from the machine itself. */
#include <stdbool.h>
#include <stdint.h>

/* Would a packet to it stay on this machine? The kernel's routes are asked. True where they cannot be. */
bool own_address(int family, const uint8_t address[16]);

#endif
