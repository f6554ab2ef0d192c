<?php
// PHP's mysqli, by mysqlnd, with prepared statements of the server.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
const HAS = 'System.print(HeapProf.getInstance().has_enable())';

function connect(string $way): mysqli
{
    $link = mysqli_init();
    $flags = 0;
    $host = '127.0.0.1';
    $socket = null;
    if ($way === 'tls') {
        $link->ssl_set(null, null, getenv('HW_CA'), null, null);
        $flags = MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT;
    }
    if ($way === 'socket') {
        $host = 'localhost';
        $socket = getenv('HW_SOCKET');
    }
    $link->real_connect($host, getenv('HW_USER'), getenv('HW_PASSWORD'), null,
        (int)getenv('HW_PORT'), $socket, $flags);
    $link->set_charset('utf8mb4');
    return $link;
}

function rows(mysqli $link, string $sql): array
{
    return $link->query($sql)->fetch_all();
}

function prepared(mysqli $link, string $sql, string $types, ...$values): array
{
    $statement = $link->prepare($sql);
    $statement->bind_param($types, ...$values);
    $statement->execute();
    return $statement->get_result()->fetch_all();
}

foreach (['tcp', 'tls', 'socket'] as $way) {
    $link = connect($way);
    if ($way === 'tls' && rows($link, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1] === '') {
        exit("no cipher\n");
    }
    echo "$way has_enable ", rows($link, "ADMIN EXECUTE ON 10001 '" . HAS . "'")[0][0], "\n";
    $script = 'System.print(HeapProf.getInstance().to_dot_format("' . getenv('HW_SNAPSHOT') . '"))';
    $dot = '';
    foreach (rows($link, "ADMIN EXECUTE ON 10001 '$script'") as $row) {
        $dot .= $row[0] . "\n";
    }
    echo "$way dot ", md5($dot), "\n";
    $row = prepared($link, 'SELECT id, ? FROM heapwire.nodes WHERE id = ?', 'si', "ä'\"\\", 10001)[0];
    echo "$way parameter $row[0] $row[1]\n";
    echo "$way admin ", prepared($link, 'ADMIN EXECUTE ON ? ?', 'is', 10001, HAS)[0][0], "\n";
    try {
        rows($link, "ADMIN EXECUTE ON 10001 'System.print(nonsense)'");
        exit("a wrong script succeeded\n");
    } catch (mysqli_sql_exception $error) {
        echo "$way error ", $error->getCode(), "\n";
    }
    echo "$way after ", rows($link, 'SELECT 1')[0][0], "\n";
    $link->close();
}
