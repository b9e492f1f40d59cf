#ifndef ISOD_MONITOR_ETC_LAYER_H
#define ISOD_MONITOR_ETC_LAYER_H
/*
 * The upper of the two layers that make up /etc of every view: whiteouts over what no program there needs to know, and
 * the resolver's files. Two rules say what is hidden: a list of names, and whatever the host lets only some users read
 * (an agent of root has root's uid and would read it). Built afresh at each start of isod.
 */
#include <sys/types.h>

/* Makes parent/name from the host's etc (a descriptor of /etc). Returns an O_PATH descriptor of it, or -errno. */
int etc_layer_build(int parent, const char *name, int etc);

#endif
