import java.util.stream.Collectors;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** The questions in Flink SQL, as MATCH_RECOGNIZE or as joins, in batch mode with one slot. */
public class FlinkSqlPeer {
    static String recognize(
            String types, String measures, String kept, String pattern, String define) {
        return "SELECT a, b, c FROM (SELECT * FROM events WHERE " + kept + ") MATCH_RECOGNIZE ("
            + " PARTITION BY id ORDER BY moment MEASURES " + measures
            + " ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN " + pattern
            + " DEFINE A AS A.type = '" + types.charAt(0) + "', " + define
            + ", C AS C.type = '" + types.charAt(2) + "')";
    }

    static String question(String workload, String types, long window) {
        String b = "'" + types.charAt(1) + "'";
        String three = "type IN ('A', 'B', 'C')";
        String within = " WITHIN INTERVAL '" + String.format("%d.%03d", window / 1000, window % 1000)
            + "' SECOND(9, 3)";
        switch (workload) {
            case "sequence":
                String kept = "type IN ('" + String.join("', '", types.split("")) + "')";
                return recognize(types, "A.ts AS a, B.ts AS b, C.ts AS c", kept,
                    "(A X* B Y* C)" + within, "X AS X.type <> " + b + ", B AS B.type = " + b
                        + ", Y AS Y.type <> '" + types.charAt(2) + "'");
            case "relaxed":
                return recognize(types, "A.ts AS a, GREATEST(B.ts, COALESCE(MAX(IF(Y.type = 'B', Y.ts, 0)), 0))"
                    + " AS b, C.ts AS c", three, "(A X* B Y* C)" + within,
                    "X AS X.type <> 'B', B AS B.type = 'B', Y AS Y.type <> 'C'");
            case "negation":
                return recognize(types, "A.ts AS a, A.ts AS b, C.ts AS c", three,
                    "(A X* C)" + within, "X AS X.type = 'A'");
            case "contiguous":
                return recognize(types, "A.ts AS a, FIRST(B.ts) AS b, C.ts AS c", "TRUE",
                    "(A B+ C)", "B AS B.type = 'B'");
            case "absence":
                return "SELECT a.ts AS a, a.ts AS b, a.ts AS c FROM events a WHERE a.type = 'A'"
                    + " AND NOT EXISTS (SELECT 1 FROM events b WHERE b.type = 'B' AND b.id = a.id"
                    + " AND b.ts > a.ts AND b.ts < a.ts + " + window / 4 + ")";
            case "subsets":
                return "SELECT CAST(POWER(2, COUNT(*)) AS BIGINT) - 1 AS n, c.ts AS c"
                    + " FROM events a, events b, events c"
                    + " WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C'"
                    + " AND a.id = b.id AND b.id = c.id AND a.ts < b.ts AND b.ts < c.ts"
                    + " AND b.ts < a.ts + " + window + " AND c.ts < a.ts + " + window
                    + " GROUP BY a.ts, a.id, c.ts";
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
        String workload = Event.question(given[1]);
        String found = Event.triples(given[1]).stream()
            .map(types -> question(workload, types, Long.parseLong(given[2])))
            .collect(Collectors.joining(" UNION ALL "));
        tables.executeSql("CREATE VIEW found AS " + found);
        String sums = workload.equals("subsets")
            ? "SELECT SUM(n), SUM(n * c) FROM found"
            : "SELECT COUNT(*), SUM(CAST(MOD(a * 31 + b * 7 + c, 1000003) AS BIGINT)) FROM found";
        try (CloseableIterator<Row> rows = tables.executeSql(sums).collect()) {
            Row row = rows.next();
            System.out.println("{\"answer\": [" + row.getField(0) + ", " + row.getField(1) + "]}");
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
