#ifndef ISOD_LAUNCH_REPORT_H
#define ISOD_LAUNCH_REPORT_H
/* What isod is told over the report pipe (daemon/wire/report.h). A reader that is gone is not an error here: whoever
 * needs isod alive finds out by the link and the parent's death. */
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* 0 or -errno. */
int launch_report_pid(int fd, pid_t pid);
int launch_report_late(int fd, uint32_t key);
int launch_report_port(int fd, uint16_t host, uint16_t inside);
int launch_report_failed(int fd, const struct error *e);

#endif
