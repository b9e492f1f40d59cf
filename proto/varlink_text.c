#include "proto/varlink.h"
#include "proto/varlink_text.h"

const char varlink_text_org_isod[] = TEXT_ORG_ISOD;
const char varlink_text_org_varlink_service[] = TEXT_ORG_VARLINK_SERVICE;
