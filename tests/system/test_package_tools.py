"""Package managers and clients that are small to install: an allowed host works, another is refused at once.

Of those that are big, tools_heavy.py has a table of the same kind (`./setup test tools`).
"""
import socketserver
import subprocess
import threading

import pytest

import registries
from registries import NPM_TOOLS
from servers import listening
from tool import Tool, check_refused, check_works
from waiting import wait_for

REFUSED = 'Forbidden (isod: not-listed)'
NO_NAME = 'Name or service not known'
NPM = ('export HOME=$PWD NODE_EXTRA_CA_CERTS={ca}; echo "{{}}" >package.json; : >yarn.lock; echo cafile={ca} >.npmrc; ', ' isod-test-package ',
       '&& node -e "console.log(6 * require(\'isod-test-package\'))"')
YARN4 = (NPM[0] + 'export YARN_NODE_LINKER=node-modules YARN_ENABLE_TELEMETRY=0 YARN_NPM_MINIMAL_AGE_GATE=0 YARN_NPM_REGISTRY_SERVER=https://{host}; ',
         'node {npm}/@yarnpkg/cli-dist/bin/yarn.js add' + NPM[1] + NPM[2])
AIOHTTP = '''/usr/bin/python3 -c '
import aiohttp, asyncio, ssl
async def main():
    async with aiohttp.ClientSession({trust}) as session:
        async with session.get("https://{{host}}/hello", ssl=ssl.create_default_context(cafile="{{ca}}")) as answer:
            print(await answer.text())
asyncio.run(main())' '''
GRPC = '''{before} T={{npm}} node -e '
const grpc = require(process.env.T + "/@grpc/grpc-js"), ca = require("fs").readFileSync("{{ca}}");
const client = new grpc.Client("{{host}}:50051", grpc.credentials.createSsl(ca));
client.makeUnaryRequest("/test.Echo/Say", b => b, b => b, Buffer.from("echo"), {{{{ deadline: Date.now() + 120000 }}}},
  (error, reply) => {{{{ console.log(error ? error.code + " " + error.details : "said " + reply); client.close(); }}}});
' '''
GRPC_SERVER = '''
const [grpc, fs] = [require(process.argv[1]), require("fs")];
const same = b => b, d = process.argv[2];
const server = new grpc.Server();
server.addService({ Say: { path: "/test.Echo/Say", requestStream: false, responseStream: false, requestSerialize: same,
  requestDeserialize: same, responseSerialize: same, responseDeserialize: same } }, { Say: (call, done) => done(null, call.request) });
const keys = [{ private_key: fs.readFileSync(d + "/srv.key"), cert_chain: fs.readFileSync(d + "/srv.pem") }];
server.bindAsync("127.0.0.77:50051", grpc.ServerCredentials.createSsl(null, keys), error => { if (error) throw error });
'''
TOOLS = {
    'pnpm': Tool(NPM[0] + 'node {npm}/pnpm/bin/pnpm.cjs add --registry https://{host}' + NPM[1] + NPM[2], '252',
                 'GET https://evil.example/isod-test-package: ' + REFUSED + ' - 403', 'connect', 'npm.example', tries=2),
    'yarn-4': Tool(YARN4[0] + YARN4[1], '252', 'RequestError: Bad response: 403', 'connect', 'npm.example'),
    'yarn-4-captured': Tool(YARN4[0] + 'unset YARN_HTTPS_PROXY; export YARN_HTTP_RETRY=0; ' + YARN4[1], '252',
                            'getaddrinfo ENOTFOUND evil.example', 'capture', 'npm.example'),
    'grpc': Tool(GRPC.format(before=''), 'said echo',
                 'Failed to connect to evil.example:50051 through proxy 127.0.0.1:61080 with status 403', 'connect', port=50051),
    'grpc-captured': Tool(GRPC.format(before='unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY;'), 'said echo',
                          '14 Name resolution failed for target dns:evil.example:50051', 'capture', port=50051),
    'redis-cli': Tool('redis-cli -h {host} ping', 'PONG', NO_NAME, 'capture', port=6379),
    'aiohttp': Tool(AIOHTTP.format(trust=''), 'hello from nginx', NO_NAME, 'capture'),
    'aiohttp-trust-env': Tool(AIOHTTP.format(trust='trust_env=True'), 'hello from nginx',
                              "ClientHttpProxyError: 403, message='" + REFUSED, 'connect'),
    'httpx': Tool('/usr/bin/python3 -c \'import httpx; print(httpx.get("https://{host}/hello", verify="{ca}").text)\'',
                  'hello from nginx', 'ProxyError: 403 ' + REFUSED, 'connect'),
    'httpx-http': Tool('/usr/bin/python3 -c \'import httpx; print(httpx.get("http://{host}/hello").text)\'', 'hello from nginx',
                       'To allow it: isoctl run --allow-domain evil.example', 'http', port=80),
}


class Redis(socketserver.StreamRequestHandler):
    """Knows one answer."""
    def handle(self):
        for line in self.rfile:
            if line.strip().upper() == b'PING':
                self.wfile.write(b'+PONG\r\n')


@pytest.fixture(scope='module')
def servers(web):
    registries.npm(web)
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    redis = socketserver.ThreadingTCPServer(('127.0.0.77', 6379), Redis)
    threading.Thread(target=redis.serve_forever, daemon=True).start()
    grpc = subprocess.Popen(['node', '-e', GRPC_SERVER, NPM_TOOLS + '/@grpc/grpc-js', web.dir])
    wait_for(lambda: listening('127.0.0.77', 50051), 'the gRPC server listens')
    yield
    redis.shutdown()
    redis.server_close()
    grpc.terminate()
    grpc.wait()


@pytest.mark.parametrize('name', TOOLS)
def test_allowed(isod, web, servers, project, name):
    check_works(isod, web, project, TOOLS[name])


@pytest.mark.parametrize('name', TOOLS)
def test_refused(isod, web, servers, project, name):
    check_refused(isod, web, project, TOOLS[name])
