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

    static Pattern<Event, ?> question(String workload, String types, long window) {
        // Of the matches that begin with the same A, the relaxed closure has only one.
        AfterMatchSkipStrategy skip = workload.equals("relaxed")
            ? AfterMatchSkipStrategy.skipToNext() : AfterMatchSkipStrategy.noSkip();
        Pattern<Event, Event> a =
            Pattern.<Event>begin("a", skip).where(is(types.substring(0, 1)));
        switch (workload) {
            case "sequence":
                return a.followedBy("b").where(is(types.substring(1, 2)))
                    .followedBy("c").where(is(types.substring(2))).within(Duration.ofMillis(window));
            case "relaxed":
                return a.followedBy("b").where(is("B")).oneOrMore().greedy()
                    .followedBy("c").where(is("C")).within(Duration.ofMillis(window));
            case "subsets":
                return a.followedByAny("b").where(is("B")).oneOrMore().allowCombinations()
                    .followedByAny("c").where(is("C")).within(Duration.ofMillis(window));
            case "absence":
                return a.notFollowedBy("b").where(is("B")).within(Duration.ofMillis(window / 4));
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
            if (found.length == 1) {
                ANSWER.addPlain(found[0]);
            } else {
                ANSWER.add(found[0], found[1], found[2]);
            }
        }
    }

    static class Times implements PatternSelectFunction<Event, long[]> {
        private final String workload;

        Times(String workload) {
            this.workload = workload;
        }

        @Override
        public long[] select(Map<String, List<Event>> match) {
            long a = match.get("a").get(0).ts;
            List<Event> b = match.get("b");
            if (workload.equals("absence")) {
                return new long[] {a, a, a};
            }
            long c = match.get("c").get(0).ts;
            if (workload.equals("subsets")) {
                return new long[] {c};
            }
            int which = workload.equals("relaxed") ? b.size() - 1 : 0;
            return new long[] {a, b == null ? a : b.get(which).ts, c};
        }
    }

    public static void main(String[] given) throws Exception {
        String workload = Event.question(given[1]);
        long window = Long.parseLong(given[2]);
        StreamExecutionEnvironment environment =
            StreamExecutionEnvironment.createLocalEnvironment(1);
        DataStream<Event> events = environment.addSource(new File(given[0]))
            .assignTimestampsAndWatermarks(WatermarkStrategy.forMonotonousTimestamps())
            .keyBy(event -> event.id);
        for (String types : Event.triples(given[1])) {
            CEP.pattern(events, question(workload, types, window))
                .select(new Times(workload)).addSink(new Sums());
        }
        environment.execute();
        ANSWER.print();
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
