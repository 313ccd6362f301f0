import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** The questions in Flink SQL, as MATCH_RECOGNIZE or as joins, in batch mode with one slot. */
public class FlinkSqlPeer {
    static String recognize(String measures, String skipped, String pattern, String define) {
        return "SELECT a, b, c FROM (SELECT * FROM events WHERE " + skipped + ") MATCH_RECOGNIZE ("
            + " PARTITION BY id ORDER BY moment MEASURES " + measures
            + " ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN " + pattern
            + " DEFINE A AS A.type = 'A', " + define + ", C AS C.type = 'C')";
    }

    static String question(String workload, long window) {
        String within = " WITHIN INTERVAL '" + String.format("%d.%03d", window / 1000, window % 1000)
            + "' SECOND(9, 3)";
        switch (workload) {
            case "sequence":
                return recognize("A.ts AS a, B.ts AS b, C.ts AS c", "type IN ('A', 'B', 'C')",
                    "(A X* B Y* C)" + within,
                    "X AS X.type <> 'B', B AS B.type = 'B', Y AS Y.type <> 'C'");
            case "negation":
                return recognize("A.ts AS a, A.ts AS b, C.ts AS c", "type IN ('A', 'B', 'C')",
                    "(A X* C)" + within, "X AS X.type = 'A'");
            case "contiguous":
                return recognize("A.ts AS a, FIRST(B.ts) AS b, C.ts AS c", "TRUE", "(A B+ C)",
                    "B AS B.type = 'B'");
            case "any_match":
                return "SELECT a.ts AS a, b.ts AS b, c.ts AS c FROM events a, events b, events c"
                    + " WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C'"
                    + " AND a.id = b.id AND b.id = c.id AND a.ts < b.ts AND b.ts < c.ts"
                    + " AND b.ts < a.ts + " + window + " AND c.ts < a.ts + " + window;
            default:
                return null;
        }
    }

    public static void main(String[] given) throws Exception {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        tables.getConfig().set("parallelism.default", "1");
        tables.executeSql("CREATE TABLE events (ts BIGINT, type STRING, id BIGINT,"
            + " moment AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR moment AS moment)"
            + " WITH ('connector' = 'filesystem', 'path' = '" + given[0] + "', 'format' = 'csv')");
        tables.executeSql(
            "CREATE VIEW found AS " + question(given[1], Long.parseLong(given[2])));
        String sums = "SELECT COUNT(*), SUM(CAST(MOD(a * 31 + b * 7 + c, 1000003) AS BIGINT)) FROM found";
        try (CloseableIterator<Row> rows = tables.executeSql(sums).collect()) {
            Row row = rows.next();
            System.out.println("{\"answer\": [" + row.getField(0) + ", " + row.getField(1) + "]}");
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
