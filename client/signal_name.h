#ifndef ISOD_CLIENT_SIGNAL_NAME_H
#define ISOD_CLIENT_SIGNAL_NAME_H

/* "TERM", "SIGTERM", "term", "15" -> 15; -EINVAL. */
int signal_name_parse(const char *text);

#endif
