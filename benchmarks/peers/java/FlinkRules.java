import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.SinkFunction;
import org.apache.flink.streaming.api.functions.source.SourceFunction;

/** Rules of a file as jobs of Flink CEP, one after the other: {@code FlinkRules EVENTS RULES}. */
public class FlinkRules {
    static final Answer ANSWER = new Answer();

    /** An event of the CSV file: ts,type,id,x,y without a header. */
    public static class Row implements java.io.Serializable {
        public long ts;
        public String type;
        public long id;
        public long x;
        public long y;

        public Row() {}

        static Row of(String line) {
            String[] fields = line.split(",");
            Row row = new Row();
            row.ts = Long.parseLong(fields[0]);
            row.type = fields[1];
            row.id = Long.parseLong(fields[2]);
            row.x = Long.parseLong(fields[3]);
            row.y = Long.parseLong(fields[4]);
            return row;
        }
    }

    interface Test extends java.io.Serializable {
        boolean holds(Row event, Row first);
    }

    /** An event of a type, and its test, which may read the first event of the match. */
    static class Is extends IterativeCondition<Row> {
        private final String type;
        private final Test test;

        Is(String type, Test test) {
            this.type = type;
            this.test = test;
        }

        @Override
        public boolean filter(Row event, Context<Row> context) throws Exception {
            if (!event.type.equals(type)) {
                return false;
            }
            if (test == null) {
                return true;
            }
            Row first = null;
            for (Row each : context.getEventsForPattern("a")) {
                first = each;
            }
            return test.holds(event, first);
        }
    }

    /** The pattern of a rule: template,a,b,c,x,y,window. */
    static Pattern<Row, ?> pattern(String rule) {
        String[] given = rule.split(",");
        String b = given[2];
        String c = given[3];
        long x = Long.parseLong(given[4]);
        long y = Long.parseLong(given[5]);
        int template = Integer.parseInt(given[0]);
        Test large = (event, first) -> event.x > x;
        Test both = (event, first) -> event.x > x && event.y < y;
        boolean joins = template == 5 || template == 6 || template == 7;
        Is begin = new Is(given[1], template == 8 ? both : joins ? null : large);
        Pattern<Row, Row> a =
            Pattern.<Row>begin("a", AfterMatchSkipStrategy.noSkip()).where(begin);
        Pattern<Row, ?> found;
        switch (template) {
            case 0:
                found = a.followedByAny("b").where(new Is(b, null));
                break;
            case 1:
                found = a.followedByAny("b").where(new Is(b, (event, first) -> event.y < y));
                break;
            case 2:
                found = a.followedByAny("b").where(new Is(b, null))
                    .followedByAny("c").where(new Is(c, null));
                break;
            case 3:
                found = a.notFollowedBy("n").where(new Is(c, null))
                    .followedByAny("b").where(new Is(b, null));
                break;
            case 5:
                found = a.followedByAny("b")
                    .where(new Is(b, (event, first) -> event.x > first.x + x));
                break;
            case 6:
                found = a.followedByAny("b")
                    .where(new Is(b, (event, first) -> event.y - first.y > y));
                break;
            case 7:
                found = a.followedByAny("b").where(new Is(b, null))
                    .followedByAny("c").where(new Is(c, (event, first) -> event.x > first.x + x));
                break;
            case 8:
                found = a;
                break;
            default:
                throw new IllegalArgumentException(rule);
        }
        return found.within(Duration.ofMillis(Long.parseLong(given[6])));
    }

    static class File implements SourceFunction<Row> {
        private final String name;

        File(String name) {
            this.name = name;
        }

        @Override
        public void run(SourceContext<Row> context) throws Exception {
            for (String line : Files.readAllLines(Path.of(name))) {
                Row row = Row.of(line);
                context.collectWithTimestamp(row, row.ts);
            }
        }

        @Override
        public void cancel() {}
    }

    static class Counted implements SinkFunction<Integer> {
        @Override
        public void invoke(Integer one, Context context) {
            ANSWER.add(0, 0, 0);
        }
    }

    public static void main(String[] given) throws Exception {
        List<String> rules = Files.readAllLines(Path.of(given[1]));
        OperatingSystemMXBean system =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long begun = system.getProcessCpuTime();
        for (String rule : rules) {
            StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.createLocalEnvironment(1);
            DataStream<Row> events = environment.addSource(new File(given[0]))
                .assignTimestampsAndWatermarks(WatermarkStrategy.forMonotonousTimestamps())
                .keyBy(event -> event.id);
            CEP.pattern(events, pattern(rule))
                .select((PatternSelectFunction<Row, Integer>) match -> 1)
                .returns(Integer.class)
                .addSink(new Counted());
            environment.execute();
        }
        double seconds = (system.getProcessCpuTime() - begun) / 1e9;
        ANSWER.print();
        System.out.println("{\"seconds\": " + seconds + "}");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
