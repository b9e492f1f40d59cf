#include "sshagent/ssh_signed.h"

#include <string.h>

#define USERAUTH_REQUEST 50
#define PREAMBLE "SSHSIG"
#define PREAMBLE_LEN (sizeof(PREAMBLE) - 1)

static bool parse_signature(struct ssh_span data, struct ssh_signed *s)
{
	struct ssh_reader r = { data.data + PREAMBLE_LEN, data.data + data.len };
	struct ssh_span reserved, algorithm, hash;

	if (!ssh_read_string(&r, &s->name) || !ssh_read_string(&r, &reserved) || !ssh_read_string(&r, &algorithm) ||
	    !ssh_read_string(&r, &hash) || !ssh_read_end(&r))
		return false;
	if (s->name.len == 0 || reserved.len > 0)
		return false;
	return (ssh_span_is(algorithm, "sha256") && hash.len == 32) ||
	       (ssh_span_is(algorithm, "sha512") && hash.len == 64);
}

static bool parse_login(struct ssh_span data, struct ssh_signed *s)
{
	struct ssh_span user, service, method, algorithm;
	struct ssh_reader r = ssh_reader_of(data);
	uint8_t type, has_signature;

	if (!ssh_read_string(&r, &s->session_id) || s->session_id.len == 0 || s->session_id.len > SSH_SESSION_ID_MAX)
		return false;
	if (!ssh_read_u8(&r, &type) || type != USERAUTH_REQUEST || !ssh_read_string(&r, &user) ||
	    !ssh_read_string(&r, &service) || !ssh_span_is(service, "ssh-connection"))
		return false;
	if (!ssh_read_string(&r, &method) || !ssh_read_u8(&r, &has_signature) || has_signature != 1 ||
	    !ssh_read_string(&r, &algorithm) || algorithm.len == 0 || !ssh_read_string(&r, &s->key))
		return false;
	if (ssh_span_is(method, "publickey-hostbound-v00@openssh.com"))
		return ssh_read_string(&r, &s->host_key) && s->host_key.len > 0 && ssh_read_end(&r);
	return ssh_span_is(method, "publickey") && ssh_read_end(&r);
}

void ssh_signed_parse(struct ssh_span data, struct ssh_signed *ret)
{
	bool is_signature = data.len >= PREAMBLE_LEN && memcmp(data.data, PREAMBLE, PREAMBLE_LEN) == 0;

	*ret = (struct ssh_signed){ .kind = SSH_SIGNED_OTHER };
	if (is_signature ? parse_signature(data, ret) : parse_login(data, ret))
		ret->kind = is_signature ? SSH_SIGNED_SIGNATURE : SSH_SIGNED_LOGIN;
	else
		*ret = (struct ssh_signed){ .kind = SSH_SIGNED_OTHER };
}
