/* MariaDB Connector/J or, as its argument, MySQL's: client-side, server-side
 * prepared, server cursors.  MySQL's executeQuery takes no word for a query that
 * it does not know: execute does, and CALL it knows. */
import java.math.BigDecimal;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

public class ConnectorJ {
    static final String HAS = "System.print(HeapProf.getInstance().has_enable())";

    static String kind = "mariadb";

    static String env(String name) {
        return System.getenv("HW_" + name);
    }

    static Connection connect(String options) throws SQLException {
        return DriverManager.getConnection("jdbc:" + kind + "://127.0.0.1:" + env("PORT") + "/?user=" + env("USER")
                + "&password=" + env("PASSWORD") + options);
    }

    static String first(PreparedStatement statement) throws SQLException {
        if (!statement.execute())
            throw new SQLException("no rows");
        try (ResultSet rows = statement.getResultSet()) {
            rows.next();
            return rows.getString(1);
        }
    }

    static String first(Statement statement, String sql) throws SQLException {
        if (!statement.execute(sql))
            throw new SQLException("no rows");
        try (ResultSet rows = statement.getResultSet()) {
            rows.next();
            return rows.getString(1);
        }
    }

    static void run(String way, String options) throws Exception {
        try (Connection connection = connect(options); Statement statement = connection.createStatement()) {
            if (way.startsWith("tls")) {
                try (ResultSet rows = statement.executeQuery("SHOW STATUS LIKE 'Ssl_cipher'")) {
                    if (!rows.next() || rows.getString(2).isEmpty())
                        throw new Exception("no cipher");
                }
            }
            System.out.println(way + " has_enable " + first(statement, "ADMIN EXECUTE ON 10001 '" + HAS + "'"));
            String script = "System.print(HeapProf.getInstance().to_dot_format(\"" + env("SNAPSHOT") + "\"))";
            StringBuilder dot = new StringBuilder();
            statement.setFetchSize(7); /* a server cursor where the driver uses them */
            statement.setQueryTimeout(30);
            statement.execute("ADMIN EXECUTE ON 10001 '" + script + "'");
            try (ResultSet rows = statement.getResultSet()) {
                while (rows.next())
                    dot.append(rows.getString("result")).append('\n');
            }
            statement.setQueryTimeout(0);
            byte[] md5 = MessageDigest.getInstance("MD5").digest(dot.toString().getBytes("UTF-8"));
            System.out.println(way + " dot " + String.format("%032x", new BigInteger(1, md5)));
            try (PreparedStatement select = connection
                    .prepareStatement("SELECT id, ? FROM heapwire.nodes WHERE id = ?")) {
                select.setString(1, "ä'\"\\");
                select.setInt(2, 10001);
                try (ResultSet rows = select.executeQuery()) {
                    rows.next();
                    System.out.println(way + " parameter " + rows.getLong(1) + " " + rows.getString(2));
                }
            }
            try (PreparedStatement sum = connection.prepareStatement("SELECT SUM(id) + ? FROM heapwire.nodes WHERE id = 10001")) {
                sum.setBigDecimal(1, new BigDecimal("12345678901234567890.25"));
                try (ResultSet rows = sum.executeQuery()) {
                    rows.next();
                    BigDecimal exact = (BigDecimal) rows.getObject(1);
                    if (!exact.equals(new BigDecimal("12345678901234577891.25")))
                        throw new Exception("SUM: " + exact);
                }
            }
            try (PreparedStatement admin = connection.prepareStatement("ADMIN EXECUTE ON ? ?")) {
                admin.setInt(1, 10001);
                admin.setString(2, HAS);
                System.out.println(way + " admin " + first(admin));
            }
            try (PreparedStatement call = connection.prepareStatement("CALL admin_execute(?, ?)")) {
                call.setInt(1, 10001);
                call.setString(2, HAS);
                try (ResultSet rows = call.executeQuery()) {
                    if (!rows.next() || !rows.getString(1).equals("true"))
                        throw new Exception("CALL");
                }
            }
            try {
                statement.execute("ADMIN EXECUTE ON 10001 'System.print(nonsense)'");
                throw new Exception("a wrong script succeeded");
            } catch (SQLException error) {
                System.out.println(way + " error " + error.getErrorCode());
            }
            System.out.println(way + " after " + first(statement, "SELECT 1"));
            if (!connection.isValid(5))
                throw new Exception("not valid");
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            kind = arguments[0];
            run("tcp", "");
            run("tls", "&sslMode=REQUIRED");
            run("prepared", "&useServerPrepStmts=true&useCursorFetch=true");
            run("tls-prepared", "&useServerPrepStmts=true&sslMode=REQUIRED");
            return;
        }
        run("tcp", "");
        run("tls", "&useSsl=true&disableSslHostnameVerification=true&serverSslCert=" + env("CA"));
        run("prepared", "&useServerPrepStmts=true");
        run("tls-prepared", "&useServerPrepStmts=true&useSsl=true&trustServerCertificate=true");
    }
}
