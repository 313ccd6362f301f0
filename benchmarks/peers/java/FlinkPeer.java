import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.SinkFunction;
import org.apache.flink.streaming.api.functions.source.SourceFunction;

/** The questions in Flink CEP, keyed by id, in a local environment with one slot. */
public class FlinkPeer {
    static final Answer ANSWER = new Answer();

    static SimpleCondition<Event> is(String type) {
        return SimpleCondition.of(event -> event.type.equals(type));
    }

    static Pattern<Event, ?> question(String workload, long window) {
        Pattern<Event, Event> a =
            Pattern.<Event>begin("a", AfterMatchSkipStrategy.noSkip()).where(is("A"));
        switch (workload) {
            case "sequence":
                return a.followedBy("b").where(is("B")).followedBy("c").where(is("C"))
                    .within(Duration.ofMillis(window));
            case "any_match":
                return a.followedByAny("b").where(is("B")).followedByAny("c").where(is("C"))
                    .within(Duration.ofMillis(window));
            case "negation":
                return a.notFollowedBy("n").where(is("B")).followedBy("c").where(is("C"))
                    .within(Duration.ofMillis(window));
            case "contiguous":
                return a.next("b").where(is("B")).oneOrMore().consecutive()
                    .next("c").where(is("C"));
            default:
                return null;
        }
    }

    static class File implements SourceFunction<Event> {
        private final String name;

        File(String name) {
            this.name = name;
        }

        @Override
        public void run(SourceContext<Event> context) throws Exception {
            Event.read(name, event -> context.collectWithTimestamp(event, event.ts));
        }

        @Override
        public void cancel() {}
    }

    static class Sums implements SinkFunction<long[]> {
        @Override
        public void invoke(long[] found, Context context) {
            ANSWER.add(found[0], found[1], found[2]);
        }
    }

    static class Times implements PatternSelectFunction<Event, long[]> {
        @Override
        public long[] select(Map<String, List<Event>> match) {
            long a = match.get("a").get(0).ts;
            long b = match.containsKey("b") ? match.get("b").get(0).ts : a;
            return new long[] {a, b, match.get("c").get(0).ts};
        }
    }

    public static void main(String[] given) throws Exception {
        Pattern<Event, ?> pattern = question(given[1], Long.parseLong(given[2]));
        StreamExecutionEnvironment environment =
            StreamExecutionEnvironment.createLocalEnvironment(1);
        DataStream<Event> events = environment.addSource(new File(given[0]))
            .assignTimestampsAndWatermarks(WatermarkStrategy.forMonotonousTimestamps())
            .keyBy(event -> event.id);
        CEP.pattern(events, pattern).select(new Times()).addSink(new Sums());
        environment.execute();
        ANSWER.print();
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
