import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.util.stream.Collectors;

/** The questions in SiddhiQL, partitioned by id; the clock follows the events. */
public class SiddhiPeer {
    static String question(String workload, String types, long window) {
        // Siddhi's window includes its end.
        String within = " within " + (window - 1) + " milliseconds ";
        switch (workload) {
            case "sequence":
                return "from every a=E[type == '" + types.charAt(0) + "'] -> b=E[type == '"
                    + types.charAt(1) + "'] -> c=E[type == '" + types.charAt(2) + "']" + within
                    + "select a.ts as a, b.ts as b, c.ts as c insert into Out;";
            case "relaxed":
                return "from every a=E[type == 'A'] -> b=E[type == 'B']<1:> -> c=E[type == 'C']" + within
                    + "select a.ts as a, b[last].ts as b, c.ts as c insert into Out;";
            case "absence":
                return "from every a=E[type == 'A'] -> not E[type == 'B'] for " + window / 4
                    + " milliseconds select a.ts as a, a.ts as b, a.ts as c insert into Out;";
            case "negation":
                return "from every a=E[type == 'A'] -> not E[type == 'B'] and c=E[type == 'C']"
                    + within + "select a.ts as a, a.ts as b, c.ts as c insert into Out;";
            default:
                return null;
        }
    }

    public static void main(String[] given) throws Exception {
        String workload = Event.question(given[1]);
        long window = Long.parseLong(given[2]);
        if (question(workload, "ABC", window) == null) {
            Answer.cannot("has no such pattern");
            return;
        }
        String text = Event.triples(given[1]).stream()
            .map(types -> question(workload, types, window)).collect(Collectors.joining(" "));
        Answer answer = new Answer();
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime runtime = manager.createSiddhiAppRuntime(
            "@app:playback define stream E (ts long, type string, id long);"
                + " partition with (id of E) begin " + text + " end;");
        runtime.addCallback("Out", new StreamCallback() {
            @Override
            public void receive(io.siddhi.core.event.Event[] found) {
                for (io.siddhi.core.event.Event match : found) {
                    answer.add((Long) match.getData(0), (Long) match.getData(1), (Long) match.getData(2));
                }
            }
        });
        runtime.start();
        InputHandler input = runtime.getInputHandler("E");
        long[] last = {0};
        Event.read(given[0], event -> {
            try {
                last[0] = event.ts;
                input.send(event.ts, new Object[] {event.ts, event.type, event.id});
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
        // An event that no question asks for moves the clock on.
        input.send(last[0] + window, new Object[] {last[0] + window, "end", -1L});
        answer.print();
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
