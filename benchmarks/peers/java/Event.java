import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** An event of the CSV file: ts,type,id without a header. */
public class Event implements java.io.Serializable {
    private static final char[] TYPES = "ABCDEF".toCharArray();

    public long ts;
    public String type;
    public long id;

    public Event() {}

    public long getTs() {
        return ts;
    }

    public String getType() {
        return type;
    }

    public long getId() {
        return id;
    }

    static Event of(String line) {
        String[] fields = line.split(",");
        Event event = new Event();
        event.ts = Long.parseLong(fields[0]);
        event.type = fields[1];
        event.id = Long.parseLong(fields[2]);
        return event;
    }

    /** What a workload asks: one sequence of A, B and C, or of as many triples as there are rules. */
    static List<String> triples(String workload) {
        if (!workload.startsWith("rules_")) {
            return List.of("ABC");
        }
        List<String> found = new ArrayList<>();
        for (char a : TYPES) {
            for (char b : TYPES) {
                for (char c : TYPES) {
                    if (a != b && b != c && a != c) {
                        found.add("" + a + b + c);
                    }
                }
            }
        }
        return found.subList(0, Integer.parseInt(workload.substring("rules_".length())));
    }

    /** The name of a question; that of rules is the sequence. */
    static String question(String workload) {
        return workload.startsWith("rules_") ? "sequence" : workload;
    }

    static void read(String file, Consumer<Event> consumer) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(Path.of(file))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                consumer.accept(of(line));
            }
        }
    }
}
