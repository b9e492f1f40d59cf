#include "daemon/linux/probe/probe_late.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/fanotify.h>

#include "base/cleanup.h"
#include "daemon/wire/late.h"

void probe_late(uint32_t *ret_way, uint32_t *ret_reason)
{
	_cleanup_close_ int group =
		fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_REPORT_TID, O_RDONLY | O_CLOEXEC);
	int failed = 0;

	/* Of a folder itself, which is not asked about without FAN_ONDIR: nobody waits for an answer. Without
	 * CONFIG_FANOTIFY_ACCESS_PERMISSIONS it is EINVAL. */
	if (group < 0 || fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_OPEN_PERM, AT_FDCWD, "/") < 0)
		failed = errno;
	*ret_way = failed ? LATE_WAY_NONE : LATE_WAY_FANOTIFY;
	switch (failed) {
	case 0:
		*ret_reason = LATE_REASON_NONE;
		break;
	case ENOSYS:
	case EINVAL:
		*ret_reason = LATE_REASON_KERNEL;
		break;
	case EMFILE:
		*ret_reason = LATE_REASON_LIMIT;
		break;
	default:
		*ret_reason = LATE_REASON_FAILED;
	}
}
