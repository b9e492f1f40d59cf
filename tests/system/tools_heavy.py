"""Package managers and clients that are big to install (`./setup test tools` does): what test_package_tools.py asks of small ones.

Not collected by its name: no run without these tools counts it as left out, and in one that names it they must be there.
"""

import pytest

import registries
from tool import Tool, check_refused, check_works

REFUSED = 'Forbidden (isod: not-listed)'
NO_PROXY = 'unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY; '
PROXY_OF_JAVA = '-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=61080 '
# cargo knows sparse indexes since 1.68, and as a trial before.
CARGO = '''mkdir -p crate/src crate/.cargo; cd crate; : >src/lib.rs
printf '[package]\\nname = "c"\\nversion = "1.0.0"\\nedition = "2021"\\n[dependencies]\\nisod-test-crate = "1"\\n' >Cargo.toml
printf '[source.crates-io]\\nreplace-with = "t"\\n[source.t]\\nregistry = "sparse+https://{host}/cargo/"\\n' >.cargo/config.toml
export CARGO_HTTP_CAINFO={ca} CARGO_NET_RETRY=1 RUSTC_BOOTSTRAP=1
sparse=; case $(/usr/bin/cargo --version) in "cargo 1."[0-5]?.*|"cargo 1.6"[0-7].*) sparse="-Z sparse-registry" ;; esac
/usr/bin/cargo $sparse fetch && /usr/bin/cargo --offline $sparse check && echo all-there'''
GO = '''mkdir mod; cd mod; export HOME=$PWD SSL_CERT_FILE={ca} GOPROXY=https://{host}/go GOSUMDB=off GOFLAGS=-modcacherw
go mod init m && go get go.example/mod@v1.0.0 && cat go.mod'''
GH = 'export HOME=$PWD SSL_CERT_FILE={ca} GH_HOST={host} GH_ENTERPRISE_TOKEN=x; gh api user'
TRUST = '''keytool -importcert -noprompt -storetype PKCS12 -storepass changeit -alias t -file {ca} -keystore trust >/dev/null 2>&1
export HOME=$PWD JAVA_TOOL_OPTIONS="-Duser.home=$PWD -Djavax.net.ssl.trustStore=$PWD/trust -Djavax.net.ssl.trustStorePassword=changeit"
'''
CLIENT = TRUST + '''cat >Get.java <<'END'
import java.net.*;
import java.net.http.*;
public class Get {{ public static void main(String[] a) throws Exception {{
    HttpClient c = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).build();
    HttpResponse<String> r = c.send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString());
    System.out.println(r.statusCode() + " " + r.body());
}} }}
END
'''
URL = TRUST + '''cat >Get.java <<'END'
public class Get {{ public static void main(String[] a) throws Exception {{
    System.out.println(new String(new java.net.URL(a[0]).openStream().readAllBytes()));
}} }}
END
'''
JAVA = 'java {0}Get.java https://{{host}}/hello'
# A parent is all that maven asks for before it needs plugins, which Debian's package lacks.
MAVEN = TRUST + '''cat >pom.xml <<'END'
<project><modelVersion>4.0.0</modelVersion><parent><groupId>t.example</groupId><artifactId>parent</artifactId><version>1</version>
<relativePath/></parent><artifactId>child</artifactId><packaging>pom</packaging><repositories><repository><id>central</id>
<url>https://{host}/maven2</url></repository></repositories></project>
END
'''
MVN = 'mvn -B {0}validate'
GRADLE = TRUST + '''cat >build.gradle <<'END'
repositories {{ maven {{ url "https://{host}/maven2" }} }}
configurations {{ things }}
dependencies {{ things "t.example:thing:1" }}
task show {{ doLast {{ configurations.things.each {{ println it }} }} }}
END
'''
RUN_GRADLE = 'gradle --no-daemon {0}show'
YARN_1 = '''export HOME=$PWD; echo "{{}}" >package.json; echo cafile={ca} >.npmrc; export YARN_REGISTRY=https://{host}
node {npm}/yarn/bin/yarn.js add isod-test-package'''
TOOLS = {
    'cargo': Tool(CARGO, 'all-there', '[56] Failure when receiving data from the peer (CONNECT tunnel failed, response 403)',
                  'connect', tries=2),
    'cargo-captured': Tool(NO_PROXY + CARGO, 'all-there', 'Could not resolve host: evil.example', 'capture'),
    'go': Tool(GO, 'require go.example/mod v1.0.0', 'go/go.example/mod/@v/v1.0.0.info": ' + REFUSED, 'connect', tries=3),
    'go-captured': Tool(NO_PROXY + GO, 'require go.example/mod v1.0.0', 'lookup evil.example: no such host', 'capture'),
    'gh': Tool(GH, '"login": "tester"', 'Get "https://evil.example/api/v3/user": ' + REFUSED, 'connect'),
    'gh-captured': Tool(NO_PROXY + GH, '"login": "tester"', 'error connecting to evil.example', 'capture'),
    'java-client': Tool(CLIENT + JAVA.format(''), '200 hello from nginx', 'java.net.ConnectException', 'capture'),
    'java-client-proxy': Tool(CLIENT + JAVA.format(PROXY_OF_JAVA), '200 hello from nginx', 'Tunnel failed, got: 403', 'connect'),
    'java-url': Tool(URL + JAVA.format(''), 'hello from nginx', 'java.net.UnknownHostException: evil.example', 'capture'),
    'java-url-proxy': Tool(URL + JAVA.format(PROXY_OF_JAVA), 'hello from nginx',
                           'Unable to tunnel through proxy. Proxy returns "HTTP/1.1 403 ' + REFUSED, 'connect'),
    'maven': Tool(MAVEN + MVN.format(''), 'BUILD SUCCESS', 'evil.example: Name or service not known', 'capture'),
    'maven-proxy': Tool(MAVEN + MVN.format(PROXY_OF_JAVA), 'BUILD SUCCESS', 'status: 403 ' + REFUSED, 'connect'),
    'gradle': Tool(GRADLE + RUN_GRADLE.format(''), 'thing-1.jar', 'evil.example: Name or service not known', 'capture'),
    'gradle-proxy': Tool(GRADLE + RUN_GRADLE.format(PROXY_OF_JAVA), 'thing-1.jar',
                         'Received status code 403 from server: ' + REFUSED, 'connect'),
    'yarn-1': Tool(YARN_1, 'isod-test-package@1.0.0', 'tunneling socket could not be established, statusCode=403', 'connect',
                   'npm.example', tries=5),
}


@pytest.fixture(scope='module')
def served(web):
    for language in (registries.npm, registries.cargo, registries.go, registries.maven):
        language(web)
    registries.put(web, 'api/v3/user', '{"login": "tester"}\n')


@pytest.mark.parametrize('name', TOOLS)
def test_allowed(isod, web, served, project, name):
    check_works(isod, web, project, TOOLS[name])


@pytest.mark.parametrize('name', TOOLS)
def test_refused(isod, web, served, project, name):
    check_refused(isod, web, project, TOOLS[name])
