/** How many matches there are, and a sum that depends on all of them. */
public class Answer {
    private long matches;
    private long sum;

    synchronized void add(long a, long b, long c) {
        matches += 1;
        sum += (a * 31 + b * 7 + c) % 1_000_003;
    }

    /** A match of which only the sum of one number is asked. */
    synchronized void addPlain(long value) {
        matches += 1;
        sum += value;
    }

    void print() {
        System.out.println("{\"answer\": [" + matches + ", " + sum + "]}");
    }

    static void cannot(String why) {
        System.out.println("{\"cannot\": \"" + why + "\"}");
    }
}
