#include "daemon/linux/watch/launch_late.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/watch/launch_guard.h"
#include "daemon/linux/view/launch_lack.h"
#include "daemon/linux/watch/launch_late_folder.h"
#include "daemon/linux/watch/launch_late_mounts.h"
#include "daemon/linux/watch/launch_late_report.h"
#include "daemon/linux/watch/launch_late_secret.h"
#include "daemon/linux/watch/launch_late_task.h"
#include "daemon/linux/view/launch_link.h"
#include "daemon/linux/view/launch_mountinfo.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/launch/launch_spawn.h"
#include "daemon/linux/view/launch_target.h"
#include "daemon/linux/watch/launch_watch.h"
#include "daemon/linux/watch/launch_watch_event.h"
#include "view/path_token.h"

/* Opens answered in one turn of the loop, so that a flood of them keeps neither the link nor SIGCHLD waiting. */
#define TURN_MAX 64
#define DELETED " (deleted)"

struct launch_late {
	int opens;    /* fanotify group of the questions, -1 = none */
	int proc_fds; /* /proc/self/fd */
	uint32_t way; /* enum late_way, and why not better */
	uint32_t reason;
	unsigned n_concerned;           /* mounts of grants that a rule may be about */
	const struct path_rules *rules; /* of the plan */
	struct launch_watch *watch;
	struct launch_late_secrets *secrets;
	struct launch_late_folders folders;
	struct launch_late_report report;
};

static bool has_rules(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n_rules; i++)
		if (plan->rules[i].effect == PATH_DENY_READ || plan->rules[i].effect == PATH_DENY_WRITE)
			return true;
	return false;
}

static int raise_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, caps) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		caps[i].effective = caps[i].permitted;
	return syscall(SYS_capset, &header, caps) < 0 ? -errno : 0;
}

/* The kernel counts groups by user: the caller's count, so that nobody can use up what others need. -ENOTRECOVERABLE:
 * root's ids are not back, and nothing must go on. */
static int as_caller(const struct launch_context *c, int (*make)(void))
{
	int r;

	if (setresuid((uid_t)-1, c->uid, (uid_t)-1) < 0)
		return -errno;
	/* What the change took out of the effective set is still permitted. */
	r = raise_capabilities();
	if (r == 0)
		r = make();
	if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0 || launch_spawn_tie_again() < 0) {
		fd_close(r);
		return -ENOTRECOVERABLE;
	}
	return r;
}

