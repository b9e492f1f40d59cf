#include "daemon/launch/launch_report.h"

#include "base/fd.h"
#include "daemon/wire/report.h"

int launch_report_pid(int fd, pid_t pid)
{
	struct launch_report report = { .type = REPORT_PID1, .pid = pid };

	return fd_write_full(fd, &report, sizeof(report));
}

int launch_report_late(int fd, uint32_t key)
{
	struct launch_report report = { .type = REPORT_LATE, .pid = (int32_t)key };

	return fd_write_full(fd, &report, sizeof(report));
}

int launch_report_port(int fd, uint16_t host, uint16_t inside)
{
	struct launch_report report = { .type = REPORT_PORT, .host_port = host, .inside_port = inside };

	return fd_write_full(fd, &report, sizeof(report));
}

int launch_report_failed(int fd, const struct error *e)
{
	struct launch_report report = { .type = REPORT_FAILED, .error = *e };

	return fd_write_full(fd, &report, sizeof(report));
}
