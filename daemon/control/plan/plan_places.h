#ifndef ISOD_CONTROL_PLAN_PLACES_H
#define ISOD_CONTROL_PLAN_PLACES_H
/*
 * Which places of the view need a mount of their own because of a rule. Pure.
 *
 * The paths that rules name make a tree, walked parents first. At each place the rules are asked once; where they say
 * the same as for the folder around it, nothing is mounted. A grant inside a denied folder so lies over its cover, a
 * denial inside a grant over the grant.
 */
#include "daemon/control/plan/plan_rules.h"

/* Appends to the mounts of built. 0, or -errno with *e. */
int plan_places_build(const struct plan_input *in, const struct plan_rules *rules, struct plan_built *built,
		      struct error *e);

#endif
