#!/bin/sh
# tls_connectors.sh - MariaDB Connector/J takes the self-signed certificate for
# its fingerprint alone; node's connectors take it with an option.
#
# Fetches the connectors from Maven Central and from npm.
set -eu
for tool in javac mvn node npm; do
    command -v "$tool" >/dev/null || {
        echo "left out: no $tool here (default-jdk-headless, maven, npm)"
        exit 0
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mvn -q -B dependency:copy -DoutputDirectory="$work" \
    -Dartifact=org.mariadb.jdbc:mariadb-java-client:3.5.3
(cd "$work" && npm install --silent --no-fund --no-audit mariadb@3 mysql2@3)
cat >"$work/Login.java" <<'JAVA'
import java.sql.*;

public class Login {
    public static void main(String[] a) throws Exception {
        try (Connection c = DriverManager.getConnection(a[0], a[1], a[2])) {
            ResultSet r = c.createStatement().executeQuery("SELECT 1");
            r.next();
            System.out.println("ok " + r.getInt(1));
        } catch (SQLException e) {
            System.out.println(e.getMessage());
        }
    }
}
JAVA
javac -d "$work" "$work/Login.java"
cat >"$work/login.js" <<'JS'
const [port, driver, ca] = process.argv.slice(2);
(async () => {
    const ssl = ca ? {ca: require('fs').readFileSync(ca)}
                   : {rejectUnauthorized: false};
    const c = await require(driver).createConnection(
        {host: 'localhost', port: +port, user: 'ann', password: 'secret', ssl});
    await c.query('SELECT 1');
    const rows = await c.query("SHOW STATUS LIKE 'Ssl_version'");
    console.log(JSON.stringify(rows).includes('TLSv1.3') ? 'ok' : rows);
    await c.end();
})().catch(e => { console.log(e.message); process.exit(1); });
JS
PYTHON=${PYTHON:-/usr/bin/python3}
PYTHONPATH=tests/integration/lib WORK=$work exec "$PYTHON" - <<'EOF'
import os
import subprocess

from node_under_test import REAL, Node

WORK = os.environ["WORK"]


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          cwd=WORK, check=False).stdout.strip()


def java(node, parameters, user, password):
    return said("java", "-cp", f"{WORK}:{WORK}/mariadb-java-client-3.5.3.jar",
                "Login", f"jdbc:mariadb://localhost:{node.port}/?{parameters}",
                user, password)


with Node(REAL, start=False) as node:
    node.write([("ann", b"secret", "status"), ("bob", b"secret", "status")])
    with open(node.config, encoding="ascii") as f:
        lines = f.read().splitlines()
    at = lines.index("[user bob]") + 1  # no native login, so no fingerprint
    lines[at] = "auth = sha2 " + lines[at].split()[-1]
    with open(node.config, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    node.start()
    ca = node.state + "/server-cert.pem"
    for parameters in ("sslMode=verify-full", "sslMode=verify-ca",
                       "sslMode=trust", "sslMode=verify-full&serverSslCert=" + ca):
        assert java(node, parameters, "ann", "secret") == "ok 1", parameters
        text = java(node, parameters, "ann", "wrong")
        assert "Access denied" in text or "ertificate" in text, text
    for parameters in ("sslMode=trust", "sslMode=verify-full&serverSslCert=" + ca):
        assert java(node, parameters, "bob", "secret") == "ok 1", parameters
    text = java(node, "sslMode=verify-full", "bob", "secret")
    assert "ertificate" in text, text
    print("ok: Connector/J; without a fingerprint it says:", text.splitlines()[0])
    for driver in ("mariadb", "mysql2/promise"):
        for trusted in ((), (ca,)):
            text = said("node", "login.js", str(node.port), driver, *trusted)
            assert text == "ok", (driver, trusted, text)
    print("ok: mariadb and mysql2 of npm")
