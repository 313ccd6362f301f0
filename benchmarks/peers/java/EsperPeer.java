import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;

/** The questions in Esper's pattern language; the clock follows the events. */
public class EsperPeer {
    static String event(String type, String more) {
        return "Event(type='" + type + "'" + more + ")";
    }

    static String question(String workload, String types, long window) {
        String within = " where timer:within(" + window + " milliseconds)";
        switch (workload) {
            case "sequence":
                return "select a.ts as a, b.ts as b, c.ts as c from pattern [every a="
                    + event(types.substring(0, 1), "") + " -> (b="
                    + event(types.substring(1, 2), ", id=a.id") + " -> c="
                    + event(types.substring(2), ", id=a.id") + ")" + within + "]";
            case "relaxed":
                return "select a.ts as a, coalesce(more.lastOf().ts, b.ts) as b, c.ts as c"
                    + " from pattern [every a=Event(type='A') -> (b=Event(type='B', id=a.id)"
                    + " -> (more=Event(type='B', id=a.id) until c=Event(type='C', id=a.id)))"
                    + within + "]";
            case "absence":
                return "select a.ts as a, a.ts as b, a.ts as c from pattern [every a=Event(type='A')"
                    + " -> (timer:interval(" + window / 4
                    + " milliseconds) and not Event(type='B', id=a.id))]";
            case "any_match":
                return "select a.ts as a, b.ts as b, c.ts as c from pattern [every a=Event(type='A')"
                    + " -> (every b=Event(type='B', id=a.id) -> every c=Event(type='C', id=a.id))"
                    + within + "]";
            case "negation":
                return "select a.ts as a, a.ts as b, c.ts as c from pattern [every a=Event(type='A')"
                    + " -> (c=Event(type='C', id=a.id) and not Event(type='B', id=a.id))"
                    + within + "]";
            case "contiguous":
                return "select * from Event match_recognize (partition by id measures A.ts as a,"
                    + " first(B.ts) as b, C.ts as c after match skip to next row pattern (A B+ C)"
                    + " define A as A.type = 'A', B as B.type = 'B', C as C.type = 'C')";
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
        Configuration configuration = new Configuration();
        configuration.getCommon().addEventType("Event", Event.class);
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        EPRuntime runtime = EPRuntimeProvider.getDefaultRuntime(configuration);
        runtime.getEventService().advanceTime(0);
        CompilerArguments arguments = new CompilerArguments(configuration);
        Answer answer = new Answer();
        for (String types : Event.triples(given[1])) {
            String text = question(workload, types, window);
            runtime.getDeploymentService()
                .deploy(EPCompilerProvider.getCompiler().compile(text, arguments))
                .getStatements()[0]
                .addListener((found, gone, statement, each) -> {
                    if (found == null) {
                        return;
                    }
                    for (EventBean match : found) {
                        answer.add(
                            (Long) match.get("a"), (Long) match.get("b"), (Long) match.get("c"));
                    }
                });
        }
        long[] last = {0};
        Event.read(given[0], event -> {
            last[0] = event.getTs();
            runtime.getEventService().advanceTime(event.getTs());
            runtime.getEventService().sendEventBean(event, "Event");
        });
        runtime.getEventService().advanceTime(last[0] + window);
        answer.print();
    }
}
