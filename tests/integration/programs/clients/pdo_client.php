<?php
// PHP's PDO, which is set not to emulate prepared statements.
const HAS = 'System.print(HeapProf.getInstance().has_enable())';

function connect(string $way): PDO
{
    $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => false];
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

foreach (['tcp', 'tls', 'socket'] as $way) {
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