/* O_NONBLOCK: the kernel opens each file for us, and must not wait until somebody inside gives up a lease on it. */
static int make_opens(void)
{
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_TID | FAN_UNLIMITED_QUEUE |
				       FAN_UNLIMITED_MARKS,
			       O_RDONLY | O_LARGEFILE | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_concerned(const struct launch *l, const struct launch_mountinfo *m)
{
	return m->device != l->covers_device && launch_target_is_granted(l, m->path) &&
	       (l->caseless || launch_late_mounts_concern(&l->plan, m->path));
}

static int count_mount(struct launch *l, const struct launch_mountinfo_list *list, const struct launch_mountinfo *m,
		       struct error *e)
{
	l->late->n_concerned += is_concerned(l, m);
	return 0;
}

/* By what is open, not by path: the host may rename folders on the way, and a mount without its mark would go
 * unguarded. Of a folder on NFS root is nobody, but the caller may read it. */
static int mark(struct launch *l, int place)
{
	char path[32];
	int r;

	snprintf(path, sizeof(path), "self/fd/%d", place);
	if (fanotify_mark(l->late->opens, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_PERM, l->proc_fd, path) == 0)
		return 0;
	if (errno != EACCES)
		return -errno;
	setfsuid(l->context->uid);
	r = fanotify_mark(l->late->opens, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_PERM, l->proc_fd, path) < 0 ? -errno
													      : 0;
	setfsuid(0);
	return setfsuid((uid_t)-1) == 0 ? r : -ENOTRECOVERABLE;
}

static int mark_mount(struct launch *l, const struct launch_mountinfo_list *list, const struct launch_mountinfo *m,
		      struct error *e)
{
	_cleanup_close_ int place = is_concerned(l, m) ? launch_mountinfo_open(l, list, m) : -ENOENT;

	/* Nobody gets there; or it is a cover in which mounts lie. */
	if (place == -ENOENT || (place >= 0 && launch_place_is_own(l, place)))
		return 0;
	return place < 0 ? place : mark(l, place);
}

static uint32_t reason_of(int err)
{
	switch (err) {
	case -ENOSYS:
	case -EINVAL:
		return LATE_REASON_KERNEL;
	case -EMFILE:
		return LATE_REASON_LIMIT;
	default:
		return LATE_REASON_FAILED;
	}
}

static int mark_all(struct launch *l, struct error *e)
{
	struct launch_late *late = l->late;
	int r = as_caller(l->context, make_opens);

	if (r < 0)
		return r;
	late->opens = r;
	r = 0;
	for (size_t i = 0; i < l->n_held && r == 0; i++)
		r = mark(l, l->held[i]);
	/* What is not our own: what the host has mounted below a grant, and copies of it in what was locked. */
	if (r == 0)
		r = launch_mountinfo_each(l, mark_mount, e);
	if (r < 0)
		return r;
	late->proc_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return late->proc_fds < 0 ? -errno : 0;
}

static int open_questions(struct launch *l, struct error *e)
{
	struct launch_late *late = l->late;
	struct error why = ERROR_INIT;
	int r = launch_mountinfo_each(l, count_mount, e);

	if (r < 0)
		return r;
	late->way = LATE_WAY_NO_NEED;
	if (late->n_concerned == 0)
		return 0;
	late->way = l->guard ? LATE_WAY_KERNEL : LATE_WAY_NONE;
	if (launch_guard_is_whole(l))
		return 0;
	/* The rest that the kernel's guard has no form for. */
	r = mark_all(l, &why);
	if (r < 0) {
		late->opens = fd_close(late->opens);
		late->reason = reason_of(r);
	} else if (l->plan.flags & PLAN_NESTING) {
		late->reason = LATE_REASON_NESTING;
	} else {
		late->way = l->guard ? LATE_WAY_KERNEL : LATE_WAY_FANOTIFY;
		l->late_guard = true;
	}
	/* Not for want of something in the kernel: somebody works against it. */
	if (r == -EAGAIN || r == -ENOTRECOVERABLE) {
		*e = why;
		return r;
	}
	return 0;
}

/* No secret can be read that appears later. */
static bool is_kept(const struct launch *l)
{
	const struct launch_late *late = l->late;

	/* What the kernel's guard has no form for is left to the questions, which nesting escapes. */
	if (late->way == LATE_WAY_KERNEL && !launch_guard_keeps_secrets(l))
		return late->opens >= 0 && late->reason == LATE_REASON_NONE;
	return late->way != LATE_WAY_NONE;
}

/* follows: what is renamed inside is known under its new name. */
static int require(struct launch *l, bool follows, struct error *e)
{
	static const char *const why[LATE_REASON_END] = {
		[LATE_REASON_NONE] = "nothing follows them to other names: you have no fanotify group left",
		[LATE_REASON_KERNEL] = "this kernel has no fanotify permission events",
		[LATE_REASON_NESTING] = "with process.nesting a mount namespace made inside escapes the guard",
		[LATE_REASON_LIMIT] = "you have as many fanotify groups as fs.fanotify.max_user_groups allows",
		[LATE_REASON_FAILED] = "the guard of a granted folder could not be set up",
	};
	const struct launch_late *late = l->late;

	if (!(l->plan.flags & PLAN_LATE_REQUIRED) || (is_kept(l) && (follows || late->opens < 0)))
		return 0;
	if (late->way == LATE_WAY_KERNEL)
		return launch_step_fail(e, EOPNOTSUPP, "Write the rule in another way, or set lateFiles to \"report\".",
					"The policy requires that secret files which appear later cannot be read, but "
					"the kernel's guard has no form for the rule %s, and %s.",
					launch_guard_first_left(l), why[late->reason]);
	return launch_step_fail(e, EOPNOTSUPP,
				late->reason == LATE_REASON_LIMIT || late->reason == LATE_REASON_NONE
					? "End sessions, or raise that number in /proc/sys."
					: "Take process.nesting away, or set lateFiles to "
					  "\"report\".",
				"The policy requires that secret files which appear later cannot be read, but %s.",
				why[late->reason]);
}

static int open_guard(struct launch *l, struct error *e)
{
	struct launch_late *late;
	int r, group;

	late = l->late = calloc(1, sizeof(*late));
	if (!late)
		return -ENOMEM;
	late->opens = late->proc_fds = -1;
	late->secrets = launch_late_secret_new();
	if (!late->secrets)
		return -ENOMEM;
	launch_late_report_init(&late->report, l->link_fd);
	late->rules = l->rules;
	late->folders.launch = l;
	late->folders.rules = late->rules;
	r = open_questions(l, e);
	if (r < 0)
		return r;
	/* Without it inotify serves, which does not say who, nor what. */
	group = as_caller(l->context, launch_watch_event_group);
	if (group == -ENOMEM || group == -ENOTRECOVERABLE)
		return group;
	r = require(l, group >= 0, e);
	return r < 0 ? r : launch_watch_new(group, &l->plan, late->rules, &late->report, late->secrets, &late->watch);
}

int launch_late_open(struct launch *l, struct error *e)
{
	int r = has_rules(&l->plan) ? open_guard(l, e) : 0;

	launch_place_release(l);
	return r;
}

int launch_late_begin(struct launch *l, struct error *e)
{
	struct launch_late *late = l->late;
	int r = launch_lack_tell(l);

	if (r == 0)
		r = launch_link_tell(l);
	if (!late || r < 0)
		return r;
	r = launch_lack_tell_watch(l, launch_watch_begin(late->watch, l->lock_guard));
	if (r < 0)
		return r;
	return launch_late_report_state(&late->report, late->way, late->reason);
}

/* The path as the view shows it; of a file that was removed meanwhile the one that it had, with a suffix. */
static bool path_of(const struct launch_late *late, int fd, char path[LIMIT_PATH])
{
	char name[16];
	ssize_t n;

	snprintf(name, sizeof(name), "%d", fd);
	n = readlinkat(late->proc_fds, name, path, LIMIT_PATH);
	if (n <= 0 || n == LIMIT_PATH || path[0] != '/')
		return false;
	path[n] = '\0';
	return true;
}

static uint32_t group_of(const struct launch_late *late, uint32_t rule)
{
	return rule == PATH_NO_RULE ? 0 : path_rules_get(late->rules, rule)->group;
}

/* Not read to the end: it counts as one with a secret. */
static bool holds_token(const char *path, int fd)
{
	static char head[PATH_TOKEN_HEAD];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return true;
	n = pread(fd, head, sizeof(head), 0);
	return n < 0 || path_token_found(path, head, (size_t)n, st.st_size <= n);
}

/* The rules' word about a file, which some of them give only after a look into it. False: it is in no grant. */
static bool decide(struct launch_late *late, const char *path, int fd, struct path_verdict *ret)
{
	if (!launch_late_folder_decide(&late->folders, path, PATH_FILE, ret))
		return false;
	if (ret->access == PATH_DENIED && path_rules_get(late->rules, ret->read_rule)->flags & PATH_RULE_IF_TOKEN &&
	    !holds_token(path, fd))
		path_rules_decide(late->rules, path, PATH_FILE_WITHOUT_TOKEN, ret);
	return true;
}

/* A name may end like the kernel's suffix, and a removed file have other names: both are asked about. path becomes the
 * one that is denied. */
static bool is_allowed(struct launch_late *late, char *path, int fd, struct path_verdict *ret)
{
	size_t len = strlen(path), suffix = sizeof(DELETED) - 1;

	if (!decide(late, path, fd, ret) || ret->access == PATH_DENIED)
		return false;
	if (len <= suffix || strcmp(path + len - suffix, DELETED) != 0)
		return true;
	path[len - suffix] = '\0';
	return !decide(late, path, fd, ret) || ret->access != PATH_DENIED;
}

/* It is called something else now: judged by the name that was secret. Where there are no handles none is known; what
 * cannot be asked is refused. */
static bool was_secret(struct launch_late *late, int fd, struct path_verdict *ret)
{
	const char *path;
	uint64_t key;
	int r;

	if (!launch_late_secret_has_any(late->secrets))
		return false;
	ret->read_rule = PATH_NO_RULE;
	r = launch_late_secret_key_of_fd(fd, &key);
	if (r < 0)
		return r != -EOPNOTSUPP && r != -EOVERFLOW;
	path = launch_late_secret_find(late->secrets, key);
	return path && decide(late, path, fd, ret) && ret->access == PATH_DENIED;
}

/*
 * What has no path that can be judged is refused. That is also what the host moves out of the granted folder while it
 * is opened, or while somebody is in it: the kernel then names the place where it is on the host, about which the rules
 * say nothing.
 */
static uint32_t judge(const struct launch *l, const struct fanotify_event_metadata *event, int *ret)
{
	struct launch_late *late = l->late;
	struct path_verdict verdict = { .read_rule = PATH_NO_RULE };
	char path[LIMIT_PATH];

	if (!path_of(late, event->fd, path))
		return FAN_DENY;
	if (is_allowed(late, path, event->fd, &verdict) && !was_secret(late, event->fd, &verdict))
		return FAN_ALLOW;
	if (verdict.read_rule == PATH_NO_RULE)
		return FAN_DENY;
	/* Who only writes reads nothing: an archive that is unpacked inside may hold such a file. */
	if (launch_late_task_only_writes(event->pid))
		return FAN_ALLOW;
	*ret = launch_late_report_path(&late->report, LATE_REFUSED, group_of(late, verdict.read_rule),
				       launch_late_task_process(event->pid), path);
	return FAN_DENY;
}

/*
 * Each open is a question. The kernel could be told not to ask about an inode again (FAN_MARK_IGNORE), but what is
 * secret is a name: after `mv plain .env` on the host the inode under that name would still be one about which nobody
 * asks, and the news of the move, which does come, waits for nobody. Such marks of folders (FAN_EVENT_ON_CHILD), for
 * those in which no name is secret, stay with a folder that the host moves elsewhere. So there is none.
 */
static int answer(const struct launch *l, const struct fanotify_event_metadata *event)
{
	struct fanotify_response response = { .fd = event->fd };
	int r = 0;

	if (event->fd < 0)
		return 0;
	response.response = judge(l, event, &r);
	if (write(l->late->opens, &response, sizeof(response)) < 0 && r == 0 && errno != ENOENT)
		r = -errno;
	fd_close(event->fd);
	return r;
}

/* Until none waits: while one is answered the next is asked, and it need not be waited for. */
static int answer_some(const struct launch *l)
{
	struct fanotify_event_metadata events[TURN_MAX];
	size_t left = TURN_MAX;
	int r = 0;

	while (left > 0) {
		ssize_t n = read(l->late->opens, events, left * sizeof(*events));

		/* An error other than "nothing there" is about one file that could not be opened for us: it was
		 * refused. */
		if (n <= 0)
			break;
		/* What got its name before it was opened is known by it. */
		if (r == 0 && l->late->watch)
			r = launch_watch_catch_up(l->late->watch);
		for (const struct fanotify_event_metadata *e = events; FAN_EVENT_OK(e, n); e = FAN_EVENT_NEXT(e, n)) {
			int result = answer(l, e);

			r = r < 0 ? r : result;
			left--;
		}
	}
	return r;
}

int launch_late_poll(const struct launch *l, struct pollfd fds[LAUNCH_LATE_FDS])
{
	const struct launch_late *late = l->late;

	for (size_t i = 0; i < LAUNCH_LATE_FDS; i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	if (!late)
		return -1;
	fds[0].fd = late->opens;
	if (late->watch)
		launch_watch_poll(late->watch, &fds[1]);
	/* What was held back, and folders to be looked through again, wait for time to pass. */
	return late->report.held_back > 0 || (late->watch && launch_watch_is_behind(late->watch)) ? 1000 : -1;
}

static bool is_ready(const struct pollfd *fd)
{
	return fd->revents != 0;
}

/* Folders first: the making of a file comes before its opening. */
int launch_late_serve(struct launch *l, const struct pollfd fds[LAUNCH_LATE_FDS])
{
	struct launch_late *late = l->late;
	int r = 0;

	if (!late)
		return 0;
	if (late->watch && (is_ready(&fds[1]) || is_ready(&fds[2]) || launch_watch_is_behind(late->watch)))
		r = launch_watch_serve(late->watch);
	if (is_ready(&fds[0])) {
		int result = answer_some(l);

		r = r < 0 ? r : result;
	}
	if (r == 0)
		r = launch_late_report_rest(&late->report, false);
	return r;
}

void launch_late_end(struct launch *l)
{
	struct launch_late *late = l->late;

	if (!late)
		return;
	if (late->watch)
		launch_watch_end(late->watch);
	launch_late_report_rest(&late->report, true);
}
