"""A stand-in for the Messages API: no model behind it, the prompt itself says what to answer.

[[bash:COMMAND]] becomes a Bash tool call; once its result is in, the answer is "RESULT: " and the result's text.
Anything else is answered with "OK from fake model".
"""
import http.server
import json
import re
import threading


def text_of(content):
    if isinstance(content, str):
        return content
    parts = []
    for block in content or []:
        if block.get('type') == 'text':
            parts.append(block['text'])
        elif block.get('type') == 'tool_result':
            parts.append(text_of(block.get('content')))
    return '\n'.join(parts)


def blocks_for(body, serial):
    users = [m for m in body.get('messages', []) if m['role'] == 'user']
    last = users[-1]['content'] if users else ''
    if not body.get('tools'):
        return [{'type': 'text', 'text': 'fake title'}]
    results = [b for b in last if isinstance(last, list) and b.get('type') == 'tool_result']
    if results:
        return [{'type': 'text', 'text': 'RESULT: ' + ' | '.join(text_of(r.get('content')) for r in results)}]
    calls = re.findall(r'\[\[bash:(.*?)\]\]', text_of(last), re.S)
    if calls:
        return [{'type': 'tool_use', 'id': f'toolu_fake{serial:04}{i}', 'name': 'Bash',
                 'input': {'command': c, 'description': 'test'}} for i, c in enumerate(calls)]
    return [{'type': 'text', 'text': 'OK from fake model'}]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    serial = 0

    def log_message(self, *_):
        pass

    def answer(self, code, document):
        data = json.dumps(document).encode()
        self.send_response(code)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(data)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(data)

    def do_GET(self):
        self.answer(404, {'type': 'error', 'error': {'type': 'not_found_error', 'message': self.path}})

    do_HEAD = do_GET

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get('content-length', 0)))
        path = self.path.split('?')[0]
        self.server.seen.append(path)
        if path.endswith('/count_tokens'):
            return self.answer(200, {'input_tokens': 100})
        if not path.endswith('/v1/messages'):
            return self.do_GET()
        body = json.loads(raw)
        Handler.serial += 1
        blocks = blocks_for(body, Handler.serial)
        reason = 'tool_use' if any(b['type'] == 'tool_use' for b in blocks) else 'end_turn'
        usage = {'input_tokens': 100, 'output_tokens': 20, 'cache_creation_input_tokens': 0, 'cache_read_input_tokens': 0}
        message = {'id': f'msg_{Handler.serial}', 'type': 'message', 'role': 'assistant', 'model': body.get('model'),
                   'content': blocks, 'stop_reason': reason, 'stop_sequence': None, 'usage': usage}
        if not body.get('stream'):
            return self.answer(200, message)
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.send_header('connection', 'close')
        self.end_headers()

        def event(kind, **more):
            self.wfile.write(f'event: {kind}\ndata: {json.dumps({"type": kind, **more})}\n\n'.encode())
        event('message_start', message={**message, 'content': [], 'stop_reason': None})
        for i, b in enumerate(blocks):
            if b['type'] == 'tool_use':
                event('content_block_start', index=i, content_block={**b, 'input': {}})
                event('content_block_delta', index=i, delta={'type': 'input_json_delta', 'partial_json': json.dumps(b['input'])})
            else:
                event('content_block_start', index=i, content_block={'type': 'text', 'text': ''})
                event('content_block_delta', index=i, delta={'type': 'text_delta', 'text': b['text']})
            event('content_block_stop', index=i)
        event('message_delta', delta={'stop_reason': reason, 'stop_sequence': None}, usage={'output_tokens': 20})
        event('message_stop')
        self.close_connection = True


def serve():
    """Starts on a free loopback port; returns the server (.server_port, .seen, .shutdown())."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
