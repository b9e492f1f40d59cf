#ifndef ISOD_MONITOR_ETC_LAYER_H
#define ISOD_MONITOR_ETC_LAYER_H
/*
 * The upper of the two layers that make up /etc of a view: whiteouts over what no program there needs to know, and the
 * session's own resolv.conf, hosts, hostname and nsswitch.conf. Two rules say what is hidden: a list of names
 * (view/etc_hidden.h), there yet or not, and whatever the host lets only some users read (an agent of root has root's
 * uid and would read it).
 */
#include <sys/types.h>

/*
 * Makes parent/name from the host's etc (a descriptor of /etc). watch, may be NULL: an inotify descriptor that is to
 * tell when a new one is due; closed and -1 where the kernel grants no more watches. Returns an O_PATH descriptor of
 * it, or -errno.
 */
int etc_layer_build(int parent, const char *name, int etc, int *watch);

#endif
