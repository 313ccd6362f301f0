import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;

/** The questions in Esper's pattern language; the clock follows the events. */
public class EsperPeer {
    static String question(String workload, long window) {
        String within = " where timer:within(" + window + " milliseconds)";
        switch (workload) {
            case "sequence":
                return "select a.ts as a, b.ts as b, c.ts as c from pattern [every a=Event(type='A')"
                    + " -> (b=Event(type='B', id=a.id) -> c=Event(type='C', id=a.id))" + within + "]";
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
        String text = question(given[1], Long.parseLong(given[2]));
        if (text == null) {
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
        runtime.getDeploymentService()
            .deploy(EPCompilerProvider.getCompiler().compile(text, arguments))
            .getStatements()[0]
            .addListener((found, gone, statement, each) -> {
                if (found == null) {
                    return;
                }
                for (EventBean match : found) {
                    answer.add((Long) match.get("a"), (Long) match.get("b"), (Long) match.get("c"));
                }
            });
        Event.read(given[0], event -> {
            runtime.getEventService().advanceTime(event.getTs());
            runtime.getEventService().sendEventBean(event, "Event");
        });
        answer.print();
    }
}
