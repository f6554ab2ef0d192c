// What a Java tool asks of a node: JDBC's metadata.  Argument: the URL.
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;

public class Catalog {
    static String list(ResultSet rows, String... labels) throws SQLException {
        StringBuilder out = new StringBuilder();
        while (rows.next()) {
            for (String label : labels)
                out.append(rows.getString(label)).append(' ');
        }
        return out.toString().trim();
    }

    interface Question {
        String answer() throws SQLException;
    }

    static void ask(String what, Question question) {
        try {
            System.out.println(what + ": " + question.answer());
        } catch (SQLException e) {
            System.out.println(what + ": FAILED " + e.getMessage());
        }
    }

    public static void main(String[] arguments) throws Exception {
        Connection c = DriverManager.getConnection(arguments[0]);
        DatabaseMetaData m = c.getMetaData();

        ask("product", () -> m.getDatabaseProductName());
        ask("catalogs", () -> list(m.getCatalogs(), "TABLE_CAT"));
        ask("tables", () -> list(m.getTables("heapwire", null, "n%",
            new String[] {"TABLE", "VIEW"}), "TABLE_NAME", "TABLE_TYPE"));
        ask("system views", () -> list(m.getTables("information_schema", null,
            "COLUMNS", null), "TABLE_NAME"));
        ask("columns", () -> list(m.getColumns("heapwire", null, "nodes", "%"),
            "COLUMN_NAME", "TYPE_NAME"));
        ask("primary keys", () -> list(m.getPrimaryKeys("heapwire", null,
            "nodes"), "COLUMN_NAME"));
        ask("indexes", () -> list(m.getIndexInfo("heapwire", null, "nodes",
            false, true), "INDEX_NAME"));
        ask("foreign keys", () -> list(m.getImportedKeys("heapwire", null,
            "nodes"), "FK_NAME"));
        ask("procedures", () -> list(m.getProcedures("heapwire", null, "%"),
            "PROCEDURE_NAME"));
        ask("functions", () -> list(m.getFunctions("heapwire", null, "%"),
            "FUNCTION_NAME"));
        ask("privileges", () -> list(m.getTablePrivileges("heapwire", null,
            "%"), "TABLE_NAME"));
        ask("table types", () -> list(m.getTableTypes(), "TABLE_TYPE"));
        ask("types", () -> list(m.getTypeInfo(), "TYPE_NAME").isEmpty()
            ? "none" : "some");
        c.close();
    }
}
