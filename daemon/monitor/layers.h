#ifndef ISOD_MONITOR_LAYERS_H
#define ISOD_MONITOR_LAYERS_H
/*
 * Layers that outlive their sessions: state/layers/ID, root 0700. In it "record" (daemon/wire/layer.h) and, made by
 * isod-launch, "upper" and "work" of the overlay. Written inside by the session's program, so nothing but "upper"
 * itself is ever opened here, and no name in it is looked at.
 */
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/monitor/place.h"
#include "daemon/wire/layer.h"

struct plan;

/* What the plan's kept layer lies over, or NULL: it keeps none. */
const char *layers_kept(const struct plan *plan);
/* Makes the folder of a layer. Returns its O_PATH descriptor; -EDQUOT (LIMIT_LAYERS_PER_UID) or -errno, with *e. */
int layers_make(const struct place *place, const char *id, uid_t uid, const char *project, struct error *e);

/* The record of one layer: 0 or -ENOENT, also where it is not uid's; uid 0 sees all. */
int layers_find(const struct place *place, const char *id, uid_t uid, struct layer_record *ret);
/* The upper folder, for reading, as a mount that is nowhere else. -errno. */
int layers_open_upper(const struct place *place, const char *id);
/* Heap array of those of uid (0: of all), .running not filled. 0 or -errno. */
int layers_list(const struct place *place, uid_t uid, struct layer_record **ret, size_t *ret_count);

/* From now on it does not exist; layers_sweep() takes the rest away. -ENOENT, -errno. */
int layers_hide(const struct place *place, const char *id);
/* Removes what was hidden; with old, also what was never used and what is older than LIMIT_LAYER_DAYS. Blocks. Returns
 * -errno of the first that stayed. */
int layers_sweep(const struct place *place, bool old);

#endif
