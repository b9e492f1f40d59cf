#include "daemon/linux/watch/launch_watch_event.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "daemon/linux/watch/launch_watch_folder.h"

#ifndef FAN_REPORT_TARGET_FID
#define FAN_REPORT_TARGET_FID 0x00001000
#endif

int launch_watch_event_group(void)
{
	const unsigned flags =
		FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_REPORT_DFID_NAME;
	int fd = fanotify_init(flags | FAN_REPORT_FID | FAN_REPORT_TARGET_FID, 0);

	if (fd < 0 && errno == EINVAL)
		fd = fanotify_init(flags, 0);
	return fd < 0 ? -errno : fd;
}

/* Kernels count the fixed part of each event alone. */
unsigned launch_watch_event_waiting(int group)
{
	int bytes = 0;

	if (group < 0 || ioctl(group, FIONREAD, &bytes) < 0 || bytes <= 0)
		return 0;
	return (unsigned)bytes / FAN_EVENT_METADATA_LEN;
}

/* One record: of a folder with a name, or of a file. */
static void read_record(const struct fanotify_event_info_header *header, struct launch_watch_event *ret)
{
	const struct fanotify_event_info_fid *info = (const void *)header;
	const struct file_handle *handle = (const void *)info->handle;
	uint64_t key;

	if (header->len < sizeof(*info) + sizeof(*handle))
		return;
	key = launch_watch_folder_key(&info->fsid, sizeof(info->fsid), handle->handle_type, handle->f_handle,
				      handle->handle_bytes);
	if (header->info_type == FAN_EVENT_INFO_TYPE_DFID_NAME) {
		ret->folder = key;
		ret->name = (const char *)handle->f_handle + handle->handle_bytes;
	} else if (header->info_type == FAN_EVENT_INFO_TYPE_FID && handle->handle_bytes > 0) {
		ret->file = key;
		ret->has_file = true;
	}
}

bool launch_watch_event_next(struct launch_watch_events *events, struct fanotify_event_metadata *ret,
			     const char **ret_event)
{
	if (events->left < sizeof(*ret))
		return false;
	memcpy(ret, events->at, sizeof(*ret));
	if (ret->event_len < sizeof(*ret) || ret->event_len > events->left || ret->metadata_len > ret->event_len)
		return false;
	*ret_event = events->at;
	events->at += ret->event_len;
	events->left -= ret->event_len;
	return true;
}

bool launch_watch_event_read(const char *event, const struct fanotify_event_metadata *head,
			     struct launch_watch_event *ret)
{
	const char *at = event + head->metadata_len, *end = event + head->event_len;

	*ret = (struct launch_watch_event){ .name = NULL };
	while (end - at >= (ptrdiff_t)sizeof(struct fanotify_event_info_header)) {
		const struct fanotify_event_info_header *header = (const void *)at;

		if (header->len < sizeof(*header) || header->len > end - at)
			break;
		read_record(header, ret);
		at += header->len;
	}
	return ret->name != NULL;
}
