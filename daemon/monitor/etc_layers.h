#ifndef ISOD_MONITOR_ETC_LAYERS_H
#define ISOD_MONITOR_ETC_LAYERS_H
/*
 * The layers over /etc by generation. A session that starts gets one that knows the /etc of that moment; those that run
 * keep theirs, and a layer that nobody uses is removed. Belongs to the loop's thread.
 */

/* Open for as long as somebody holds it. */
struct etc_layer {
	struct etc_layers *all;
	int fd; /* O_PATH folder */
	unsigned refs;
	char name[16];
};

struct etc_layers {
	int folder; /* of all layers */
	int etc;    /* the host's */
	int watch;  /* of /etc since .now was built */
	unsigned serial;
	struct etc_layer *now;
};

#define ETC_LAYERS_INIT                                                                                                \
	{                                                                                                              \
		.folder = -1, .etc = -1, .watch = -1                                                                   \
	}

/* Makes the first layer, in parent/"etc", where nothing of an earlier run stays. 0 or -errno. */
int etc_layers_open(struct etc_layers *l, int parent);
void etc_layers_close(struct etc_layers *l);

/* One that fits /etc as it is now, built anew if /etc has changed. 0 or -errno; etc_layer_put() it. */
int etc_layers_take(struct etc_layers *l, struct etc_layer **ret);
/* NULL is accepted. Returns NULL. */
struct etc_layer *etc_layer_put(struct etc_layer *layer);

#endif
