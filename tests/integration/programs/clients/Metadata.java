import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Arrays;
import java.util.Comparator;

/** Calls every method of DatabaseMetaData and reads what it gives: a line per
 * failure, then how many were called. */
public class Metadata {
    static Object argument(Class<?> type, int place) {
        if (type == String.class)
            return place == 0 ? "heapwire" : place == 2 ? "%" : null;
        if (type == int.class)
            return place == 1 ? ResultSet.CONCUR_READ_ONLY
                              : ResultSet.TYPE_FORWARD_ONLY;
        return type == boolean.class ? (Object) true : null;
    }

    static int rows(Object answer) throws Exception {
        int count = 0;
        if (answer instanceof ResultSet) {
            ResultSet rows = (ResultSet) answer;
            int columns = rows.getMetaData().getColumnCount();
            for (; rows.next(); count++)
                for (int i = 1; i <= columns; i++)
                    rows.getObject(i);
            rows.close();
        }
        return count;
    }

    public static void main(String[] args) throws Exception {
        Connection connection = DriverManager.getConnection(args[0]);
        DatabaseMetaData data = connection.getMetaData();
        Method[] methods = DatabaseMetaData.class.getMethods();
        int called = 0, rows = 0;

        Arrays.sort(methods, Comparator.comparing(Method::toString));
        for (Method method : methods) {
            Class<?>[] types = method.getParameterTypes();
            Object[] values = new Object[types.length];

            if (method.getDeclaringClass() != DatabaseMetaData.class)
                continue;
            for (int i = 0; i < types.length; i++)
                values[i] = argument(types[i], i);
            if (method.getName().equals("getCrossReference"))
                values = new Object[] {"heapwire", null, "nodes", "heapwire",
                                       null, "sessions"};
            called++;
            try {
                rows += rows(method.invoke(data, values));
            } catch (InvocationTargetException e) {
                if (!(e.getCause() instanceof SQLFeatureNotSupportedException))
                    System.out.println(method.getName() + ": " +
                                       e.getCause().getMessage());
            } catch (Exception e) {
                System.out.println(method.getName() + ": " + e);
            }
        }
        System.out.println(called + " called");
        System.exit(rows > 20 ? 0 : 1);
    }
}
