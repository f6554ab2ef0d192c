<?php
// PHP's PDO, which is set not to emulate prepared statements.
const HAS = 'System.print(HeapProf.getInstance().has_enable())';

function connect(string $way, bool $buffered = true): PDO
{
    $options = [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => $buffered,
    ];
    $source = 'mysql:charset=utf8mb4;host=127.0.0.1;port=' . getenv('HW_PORT');
    if ($way === 'tls') {
        $options[PDO::MYSQL_ATTR_SSL_CA] = getenv('HW_CA');
        $options[PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT] = false;
    }
    if ($way === 'socket') {
        $source = 'mysql:charset=utf8mb4;unix_socket=' . getenv('HW_SOCKET');
    }
    return new PDO($source, getenv('HW_USER'), getenv('HW_PASSWORD'), $options);
}

function rows(PDO $link, string $sql, array $values = []): array
{
    $statement = $link->prepare($sql);
    $statement->execute($values);
    return $statement->fetchAll(PDO::FETCH_NUM);
}

// Another query before all rows are read: with buffering, PDO's default, it may
// come; without, PDO itself refuses it (2014, as with any server) until the rows
// are fetched, or closeCursor() leaves them.
function interrupt(PDO $link, string $close): string
{
    $statement = $link->prepare('ADMIN EXECUTE ON ? ?');
    $statement->execute([10001, "System.print(1)\nSystem.print(2)"]);
    if ($close !== '') {
        $statement->$close();
    }
    try {
        $other = $link->query('SELECT 3')->fetchAll(PDO::FETCH_COLUMN)[0];
    } catch (PDOException $error) {
        return $error->errorInfo[1] . '';
    }
    return $other . implode($close === '' ? $statement->fetchAll(PDO::FETCH_COLUMN) : []);
}

function check_rows_left(string $way): void
{
    foreach ([[true, '', '312'], [true, 'closeCursor', '3'], [false, '', '2014'],
              [false, 'fetchAll', '3'], [false, 'closeCursor', '3']] as [$buffered, $close, $wanted]) {
        $got = interrupt(connect($way, $buffered), $close);
        if ($got !== $wanted) {
            exit("rows left, buffered $buffered, $close: $got, not $wanted\n");
        }
    }
}

foreach (['tcp', 'tls', 'socket'] as $way) {
    check_rows_left($way);
    $link = connect($way);
    if ($way === 'tls' && rows($link, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1] === '') {
        exit("no cipher\n");
    }
    echo "$way has_enable ", rows($link, "ADMIN EXECUTE ON 10001 '" . HAS . "'")[0][0], "\n";
    $script = 'System.print(HeapProf.getInstance().to_dot_format("' . getenv('HW_SNAPSHOT') . '"))';
    $dot = '';
    foreach ($link->query("ADMIN EXECUTE ON 10001 '$script'") as $row) {
        $dot .= $row[0] . "\n";
    }
    echo "$way dot ", md5($dot), "\n";
    $row = rows($link, 'SELECT id, ? FROM heapwire.nodes WHERE id = ?', ["ä'\"\\", 10001])[0];
    echo "$way parameter $row[0] $row[1]\n";
    echo "$way admin ", rows($link, 'ADMIN EXECUTE ON ? ?', [10001, HAS])[0][0], "\n";
    try {
        rows($link, "ADMIN EXECUTE ON 10001 'System.print(nonsense)'");
        exit("a wrong script succeeded\n");
    } catch (PDOException $error) {
        echo "$way error ", $error->errorInfo[1], "\n";
    }
    echo "$way after ", $link->query('SELECT 1')->fetchColumn(), "\n";
}
