#ifndef ISOD_PROXY_LISTEN_H
#define ISOD_PROXY_LISTEN_H
#include <stdint.h>

#include "base/error.h"

/* Listens on 127.0.0.1 and, where the machine has IPv6, on ::1: *ret_v6 is -1 otherwise. port 0: any; *ret_port is the
 * one of both. 0 or -errno with *e. */
int proxy_listen(uint16_t port, int *ret_v4, int *ret_v6, uint16_t *ret_port, struct error *e);

#endif
