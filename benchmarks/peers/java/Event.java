import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/** An event of the CSV file: ts,type,id without a header. */
public class Event implements java.io.Serializable {
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

    static void read(String file, Consumer<Event> consumer) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(Path.of(file))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                consumer.accept(of(line));
            }
        }
    }
}
