#ifndef ISOD_VIEW_PATH_PEM_H
#define ISOD_VIEW_PATH_PEM_H
/*
 * Does a PEM file (RFC 7468) hold only what is public? Certificates lie in many repositories, as keys do, and both are
 * called *.pem. Pure, no allocation, linear in len; the bytes may be anything.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * text: the whole file. True: at least one block, each a certificate, a request for one, a list of revoked ones, a
 * public key or parameters, with base64 and nothing else in it; between them words for people, but none about a private
 * key and nothing that looks like one. False in doubt.
 */
bool path_pem_is_public(const char *text, size_t len);

#endif
