#include "daemon/late/late_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/linux/late/late_pins.h"
#include "daemon/late/late_hooks.h"

#define STEP "late guard"

/* What libbpf explains, of which the end is kept for the log: there the verifier says why. */
static char said[2048];

static int listen_to_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;
	size_t used = strlen(said), n, skip;

	if (level == LIBBPF_DEBUG)
		return 0;
	/* Megabytes, of one refused program. */
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return 0;
	}
	n = strlen(text);
	skip = n < sizeof(said) ? 0 : n + 1 - sizeof(said);
	n -= skip;
	if (used + n + 1 > sizeof(said)) {
		size_t drop = used + n + 1 - sizeof(said);

		memmove(said, said + drop, used - drop + 1);
		used -= drop;
	}
	memcpy(said + used, text + skip, n + 1);
	return 0;
}

static int fail(struct error *e, int err, const char *what)
{
	if (said[0])
		log_info("%s", said);
	return error_set(e, ERROR_SANDBOX_UNAVAILABLE, err, STEP, "", "%s: %s.", what, strerror(err));
}

static int attach(struct bpf_object *object, const char *pins, struct error *e)
{
	struct bpf_program *program;
	char path[256];

	bpf_object__for_each_program(program, object)
	{
		struct bpf_link *link;
		int r;

		if (bpf_program__type(program) != BPF_PROG_TYPE_LSM)
			continue;
		link = bpf_program__attach_lsm(program);
		if (!link)
			return fail(e, errno, "A program cannot be attached");
		snprintf(path, sizeof(path), "%s/%s", pins, bpf_program__name(program));
		r = bpf_link__pin(link, path);
		bpf_link__destroy(link); /* our reference; the pin holds it */
		if (r < 0)
			return fail(e, -r, "A program's link cannot be pinned");
	}
	return 0;
}

static int find(struct bpf_object *object, struct late_loaded *ret)
{
	struct bpf_program *folders = bpf_object__find_program_by_name(object, "late_folders");

	ret->sessions = dup(bpf_object__find_map_fd_by_name(object, "late_sessions"));
	ret->events = dup(bpf_object__find_map_fd_by_name(object, "late_events"));
	ret->folders = folders ? dup(bpf_program__fd(folders)) : -1;
	return ret->sessions < 0 || ret->events < 0 || ret->folders < 0 ? -errno : 0;
}

int late_load(const char *pins, struct late_loaded *ret, struct error *e)
{
	struct bpf_object *object;
	int r;

	libbpf_set_print(listen_to_libbpf);
	r = late_pins_make(pins);
	if (r < 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, STEP, "Mount a bpf file system at /sys/fs/bpf.",
				 "There is no place for the programs at %s: %s.", pins, strerror(-r));
	object = bpf_object__open_mem(late_hooks, sizeof(late_hooks), NULL);
	if (!object)
		return fail(e, errno, "The programs cannot be read");
	r = bpf_object__load(object);
	if (r < 0)
		r = fail(e, -r, "This kernel does not take the programs");
	else
		r = attach(object, pins, e);
	if (r == 0 && find(object, ret) < 0)
		r = fail(e, errno, "The programs' maps cannot be found");
	bpf_object__close(object);
	if (r < 0)
		late_pins_remove(pins);
	return r;
}
