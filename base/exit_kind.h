#ifndef ISOD_BASE_EXIT_KIND_H
#define ISOD_BASE_EXIT_KIND_H

/* How a program ended: on every wire, status and signal apart. */
enum exit_kind {
	EXIT_KIND_NONE = 0,
	EXIT_KIND_CODE,   /* value: 0..255 */
	EXIT_KIND_SIGNAL, /* value: signal number */
	EXIT_KIND_LOST,   /* ended by isod; value 0: the helper or the daemon failed, the code is not known */
	EXIT_KIND_TIME,   /* wall-clock limit */
};

#endif
