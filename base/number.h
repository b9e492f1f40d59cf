#ifndef ISOD_BASE_NUMBER_H
#define ISOD_BASE_NUMBER_H
/* Strict parsing: the whole string, ASCII digits only, no sign, no blank, no leading '+', no overflow.
 * All return 0 or -EINVAL / -ERANGE and leave the output alone on failure. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int number_parse_u64(const char *text, uint64_t max, uint64_t *ret);
/* Same over counted bytes that need not be terminated. */
int number_parse_bytes_u64(const char *text, size_t len, uint64_t max, uint64_t *ret);
/* 1..65535 */
int number_parse_port(const char *text, size_t len, uint16_t *ret);
/* "8G", "512M", "64k", "1024": bytes; K M G T are powers of 1024, either case. */
int number_parse_size(const char *text, uint64_t *ret);
/* "12h", "30m", "45s", "2d", "90": seconds. */
int number_parse_duration(const char *text, uint64_t *ret);

#endif
