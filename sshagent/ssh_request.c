#include "sshagent/ssh_request.h"

#include <errno.h>

ssize_t ssh_frame_size(const uint8_t *data, size_t len, size_t max)
{
	struct ssh_reader r = { data, data + len };
	uint32_t size;

	if (!ssh_read_u32(&r, &size))
		return 0;
	if (size == 0 || size > max)
		return -EMSGSIZE;
	return len - SSH_FRAME_HEAD < size ? 0 : (ssize_t)(SSH_FRAME_HEAD + size);
}

static int parse_sign(struct ssh_reader *r, struct ssh_request *q)
{
	q->kind = SSH_REQUEST_SIGN;
	return ssh_read_string(r, &q->key) && ssh_read_string(r, &q->data) && ssh_read_u32(r, &q->flags) &&
			       ssh_read_end(r)
		       ? 0
		       : -EBADMSG;
}

static int parse_extension(struct ssh_reader *r, struct ssh_request *q)
{
	struct ssh_span name;
	uint8_t forwarding;

	if (!ssh_read_string(r, &name))
		return -EBADMSG;
	if (!ssh_span_is(name, "session-bind@openssh.com"))
		return 0;
	q->kind = SSH_REQUEST_BIND;
	if (!ssh_read_string(r, &q->key) || !ssh_read_string(r, &q->session_id) || !ssh_read_string(r, &q->signature) ||
	    !ssh_read_u8(r, &forwarding) || !ssh_read_end(r))
		return -EBADMSG;
	q->forwarding = forwarding != 0;
	return 0;
}

int ssh_request_parse(struct ssh_span body, struct ssh_request *ret)
{
	struct ssh_reader r = ssh_reader_of(body);

	*ret = (struct ssh_request){ .kind = SSH_REQUEST_OTHER };
	if (!ssh_read_u8(&r, &ret->type))
		return -EBADMSG;
	switch (ret->type) {
	case SSH_AGENT_LIST:
		ret->kind = SSH_REQUEST_LIST;
		return ssh_read_end(&r) ? 0 : -EBADMSG;
	case SSH_AGENT_SIGN:
		return parse_sign(&r, ret);
	case SSH_AGENT_EXTENSION:
		return parse_extension(&r, ret);
	default:
		return 0;
	}
}

int ssh_identities_begin(struct ssh_span body, struct ssh_identities *ret)
{
	uint8_t type;

	ret->rest = ssh_reader_of(body);
	if (!ssh_read_u8(&ret->rest, &type) || type != SSH_AGENT_IDENTITIES || !ssh_read_u32(&ret->rest, &ret->left) ||
	    ret->left > SSH_IDENTITIES_MAX)
		return -EBADMSG;
	return 0;
}

int ssh_identities_next(struct ssh_identities *i, struct ssh_span *ret_key, struct ssh_span *ret_comment)
{
	if (i->left == 0)
		return ssh_read_end(&i->rest) ? 0 : -EBADMSG;
	i->left--;
	return ssh_read_string(&i->rest, ret_key) && ssh_read_string(&i->rest, ret_comment) ? 1 : -EBADMSG;
}

bool ssh_signature_is_valid(struct ssh_span body)
{
	struct ssh_reader r = ssh_reader_of(body);
	struct ssh_span signature;
	uint8_t type;

	return ssh_read_u8(&r, &type) && type == SSH_AGENT_SIGNATURE && ssh_read_string(&r, &signature) &&
	       ssh_read_end(&r);
}
