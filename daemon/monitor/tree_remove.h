#ifndef ISOD_MONITOR_TREE_REMOVE_H
#define ISOD_MONITOR_TREE_REMOVE_H

/*
 * Removes parent/name and all below it; ENOENT is success. For trees that a sandboxed program has made: follows no
 * link, needs a constant number of descriptors and a constant stack whatever the depth. Blocks: not for the loop
 * thread. 0 or -errno of the first thing that would not go.
 */
int tree_remove(int parent, const char *name);

#endif
